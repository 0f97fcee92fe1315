import FuzzDriver

/// The package manager makes this the program's main function, by this name.
@_cdecl("MessageFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet says how the rest is read: as a stream of frames, cut at its place, or each line as the content of
/// one.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    guard let choice = bytes.first else { return 0 }
    if choice & 0x80 == 0 {
        for line in bytes.dropFirst().split(separator: 0x0A) { MessageRun.decode(Array(line)) }
    } else {
        MessageRun.read(Array(bytes.dropFirst()), cut: Int(choice & 0x7F))
    }
    return 0
}
