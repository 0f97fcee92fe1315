import FuzzDriver
import LoadingSemantics

/// The package manager makes this the program's main function, by this name.
@_cdecl("ChallengeFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// Each line is a `WWW-Authenticate` field.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // Rejected by the HTTP parser.
        .map { line in String(decoding: line.filter { $0 != 0x00 && $0 != 0x0D }, as: UTF8.self) }
    ChallengeRun.check(lines)
    return 0
}
