import FuzzDriver
import LoadingProtocols

/// The package manager makes this the program's main function, by this name.
@_cdecl("WebSocketFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet chooses the limit and the compression; the rest is what the server sends.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    let choice = start[0]
    let limit = [0, 125, 200, 70_000][Int(choice & 3)]
    let compression = choice & 4 == 0 ? nil : WebSocketCompression(serverResets: choice & 8 != 0)
    let octets = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let seed = octets.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    let run = { (pieces: ConnectionRun.Pieces) in
        ConnectionRun(octets, limit: limit, compression: compression, closesAfter: Int(choice >> 4), pieces: pieces)
            .said
    }
    let whole = run(.whole)
    precondition(whole == run(.any(seed)), "a cut changes what is read")
    if octets.count < 256 {
        precondition(whole == run(.single), "reading octet by octet changes what is read")
    }
    return 0
}
