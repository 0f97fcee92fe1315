import FuzzDriver

/// The package manager makes this the program's main function, by this name.
@_cdecl("CookieFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// Each line is a step: its first octet selects the host and the kind of request, the rest is a `Set-Cookie` field.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    var run = CookieRun()
    let bytes = UnsafeBufferPointer(start: start, count: count)
    for line in bytes.split(separator: 0x0A) { run.step(line[line.startIndex], line.dropFirst()) }
    run.finish()
    return 0
}
