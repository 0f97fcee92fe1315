import LoadingProtocols
import LoadingSemantics
import Testing

@Suite("HTTP/2 requests")
struct HTTP2RequestTests {
    private func lines(
        _ method: String = "GET", scheme: String = "https", authority: String? = "a.example", path: String = "/",
        query: String? = nil, connectProtocol: String? = nil, fields: [(String, String)] = [],
        additional: [(String, String)] = [], hasBody: Bool = false, contentLength: Int64? = nil
    ) -> [String] {
        let client = HTTP2Client.withRequests(0)
        let request = HTTPStreamRequest(
            method: method, scheme: scheme, authority: authority, path: path, query: query,
            connectProtocol: connectProtocol, fields: HTTPFields(fields), additional: HTTPFields(additional),
            hasBody: hasBody, contentLength: contentLength)
        do throws(HTTPStreamRequestError) {
            _ = try client.session.submit(request)
        } catch {
            return ["\(error)"]
        }
        let frames = client.takeFrames()
        guard frames.count == 1, let frame = frames.first, frame.type == 1 else { return frames.map(\.description) }
        return HTTP2FieldReader().lines(frame.payload)
    }

    // CONN-2, MET-18
    @Test("a connection begins with the preface, settings without push, and a larger window")
    func beginning() {
        let client = HTTP2Client()
        let bytes = client.takeOutput()
        #expect(bytes.starts(with: HTTP2SentFrame.preface))
        let frames = HTTP2SentFrame.all(bytes)
        #expect(frames.map(\.description) == ["SETTINGS", "WINDOW_UPDATE 0 \((24 << 20) - 65_535)"])
        let settings = stride(from: 0, to: frames[0].payload.count, by: 6).map { start in
            frames[0].payload[start..<start + 6].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        }
        let expected: [UInt64] = [0x2_0000_0000, 0x4_0010_0000, 0x6_0004_0000, 0x9_0000_0001]
        #expect(settings == expected)
        #expect(!client.session.wantsOutput)
    }

