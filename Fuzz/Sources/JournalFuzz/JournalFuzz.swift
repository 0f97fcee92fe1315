import FuzzDriver

/// The package manager makes this the program's main function, by this name.
@_cdecl("JournalFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// Each three octets are a change of a good journal: a place, and what is there. A first octet of 255 cuts the file at
/// the place instead.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    JournalRun.shared.run(UnsafeBufferPointer(start: start, count: count))
    return 0
}
