import FuzzDriver
import LoadingProtocols

/// The package manager makes this the program's main function, by this name.
@_cdecl("HTTP2Fuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet chooses limits and what the client does; the rest is what the server sends.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    let choice = start[0]
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let seed = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let run = { (cutting: HTTP2Run.Cutting, isRestless: Bool) in
        HTTP2Run(bytes, choice: choice, cutting: cutting, isRestless: isRestless, seed: seed).digest
    }
    let whole = run(.nowhere, false)
    precondition(whole == run(.anywhere, false), "a cut changes the events")
    if bytes.count < 256 { precondition(whole == run(.everywhere, false), "byte by byte the events differ") }
    // Output and calls back between the bytes: the events may differ, but every invariant holds.
    _ = run(.anywhere, true)
    return 0
}
