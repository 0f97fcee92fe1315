import FuzzDriver

/// The package manager makes this the program's main function, by this name.
@_cdecl("AlternativesFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// If the first octet is that of an "M", a message of a name server follows. Else each line is a step: its first octet
/// says what happens, and to which origin, the rest is an `Alt-Svc` field.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    if bytes.first == UInt8(ascii: "M") {
        MessageRun.read(Array(bytes.dropFirst()))
        return 0
    }
    var run = AlternativesRun()
    for line in bytes.split(separator: 0x0A) { run.step(line[line.startIndex], line.dropFirst()) }
    run.finish()
    return 0
}
