import LoadingProtocols
import Testing

/// Body bytes that the caller reads past the parser.
@Suite("HTTP/1 direct bodies")
struct HTTP1DirectBodyTests {
    private func parser(after text: String) throws -> HTTP1ResponseParser {
        var parser = HTTP1ResponseParser()
        parser.begin(.other)
        try feed(Array(text.utf8), to: &parser)
        return parser
    }

    private func end(_ event: HTTP1ResponseEvent?) -> HTTP1End? {
        if case .end(let end) = event { end } else { nil }
    }

    @Test("a known length")
    func known() throws {
        var parser = try parser(after: "HTTP/1.1 200 N\r\nContent-Length: 10\r\n\r\nabc")
        #expect(parser.directBodyCapacity == 7)
        #expect(end(parser.tookDirectBody(4)) == nil)
        #expect(parser.directBodyCapacity == 3)
        #expect(end(parser.tookDirectBody(3)) == HTTP1End(mayReuse: true))
        #expect(parser.directBodyCapacity == 0)
        #expect(end(parser.tookDirectBody(3)) == nil)
    }

    @Test("chunks")
    func chunked() throws {
        var parser = try parser(after: "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
        #expect(parser.directBodyCapacity == 3)
        #expect(end(parser.tookDirectBody(3)) == nil)
        #expect(parser.directBodyCapacity == 0)
        try feed(Array("\r\n2\r\n".utf8), to: &parser)
        #expect(parser.directBodyCapacity == 2)
        #expect(end(parser.tookDirectBody(2)) == nil)
        #expect(throws: HTTP1ParseError.missingChunkEnd) { try feed(Array("x".utf8), to: &parser) }
    }

    // CONN-27
    @Test("until close")
    func untilClose() throws {
        var parser = try parser(after: "HTTP/1.1 200 N\r\n\r\n")
        #expect(parser.directBodyCapacity == .max)
        #expect(end(parser.tookDirectBody(1 << 40)) == nil)
        #expect(parser.directBodyCapacity == .max)
        #expect(end(try parser.inputEnded()) == HTTP1End(mayReuse: false))
    }

    @Test("more than there is room for, or less than nothing")
    func nonsense() throws {
        var parser = try parser(after: "HTTP/1.1 200 N\r\nContent-Length: 10\r\n\r\n")
        #expect(end(parser.tookDirectBody(-5)) == nil)
        #expect(parser.directBodyCapacity == 10)
        #expect(end(parser.tookDirectBody(.max)) == HTTP1End(mayReuse: true))
    }

    @Test("no body, no room")
    func none() throws {
        #expect(HTTP1ResponseParser().directBodyCapacity == 0)
        #expect(try parser(after: "HTTP/1.1 200").directBodyCapacity == 0)
        #expect(try parser(after: "HTTP/1.1 204 N\r\n\r\n").directBodyCapacity == 0)
    }
}
