import LoadingProtocols
import LoadingSemantics
import Testing

@Suite("HTTP/1 requests")
struct HTTP1RequestEncoderTests {
    private func encode(
        _ method: String = "GET", _ target: HTTP1RequestTarget = .origin("/"),
        _ body: HTTP1RequestBody = .none, _ fields: [(String, String)] = [("Host", "a.example")],
        _ additional: [(String, String)] = []
    ) throws(HTTP1EncodingError) -> String {
        var bytes = Array("before".utf8)
        defer { #expect(bytes.starts(with: "before".utf8)) }
        try HTTP1RequestEncoder.appendHead(
            method: method, target: target, body: body, fields: HTTPFields(fields),
            additional: HTTPFields(additional), to: &bytes)
        return String(decoding: bytes.dropFirst(6), as: UTF8.self)
    }

    @Test("Host goes first, the rest in order")
    func hostFirst() throws {
        #expect(
            try encode(
                "GET", .origin("/b?c=d"), .none, [("A", "1"), ("B", "")],
                [
                    ("C", "3"), ("hOST", "a.example:8080"), ("A", "4"),
                ])
                == "GET /b?c=d HTTP/1.1\r\nhOST: a.example:8080\r\nA: 1\r\nB: \r\nC: 3\r\nA: 4\r\n\r\n")
    }

    @Test("lines that were made before are those of the fields")
    func linesMadeBefore() throws {
        let fields = HTTPFields([("Host", "a.example"), ("A", "1")])
        let more = HTTPFields([("B", ""), ("Accept-Language", "de;q=0.5"), ("B", "3")])
        let lines = HTTP1RequestEncoder.lines(of: more)
        #expect(String(decoding: lines, as: UTF8.self) == "B: \r\nAccept-Language: de;q=0.5\r\nB: 3\r\n")
        var (usual, quick): ([UInt8], [UInt8]) = ([], [])
        try HTTP1RequestEncoder.appendHead(
            method: "POST", target: .origin("/"), body: .known(3), fields: fields, additional: more, to: &usual)
        try HTTP1RequestEncoder.appendHead(
            method: "POST", target: .origin("/"), body: .known(3), fields: fields, additional: more, lines: lines,
            to: &quick)
        #expect(quick == usual)
    }

    // MISC-5
    @Test(
        "no lines are made before of fields that the encoder has to look at",
        arguments: [
            ("hOst", "b"), ("Content-length", "1"), ("Transfer-Encoding", "chunked"), ("A b", "c"), ("A", "b\rc"),
        ])
    func noLinesMadeBefore(_ field: (name: String, value: String)) {
        #expect(HTTP1RequestEncoder.lines(of: HTTPFields([("A", "1"), (field.name, field.value)])).isEmpty)
    }

