import LoadingProtocols
import LoadingSemantics
import Testing

/// What a hostile server can make the parser hold, in one read, in reads of 1,000 bytes, and byte by byte.
@Suite("HTTP/1 limits")
struct HTTP1LimitTests {
    private func lastLines(_ text: String, _ limits: HTTP1Limits = HTTP1Limits()) -> Set<String> {
        let bytes = Array(text.utf8)
        let parts = stride(from: 0, to: bytes.count, by: 1_000).map { Array(bytes[$0..<min($0 + 1_000, bytes.count)]) }
        let ways = [[bytes], parts, bytes.map { [$0] }]
        return Set(ways.map { HTTP1Transcript($0, limits: limits).lines.first { $0.hasPrefix("e") } ?? "" })
    }

    @Test("a field line of a megabyte")
    func longLine() {
        #expect(
            lastLines("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 1 << 20) + "\r\n\r\n")
                == ["error headTooLong"])
    }

    @Test("a status line of a megabyte")
    func longStatusLine() {
        #expect(lastLines("HTTP/1.1 200 " + String(repeating: "a", count: 1 << 20)) == ["error headTooLong"])
    }

    @Test("a hundred thousand fields")
    func manyFields() {
        let fields = String(repeating: "A:\r\n", count: 100_000)
        #expect(lastLines("HTTP/1.1 200 OK\r\n\(fields)\r\n") == ["error tooManyFields"])
        let wide = HTTP1Limits(maximumHeadLength: 1 << 20, maximumFieldCount: 100_000)
        #expect(lastLines("HTTP/1.1 204 OK\r\n\(fields)\r\n", wide) == ["end, reuse"])
    }

    @Test("folds without end")
    func manyFolds() {
        let folds = String(repeating: " \r\n", count: 200_000)
        #expect(lastLines("HTTP/1.1 200 OK\r\nA: b\r\n\(folds)\r\n") == ["error headTooLong"])
    }

    @Test("a head may be just as long as the limit", arguments: [("\r\n", 0), ("\n", 0), ("\r\n", 1), ("\n", 1)])
    func exactLength(lineEnd: String, excess: Int) {
        let head = "HTTP/1.1 204 N\(lineEnd)A: b\(lineEnd)\(lineEnd)"
        let limits = HTTP1Limits(maximumHeadLength: head.utf8.count - excess)
        #expect(lastLines(head, limits) == [excess == 0 ? "end, reuse" : "error headTooLong"])
    }

    @Test("there may be just as many fields as the limit", arguments: [0, 1, 2, 3, 63, 64, 65])
    func exactCount(limit: Int) {
        let fields = String(repeating: "A: b\r\n", count: limit)
        let limits = HTTP1Limits(maximumFieldCount: limit)
        #expect(lastLines("HTTP/1.1 204 N\r\n\(fields)\r\n", limits) == ["end, reuse"])
        #expect(lastLines("HTTP/1.1 204 N\r\nC: d\r\n\(fields)\r\n", limits) == ["error tooManyFields"])
    }

    @Test("interim responses without end")
    func endlessInterim() {
        let one = "HTTP/1.1 103 E\r\n\r\n"
        let enough = String(repeating: one, count: 32)
        #expect(lastLines(enough + "HTTP/1.1 204 N\r\n\r\n") == ["end, reuse"])
        #expect(lastLines(enough + one + "HTTP/1.1 204 N\r\n\r\n") == ["error tooManyInformationalResponses"])
    }

    @Test("empty lines without end")
    func endlessEmptyLines() {
        #expect(lastLines(String(repeating: "\r\n", count: 32) + "HTTP/1.1 204 N\r\n\r\n") == ["end, reuse"])
        #expect(
            lastLines(String(repeating: "\r\n", count: 33) + "HTTP/1.1 204 N\r\n\r\n")
                == ["error tooManyLeadingEmptyLines"])
    }

    // CONN-23
    @Test("extensions, zeros and trailers without end")
    func endlessChunkLine() {
        let head = "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(lastLines(head + "1;" + String(repeating: "a", count: 20_000) + "\r\n") == ["error chunkLineTooLong"])
        #expect(lastLines(head + String(repeating: "0", count: 20_000) + "\r\n") == ["error chunkLineTooLong"])
        #expect(
            lastLines(head + "0\r\nA: " + String(repeating: "a", count: 70_000) + "\r\n") == ["error trailerTooLong"])
        #expect(
            lastLines(head + "0\r\n" + String(repeating: "A:\r\n", count: 3_000) + "\r\n") == ["error tooManyFields"])
    }

    // CONN-23
    @Test("a chunk's line may be just as long as the limit", arguments: ["\r\n", "\n"])
    func exactChunkLine(lineEnd: String) {
        let text = "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n0;a\(lineEnd)\r\n"
        let length = 3 + lineEnd.utf8.count
        #expect(lastLines(text, HTTP1Limits(maximumChunkLineLength: length)) == ["end, reuse"])
        #expect(lastLines(text, HTTP1Limits(maximumChunkLineLength: length - 1)) == ["error chunkLineTooLong"])
    }

    // CONN-22, CONN-23: a line may be long, and not each line of tiny chunks
    @Test("extensions of many chunks", arguments: [(1, "error chunkLineTooLong"), (500, "end, reuse")])
    func manyExtensions(size: Int, end: String) {
        let chunk =
            String(size, radix: 16) + ";" + String(repeating: "a", count: 1_000) + "\r\n"
            + String(repeating: "b", count: size) + "\r\n"
        let text =
            "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 40) + "0\r\n\r\n"
        #expect(lastLines(text) == [end])
    }

    // CONN-23
    @Test("a trailer section may be just as long as the limit", arguments: ["\r\n", "\n"])
    func exactTrailers(lineEnd: String) {
        let text = "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\(lineEnd)\(lineEnd)"
        let length = 4 + 2 * lineEnd.utf8.count
        #expect(lastLines(text, HTTP1Limits(maximumTrailerLength: length)) == ["end, reuse | A=b"])
        #expect(lastLines(text, HTTP1Limits(maximumTrailerLength: length - 1)) == ["error trailerTooLong"])
    }
}
