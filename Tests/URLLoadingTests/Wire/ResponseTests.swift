import Foundation
import TestSupport
import Testing
import URLLoading

/// Responses, as delivered to the client.
@Suite(.leavesNothing) struct ResponseTests {
    private func response(to path: String = "/", of server: ScriptedServer, method: String = "GET") async throws
        -> (recorded: [RecordedEvent], response: HTTPURLResponse)
    {
        let recorder = LoadRecorder()
        let recorded = try await recorder.run(URLRequest(url: server.url(path)).with { $0.httpMethod = method })
        return (recorded, try #require(recorder.responses.events.first))
    }

    // T-54
    @Test("informational responses are delivered in order") func informationalResponsesAreDeliveredInOrder()
        async throws
    {
        let server = try ScriptedServer(steps: [
            .expectRequest,
            .send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"),
            .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 104 X\r\n\r\n"),
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .waitForClose,
        ])
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url())
                == [
                    .informational(100), .informational(102), .informational(103), .informational(104),
                    .response(200), .data("ok"), .succeeded, .invalid,
                ])
    }

    // CONN-26
    @Test("any status code is delivered", arguments: [200, 206, 299, 300, 400, 404, 418, 499, 500, 599, 600, 999])
    func anyStatusCodeIsDelivered(status: Int) async throws {
        let server = try ScriptedServer.answering(.text("body", status: status))
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url())
                == [.response(status), .data("body"), .succeeded, .invalid])
    }

    // T-28, ENC-8
    @Test(
        "responses without a body by definition",
        arguments: [
            ("GET", "204 No Content"), ("GET", "304 Not Modified"), ("HEAD", "200 OK"), ("HEAD", "404 Not Found"),
        ])
    func responsesWithoutABodyByDefinition(method: String, status: String) async throws {
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                try connection.send(
                    "HTTP/1.1 \(status)\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\nETag: x\r\n\r\n")
            }
        }
        defer { server.stop() }
        let code = Int(status.prefix(3)) ?? 0
        let (recorded, response) = try await response(of: server, method: method)
        #expect(recorded == [.response(code), .succeeded, .invalid])
        #expect(response.value(forHTTPHeaderField: "content-encoding") == "gzip")
        if method == "HEAD" { #expect(response.expectedContentLength == 500) }

        // And the connection is none the worse for it; an empty body is data all the same (T-48).
        let requests = server.requests.count
        try await URLSession.using { session in
            for _ in 0..<3 {
                let (data, _) = try await session.data(
                    for: URLRequest(url: server.url()).with { $0.httpMethod = method })
                #expect(data == Data())
            }
        }
        #expect(server.requests.count == requests + 3)
        #expect(server.connectionCount == 2)
    }

    // T-28, T-48
    @Test("an empty body is no data to the delegate, and empty data to a handler")
    func anEmptyBodyIsNoDataToTheDelegateAndEmptyDataToAHandler() async throws {
        let server = try ScriptedServer.answering(.bytes([]))
        defer { server.stop() }
        let (recorded, response) = try await response(of: server)
        #expect(recorded == [.response(200), .succeeded, .invalid])
        #expect(response.expectedContentLength == 0)
        let results = EventRecorder<String>()
        try await URLSession.using { session async throws in
            session.dataTask(with: server.url()) { data, response, error in
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                results.record("\(data.map { "\($0.count)" } ?? "nil") \(status) \(error == nil)")
            }.resume()
            #expect(try await results.waitFor(count: 1) == ["0 200 true"])
        }
    }

    // T-16, MISC-13
    @Test(
        "the expected length",
        arguments: [
            (CannedResponse.text("hello"), Int64(5)), (.chunked(["he", "llo"]), -1), (.untilClose("hello"), -1),
        ])
    func theExpectedLength(canned: CannedResponse, length: Int64) async throws {
        let isLookedAt = Signal("a look at what is expected before the response")
        let server = try ScriptedServer.answering(canned.held(until: isLookedAt))
        defer { server.stop() }
        let recorder = LoadRecorder()
        let task = recorder.start(URLRequest(url: server.url()))
        #expect(task.countOfBytesExpectedToReceive == -1)
        isLookedAt.fire()
        #expect(try await recorder.finish() == [.response(200), .data("hello"), .succeeded, .invalid])
        #expect(recorder.responses.events.map(\.expectedContentLength) == [length])
        #expect(task.countOfBytesExpectedToReceive == length)
        #expect(task.countOfBytesReceived == 5)
    }

    // CONN-23
    @Test("trailers are read and dropped") func trailersAreReadAndDropped() async throws {
        let server = try ScriptedServer.answering(
            .chunked(["hello", " ", "world"], trailers: [.init("X-Trailer", "t"), .init("Content-Type", "evil/type")]))
        defer { server.stop() }
        let (recorded, response) = try await response(of: server)
        #expect(recorded == [.response(200), .data("hello world"), .succeeded, .invalid])
        #expect(response.value(forHTTPHeaderField: "X-Trailer") == nil)
        #expect(response.value(forHTTPHeaderField: "Content-Type") == nil)
    }

    // CONN-22: sizes around those of the buffers, in every framing
    @Test(
        "bodies arrive whole", arguments: [1, 16_383, 16_384, 65_535, 65_536, 65_537, 1 << 20, 10_000_001],
        ["length", "chunks", "close"])
    func bodiesArriveWhole(length: Int, framing: String) async throws {
        let body = [UInt8].pattern(count: length)
        let server = try ScriptedServer.answering { _ in
            switch framing {
            case "length": .bytes(body)
            case "chunks":
                CannedResponse(
                    body: .chunks(
                        stride(from: 0, to: length, by: 70_001).map { Array(body[$0..<min($0 + 70_001, length)]) },
                        trailers: []))
            default: CannedResponse(body: .untilClose(body))
            }
        }
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == [.response(200), .data(body), .succeeded, .invalid])
        try await URLSession.using { session async throws in
            #expect(try await session.data(from: server.url()).0 == Data(body))
        }
    }

    // MARK: Codings

    // ENC-3, ENC-5, ENC-6, ENC-7
    @Test(
        "codings are undone",
        arguments: [
            ("gzip", CodedBodies.gzip("hello")), ("x-gzip", CodedBodies.gzip("hello")),
            ("GZIP", CodedBodies.gzip("hello")),
            ("deflate", CodedBodies.zlib("hello")), ("deflate", CodedBodies.rawDeflate("hello")),
            ("br", CodedBodies.brotliHello), ("zstd", CodedBodies.zstd("hello")),
            ("gzip, gzip", CodedBodies.gzip(CodedBodies.gzip("hello"))),
            ("zstd, gzip", CodedBodies.gzip(CodedBodies.zstd("hello"))),
            ("identity, gzip", CodedBodies.gzip("hello")),
            ("gzip", CodedBodies.gzip("he") + CodedBodies.gzip("llo")),
        ])
    func codingsAreUndone(coding: String, body: [UInt8]) async throws {
        let server = try ScriptedServer.answering { request in
            (request.path == "/chunks" ? CannedResponse(body: .chunks(body.map { [$0] }, trailers: [])) : .bytes(body))
                .with(field: "Content-Encoding", coding)
        }
        defer { server.stop() }
        for path in ["/", "/chunks"] {
            let recorder = LoadRecorder()
            let task = recorder.start(URLRequest(url: server.url(path)))
            #expect(try await recorder.finish() == [.response(200), .data("hello"), .succeeded, .invalid])
            let response = try #require(recorder.responses.events.first)
            #expect(response.value(forHTTPHeaderField: "Content-Encoding") == coding)
            #expect(response.value(forHTTPHeaderField: "Content-Length") == (path == "/" ? "\(body.count)" : nil))
            #expect(response.expectedContentLength == -1)
            #expect(task.countOfBytesExpectedToReceive == -1)
            #expect(task.countOfBytesReceived == 5)
        }
    }

    // ENC-3: several fields are one list
    @Test("codings in several fields") func codingsInSeveralFields() async throws {
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(CodedBodies.gzip(CodedBodies.zlib("hello")))
                .with(field: "Content-Encoding", "deflate").with(field: "content-encoding", "gzip"))
        defer { server.stop() }
        #expect(try await response(of: server).recorded == [.response(200), .data("hello"), .succeeded, .invalid])
    }

    // ENC-2
    @Test("codings that the caller requested are decoded too")
    func codingsThatTheCallerRequestedAreDecodedToo() async throws {
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(CodedBodies.gzip("hello")).with(field: "Content-Encoding", "gzip"))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.setValue("gzip", forHTTPHeaderField: "Accept-Encoding") }
        #expect(
            try await LoadRecorder.load(request) == [.response(200), .data("hello"), .succeeded, .invalid])
        #expect(server.requests.map { $0.values(of: "Accept-Encoding") } == [["gzip"]])
    }

    // ENC-8: the middle of a coded body begins no coding
    @Test(
        "a range of a coded body is delivered as it is, unless it is all of it",
        arguments: [("4-9/", false), ("0-9/", false), ("0-27/", true), ("0-27/*", false), (nil, true)]
            as [(String?, Bool)])
    func aRangeOfACodedBody(range: String?, isDecoded: Bool) async throws {
        let coded = CodedBodies.gzip("hello")
        #expect(coded.count == 28)
        let numbers = (range ?? "0-27/").prefix { $0 != "/" }.split(separator: "-").compactMap { Int($0) }
        let (first, last) = (try #require(numbers.first), try #require(numbers.last))
        let part = Array(coded[first...last])
        let server = try ScriptedServer.answering { _ in
            let response = CannedResponse.bytes(part, status: 206).with(field: "Content-Encoding", "gzip")
            guard let range else { return response }
            return response.with(field: "Content-Range", "bytes \(range)\(range.hasSuffix("*") ? "" : "28")")
        }
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.setValue("bytes=0-", forHTTPHeaderField: "Range") }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let (data, received) = try await session.data(for: request)
        #expect(Array(data) == (isDecoded ? Array("hello".utf8) : part))
        #expect(received.expectedContentLength == (isDecoded ? -1 : Int64(part.count)))
    }

    // ENC-8: the lines between the ranges are not coded
    @Test("several ranges of a coded body are delivered as they are")
    func severalRangesOfACodedBody() async throws {
        var body = Array("--cut\r\nContent-Range: bytes 4-9/28\r\n\r\n".utf8)
        body += CodedBodies.gzip("hello")[4...9]
        body += Array("\r\n--cut--\r\n".utf8)
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(body, status: 206).with(field: "Content-Encoding", "gzip")
                .with(field: "Content-Type", "multipart/byteranges; boundary=cut"))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.setValue("bytes=4-9,20-", forHTTPHeaderField: "Range") }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(for: request)
        #expect(Array(data) == body)
        #expect(response.expectedContentLength == Int64(body.count))
    }

    // ENC-1, ENC-2
    @Test("a request for a range wants it without a coding", arguments: [nil, "gzip"])
    func aRequestForARange(own: String?) async throws {
        let server = try ScriptedServer.answering(.text("part", status: 206))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.setValue("bytes=0-3", forHTTPHeaderField: "Range")
            $0.setValue(own, forHTTPHeaderField: "Accept-Encoding")
        }
        #expect(try await LoadRecorder.load(request) == [.response(206), .data("part"), .succeeded, .invalid])
        #expect(server.requests.map { $0.values(of: "Accept-Encoding") } == [[own ?? "identity"]])
    }

    // ENC-10: an empty body is empty in any coding
    @Test("an empty coded body") func anEmptyCodedBody() async throws {
        let server = try ScriptedServer.answering(CannedResponse.bytes([]).with(field: "Content-Encoding", "gzip"))
        defer { server.stop() }
        #expect(try await response(of: server).recorded == [.response(200), .succeeded, .invalid])
    }

    // MARK: Fields

    // MISC-8
    @Test(
        "names have one spelling",
        arguments: [
            ("content-type", "Content-Type"), ("CONTENT-TYPE", "Content-Type"), ("eTag", "Etag"),
            ("www-authenticate", "WWW-Authenticate"), ("WWW-AUTHENTICATE", "WWW-Authenticate"),
            ("x-fOo-bAr", "x-fOo-bAr"),
            ("X-FOO", "X-FOO"), ("last-modified", "Last-Modified"), ("a", "A"), ("1-b", "1-B"),
        ])
    func namesHaveOneSpelling(sent: String, shown: String) async throws {
        let server = try ScriptedServer.answering(CannedResponse.bytes([]).with(field: sent, "value"))
        defer { server.stop() }
        let response = try await response(of: server).response
        #expect(response.allHeaderFields as? [String: String] == [shown: "value", "Content-Length": "0"])
        for name in [sent, shown, sent.uppercased(), sent.lowercased()] {
            #expect(response.value(forHTTPHeaderField: name) == "value")
        }
    }

    // MISC-9
    @Test("fields of one name are joined") func fieldsOfOneNameAreJoined() async throws {
        let server = try ScriptedServer.answering(
            CannedResponse.bytes([]).with(field: "Vary", "a").with(field: "Set-Cookie", "a=b; Path=/")
                .with(field: "VARY", "b").with(field: "set-cookie", "c=d; Expires=Wed, 09 Jun 2100 10:18:14 GMT")
                .with(field: "vary", "").with(field: "x-One", "1").with(field: "X-one", "2"))
        defer { server.stop() }
        let response = try await response(of: server).response
        #expect(response.value(forHTTPHeaderField: "Vary") == "a, b, ")
        let all = response.allHeaderFields as? [String: String]
        #expect(all?["Vary"] == "a, b, ")
        #expect(all?["Set-Cookie"] == "a=b; Path=/, c=d; Expires=Wed, 09 Jun 2100 10:18:14 GMT")
        #expect(response.value(forHTTPHeaderField: "X-ONE") == "1, 2")
        #expect(all?["x-One"] == "1, 2")
    }

    // CONN-28
    @Test("values are trimmed, unfolded and read as text") func valuesAreTrimmedUnfoldedAndReadAsText() async throws {
        let head =
            Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: \t a b \t\r\nB:b\r\nC: a\r\n \t b\r\n\tc\r\nD: ".utf8)
            + [0x63, 0x61, 0x66, 0xE9] + Array("\r\nE: caf\u{E9}\r\nF:\r\nG: \"a, b\"\r\n\r\n".utf8)
        let server = try ScriptedServer(steps: [.expectRequest, .sendBytes(head), .waitForClose])
        defer { server.stop() }
        let fields = try await response(of: server).response.allHeaderFields as? [String: String]
        #expect(
            fields == [
                "Content-Length": "0", "A": "a b", "B": "b", "C": "a b c", "D": "caf\u{E9}", "E": "caf\u{E9}", "F": "",
                "G": "\"a, b\"",
            ])
    }

    // MARK: What is made of them

    // MISC-10
    @Test(
        "type and encoding",
        arguments: [
            ("text/html", "text/html", nil), ("TEXT/HTML; Charset=UTF-8", "text/html", "utf-8"),
            ("text/plain;charset=\"ISO-8859-1\"", "text/plain", "iso-8859-1"),
            ("application/json; a=b; charset=utf-8", "application/json", "utf-8"),
        ])
    func typeAndEncoding(field: String, type: String, encoding: String?) async throws {
        let server = try ScriptedServer.answering(CannedResponse.bytes([65]).with(field: "Content-Type", field))
        defer { server.stop() }
        let response = try await response(of: server).response
        #expect(response.mimeType == type)
        #expect(response.textEncodingName == encoding)
    }

    // MISC-12
    @Test(
        "the suggested name",
        arguments: [
            ("/dir/name.txt", "", "name.txt"), ("/x", "attachment; filename=\"a b.txt\"", "a b.txt"),
            ("/x", "attachment; filename=../../etc/passwd.txt", "___.._etc_passwd.txt"),
            ("/x", "attachment; filename=\"no.txt\"; filename*=UTF-8''na%C3%AFve.txt", "na\u{EF}ve.txt"),
        ])
    func theSuggestedName(path: String, disposition: String, name: String) async throws {
        let server = try ScriptedServer.answering { _ in
            disposition.isEmpty ? .text("x") : .text("x").with(field: "Content-Disposition", disposition)
        }
        defer { server.stop() }
        #expect(try await response(to: path, of: server).response.suggestedFilename == name)
    }

    // MISC-14
    @Test("a status in words", arguments: [(200, "no error"), (404, "not found"), (500, "internal server error")])
    func aStatusInWords(status: Int, words: String) {
        #expect(HTTPURLResponse.localizedString(forStatusCode: status) == words)
    }
}
