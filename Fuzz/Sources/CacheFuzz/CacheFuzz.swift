import FuzzDriver
import LoadingSemantics

/// The package manager makes this the program's main function, by this name.
@_cdecl("CacheFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// Lines: those of the response's `Cache-Control`, an empty one, those of the request's, an empty one, and other fields
/// of the response as `name: value`.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // Rejected by the HTTP parser.
        .map { line in String(decoding: line.filter { $0 != 0x00 && $0 != 0x0D }, as: UTF8.self) }
    let parts = lines.split(separator: "", maxSplits: 2, omittingEmptySubsequences: false)
    CacheControlRun.check(Array(parts[0]))
    let others = parts.count > 2 ? Array(parts[2]) : []
    CacheRulesRun.check(
        response: Array(parts[0]), request: parts.count > 1 ? Array(parts[1]) : [], others: others)
    return 0
}
