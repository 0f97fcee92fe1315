import FuzzDriver
import LoadingProtocols

/// The package manager makes this the program's main function, by this name.
@_cdecl("HTTP1Fuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet chooses the request and the limits; the rest is what the server sends.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    let choice = start[0]
    let kinds: [HTTP1RequestKind] = [.other, .head, .connect, .upgrade]
    let limits =
        choice & 4 == 0
        ? HTTP1Limits()
        : HTTP1Limits(
            maximumHeadLength: 64, maximumFieldCount: 2, maximumInformationalResponses: 1, maximumTrailerLength: 16,
            maximumChunkLineLength: 8, maximumLeadingLength: 4)
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let seed = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let run = { (cutting: HTTP1Run.Cutting) in
        HTTP1Run(bytes, to: kinds[Int(choice & 3)], limits: limits, cutting: cutting).digest
    }
    let whole = run(.nowhere)
    precondition(whole == run(.anywhere(seed)), "a cut changes what is read")
    precondition(whole == run(.besideTheParser(seed)), "reading a body past the parser changes what is read")
    if bytes.count < 256 { precondition(whole == run(.everywhere), "reading byte by byte changes what is read") }
    return 0
}
