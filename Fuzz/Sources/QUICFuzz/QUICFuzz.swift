import FuzzDriver
import LoadingProtocols

/// The package manager makes this the program's main function, by this name.
@_cdecl("QUICFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// Datagrams for a client whose handshake has begun, as an attacker on the path without the keys may send them.
///
///     kind, length / 8, as many octets
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    QUICRun(UnsafeRawBufferPointer(start: start, count: count)).run()
    return 0
}