    // MISC-27: there is no place for a fragment or for user information.
    @Test("targets")
    func targets() throws {
        let host = " HTTP/1.1\r\nHost: a.example\r\n\r\n"
        #expect(try encode("GET", .origin("/?")) == "GET /?" + host)
        #expect(try encode("GET", .origin("//x?a?b/c")) == "GET //x?a?b/c" + host)
        #expect(
            try encode("GET", .absolute(scheme: "http", authority: "b:80", target: "/?q"))
                == "GET http://b:80/?q" + host)
        #expect(try encode("CONNECT", .authority("[::1]:443")) == "CONNECT [::1]:443" + host)
    }

    // MISC-5
    @Test("the body decides the framing, independently of the fields")
    func framing() throws {
        let fields = [("Host", "h"), ("Content-Length", "99"), ("transfer-encoding", "gzip"), ("A", "b")]
        func lines(_ method: String, _ body: HTTP1RequestBody) throws -> String {
            let text = try encode(method, .origin("/"), body, fields)
            return text.split(separator: "\r\n").dropFirst(2).joined(separator: "|")
        }
        #expect(try lines("GET", .none) == "A: b")
        #expect(try lines("DELETE", .none) == "A: b")
        #expect(try lines("POST", .none) == "A: b|Content-Length: 0")
        #expect(try lines("PUT", .none) == "A: b|Content-Length: 0")
        #expect(try lines("PATCH", .none) == "A: b|Content-Length: 0")
        #expect(try lines("POST", .known(0)) == "A: b|Content-Length: 0")
        #expect(try lines("GET", .known(.max)) == "A: b|Content-Length: 9223372036854775807")
        #expect(try lines("POST", .chunked) == "A: b|Transfer-Encoding: chunked")
    }

    @Test("a method that is no token", arguments: ["", "GE T", "GET\r\n", "GET\0", "GÉT", " GET", "G:ET"])
    func methods(_ method: String) {
        #expect(throws: HTTP1EncodingError.invalidMethod) { try encode(method) }
    }

    @Test(
        "a target that ends the line, or is none",
        arguments: [
            HTTP1RequestTarget.origin("/a b"), .origin("/a HTTP/1.1\r\nX: y"), .origin("/a\n"), .origin("/a\r"),
            .origin("/a\0"), .origin("/a\t"), .origin("/ä"), .origin("/\u{7F}"), .origin("a"), .origin(""),
            .origin("?q"), .origin("/?a b"), .origin("/?\r\n"), .origin("/a#b"), .origin("/?a#b"), .authority(""),
            .authority("u@h"), .authority("h/"), .authority("h?"), .authority("h\r\n"),
            .absolute(scheme: "", authority: "h", target: "/"), .absolute(scheme: "http", authority: "", target: "/"),
            .absolute(scheme: "http", authority: "u:p@h", target: "/"),
            .absolute(scheme: "http", authority: "h", target: "x"),
            .absolute(scheme: "ht tp", authority: "h", target: "/"),
        ])
    func invalidTargets(_ target: HTTP1RequestTarget) {
        #expect(throws: HTTP1EncodingError.invalidTarget) { try encode("GET", target) }
    }

    @Test("a field name that is no token", arguments: ["", "A B", "A:", "A\r\n", "A\0", "Ä", " A", "content\rlength"])
    func names(_ name: String) {
        #expect(throws: HTTP1EncodingError.invalidFieldName) {
            try encode("GET", .origin("/"), .none, [("Host", "h")], [(name, "v")])
        }
    }

    @Test("a field value that ends the line", arguments: ["a\r\nB: c", "a\r", "\n", "a\0b", "12345678\n"])
    func values(_ value: String) {
        #expect(throws: HTTP1EncodingError.invalidFieldValue) {
            try encode("GET", .origin("/"), .none, [("Host", "h"), ("A", value)])
        }
        #expect(throws: HTTP1EncodingError.invalidFieldValue) {
            try encode("GET", .origin("/"), .none, [("Host", value)])
        }
    }

    @Test("one Host, and a body of no less than nothing")
    func hosts() {
        #expect(throws: HTTP1EncodingError.missingHost) { try encode("GET", .origin("/"), .none, []) }
        #expect(throws: HTTP1EncodingError.severalHosts) {
            try encode("GET", .origin("/"), .none, [("Host", "a")], [("host", "a")])
        }
        #expect(throws: HTTP1EncodingError.negativeBodyLength) { try encode("PUT", .origin("/"), .known(-1)) }
    }

    // CONN-23
    @Test(
        "chunks",
        arguments: [
            (0, ""), (1, "1\r\n"), (15, "f\r\n"), (16, "10\r\n"), (0xABCDE, "abcde\r\n"), (-1, ""),
            (Int.max, "7fffffffffffffff\r\n"),
        ])
    func chunkHead(count: Int, expected: String) {
        var bytes: [UInt8] = []
        HTTP1RequestEncoder.appendChunkHead(count, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    // CONN-23
    @Test("a chunked body reads back")
    func chunkedBody() {
        var bytes = Array("HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for text in ["hello", " ", "world, this is more"] {
            HTTP1RequestEncoder.appendChunkHead(text.utf8.count, to: &bytes)
            bytes += text.utf8
            HTTP1RequestEncoder.appendChunkEnd(to: &bytes)
        }
        HTTP1RequestEncoder.appendLastChunk(to: &bytes)
        #expect(
            HTTP1Transcript([bytes]).lines == [
                "1.1 200 N | Transfer-Encoding=chunked > chunked", "body hello world, this is more",
                "end, reuse",
            ])
    }
}