    // S-6, S-9
    @Test("a request is its pseudo-header fields, then its fields in lower case")
    func plain() {
        #expect(
            lines(path: "/a", query: "b=c", fields: [("Accept", "*/*")], additional: [("User-Agent", "x")])
                == [
                    ":method: GET", ":scheme: https", ":authority: a.example", ":path: /a?b=c", "accept: */*",
                    "user-agent: x",
                ])
        #expect(lines(path: "")[3] == ":path: /")
        #expect(lines("OPTIONS", path: "*")[3] == ":path: *")
    }

    // S-9: the fields of a session are prepared once
    @Test("the same additional fields are sent with each request, and others with others")
    func repeatedFields() throws {
        let client = HTTP2Client.withRequests(0)
        let reader = HTTP2FieldReader()
        func fields(_ additional: HTTPFields, _ own: [(String, String)] = []) throws -> [String] {
            let request = HTTPStreamRequest(
                method: "GET", scheme: "https", authority: "a.example", path: "/", fields: HTTPFields(own),
                additional: additional, hasBody: false, contentLength: nil)
            _ = try client.session.submit(request)
            return client.takeFrames().flatMap { Array(reader.lines($0.payload).dropFirst(4)) }
        }
        let first = HTTPFields([("User-Agent", " x "), ("Authorization", "secret"), ("Keep-Alive", "1"), ("Y", "")])
        let lines = ["user-agent: x", "authorization: secret !", "y: "]
        for _ in 0..<3 { #expect(try fields(first) == lines) }
        #expect(try fields(first, [("Z", "1")]) == ["z: 1"] + lines)
        // A field of the request names one of them.
        #expect(try fields(first, [("Connection", "y")]) == ["user-agent: x", "authorization: secret !"])
        #expect(try fields(first) == lines)
        // As many, and as long
        let second = HTTPFields([("User-Agent", " z "), ("Authorization", "public"), ("Keep-Alive", "2"), ("Y", "")])
        let secondLines = ["user-agent: z", "authorization: public !", "y: "]
        #expect(try fields(second) == secondLines)
        #expect(try fields(first) == lines)
        let connection = HTTPFields([("Connection", "b"), ("A", "1"), ("B", "2")])
        for _ in 0..<2 { #expect(try fields(connection) == ["a: 1"]) }
        for _ in 0..<2 { #expect(try fields(HTTPFields()) == []) }
        var changed = first
        changed.append("New", "1")
        #expect(try fields(changed) == lines + ["new: 1"])
        let invalid = HTTPFields([("a b", "1")])
        for _ in 0..<2 { #expect(throws: HTTPStreamRequestError.invalidFieldName) { try fields(invalid) } }
        #expect(try fields(first) == lines)
    }

    // MISC-6
    @Test("Host becomes the authority, and what belongs to one connection is left out")
    func connectionFields() {
        let fields = [
            ("Host", " b.example:1 "), ("Connection", "keep-alive, x"), ("Keep-Alive", "1"), ("Proxy-Connection", "a"),
            ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("TE", "gzip"), ("te", "trailers"),
            ("Content-Length", "7"), ("X", "\ty "), ("Y", "\tz "),
        ]
        #expect(
            lines(authority: nil, fields: fields)
                == [":method: GET", ":scheme: https", ":authority: b.example:1", ":path: /", "te: trailers", "y: z"])
        let kept = [("connection", "Keep-Alive"), ("KEEP-ALIVE", "1"), ("X", "1"), ("Connection", "x")]
        #expect(lines(fields: kept).dropFirst(4) == [])
        #expect(lines(authority: nil, additional: [("host", "c")])[2] == ":authority: c")
        #expect(lines(authority: nil) == ["missingHost"])
        #expect(lines(authority: nil, fields: [("Host", "a")], additional: [("HOST", "a")]) == ["severalHosts"])
    }

    // RFC 9113 §8.2.2: wherever they are; neither TE nor what the version itself needs
    @Test("what Connection names is left out")
    func connectionOptions() {
        let fields = [
            ("HTTP2-Settings", "a"), ("A", "1"), ("Connection", "Upgrade,http2-settings ,, \tTE, :method"),
            ("TE", "trailers"), ("Cookie", "a=b"),
        ]
        let additional = [("connection", "COOKIE, content-length, b"), ("B", "2"), ("C", "3")]
        #expect(
            lines("POST", fields: fields, additional: additional, hasBody: true, contentLength: 1).dropFirst()
                == [
                    ":scheme: https", ":authority: a.example", ":path: /", "a: 1", "te: trailers", "c: 3",
                    "content-length: 1",
                ])
    }

    @Test("credentials and short cookies are in no table")
    func secrets() {
        let long = String(repeating: "c", count: 20)
        let fields = [
            ("Authorization", "Basic x"), ("Proxy-Authorization", "Basic y"), ("Cookie", "a=b ; \(long); ;c=d;"),
            ("A", "b"),
        ]
        #expect(
            lines(fields: fields).dropFirst(4)
                == [
                    "authorization: Basic x !", "proxy-authorization: Basic y !", "cookie: a=b !", "cookie: \(long)",
                    "cookie: c=d !", "a: b",
                ])
    }

    @Test(
        "the length of a body is announced if it is known",
        arguments: [
            ("GET", false, nil, nil), ("POST", false, nil, "0"), ("PUT", true, nil, nil), ("PUT", true, 5, "5"),
            ("PATCH", false, nil, "0"), ("DELETE", true, 0, "0"),
        ] as [(String, Bool, Int64?, String?)])
    func lengths(method: String, hasBody: Bool, length: Int64?, expected: String?) {
        let last = lines(method, hasBody: hasBody, contentLength: length).last
        #expect(last == expected.map { "content-length: \($0)" } ?? ":path: /")
    }

    @Test("CONNECT has no scheme and no path, unless it has a protocol")
    func connect() {
        #expect(lines("CONNECT", authority: "a:443", hasBody: true) == [":method: CONNECT", ":authority: a:443"])
        #expect(
            lines("CONNECT", path: "/x", connectProtocol: "websocket", hasBody: true)
                == [
                    ":method: CONNECT", ":scheme: https", ":authority: a.example", ":path: /x", ":protocol: websocket",
                ])
    }

    @Test("what a server could read as another request is refused")
    func refused() {
        #expect(lines("G T") == ["invalidMethod"])
        #expect(lines("") == ["invalidMethod"])
        #expect(lines(scheme: "ht tp") == ["invalidTarget"])
        #expect(lines(authority: "") == ["invalidTarget"])
        #expect(lines(authority: "a@b") == ["invalidTarget"])
        #expect(lines(path: "a") == ["invalidTarget"])
        #expect(lines(path: "/ a") == ["invalidTarget"])
        #expect(lines(path: "*") == ["invalidTarget"])
        #expect(lines(query: "a#b") == ["invalidTarget"])
        #expect(lines(fields: [("a b", "c")]) == ["invalidFieldName"])
        #expect(lines(fields: [(":path", "/b")]) == ["invalidFieldName"])
        #expect(lines(fields: [("", "c")]) == ["invalidFieldName"])
        #expect(lines(fields: [("a", "b\r\nc: d")]) == ["invalidFieldValue"])
        #expect(lines(additional: [("a", "b\0")]) == ["invalidFieldValue"])
        #expect(lines(hasBody: true, contentLength: -1) == ["negativeBodyLength"])
        #expect(lines(fields: [("a", String(repeating: "b", count: 256 << 10))]) == ["headTooLong"])
    }

    @Test("a refused request leaves nothing behind")
    func afterRefusal() {
        let client = HTTP2Client.withRequests(0)
        client.submit("", path: "/")
        #expect(client.session.openStreamCount == 0)
        #expect(client.submit() == 1)
        #expect(client.takeFrameLines() == ["HEADERS 1 end"])
    }

    @Test("a long head goes out in several frames, and is reported once")
    func longHead() {
        let client = HTTP2Client.withRequests(0)
        client.writesSending = true
        client.submit(fields: (0..<3).map { ("a\($0)", String(repeating: "~", count: 20_000)) })
        let bytes = client.takeOutput()
        let frames = HTTP2SentFrame.all(bytes)
        #expect(frames.map(\.name) == ["HEADERS"] + frames.dropFirst().map { _ in "CONTINUATION" })
        #expect(frames.count > 3)
        #expect(client.takeLines() == ["1 sent head \(bytes.count)", "1 sent"])
    }

    @Test("a hundred requests are one output")
    func many() throws {
        let client = HTTP2Client.withRequests(0)
        for _ in 0..<100 { client.submit() }
        let output = try client.session.nextOutput()
        #expect(HTTP2SentFrame.all(Array(output ?? UnsafeRawBufferPointer(start: nil, count: 0))).count == 100)
        #expect(try client.session.nextOutput() == nil)
    }
}
