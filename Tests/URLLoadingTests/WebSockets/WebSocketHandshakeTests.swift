import Foundation
import TestSupport
import Testing
import URLLoading

/// The opening handshake of WebSocket tasks.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketHandshakeTests {
    private static func closing(_ socket: WebSocketConnection) throws { try socket.close() }

    private static let success: [Call] = [
        .created(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid,
    ]

    // MARK: Requests

    // WS-1, RFC 6455 §4.1
    @Test("the fields of the request") func fields() async throws {
        let server = try ScriptedServer.webSocket(script: Self.closing)
        defer { server.stop() }
        var request = URLRequest(url: server.webSocketURL("/chat?a=b%20c"))
        request.setValue("own", forHTTPHeaderField: "X-Own")
        request.setValue("https://example.org", forHTTPHeaderField: "Origin")
        request.setValue("agent", forHTTPHeaderField: "User-Agent")
        let run = WebSocketRun { $0.webSocketTask(with: request) }
        run.task.resume()
        #expect(try await run.end() == Self.success)
        try await server.finish()
        let sent = try #require(server.requests.first)
        #expect(sent.target == "/chat?a=b%20c")
        #expect(sent["Host"] == "127.0.0.1:\(server.port)")
        #expect(sent["X-Own"] == "own")
        #expect(sent["Origin"] == "https://example.org")
        #expect(sent["User-Agent"] == "agent")
        #expect(sent["Sec-WebSocket-Protocol"] == nil)
        // Some servers read one field only.
        #expect(sent.fields.filter { $0.name.lowercased() == "connection" }.map(\.value) == ["Upgrade"])
        // WS-15
        #expect(sent["Sec-WebSocket-Extensions"] == nil)
        #expect(sent["Content-Length"] == nil)
        #expect(sent["Accept-Encoding"] == nil || sent["Accept-Encoding"]?.isEmpty == false)
        #expect(run.task.originalRequest?.url == request.url)
        let response = try #require(run.task.response as? HTTPURLResponse)
        #expect(response.statusCode == 101)
        #expect(response.value(forHTTPHeaderField: "Upgrade") == "websocket")
    }

    // WS-1: the fields of the handshake belong to the task
    @Test("fields of the handshake in the caller's request") func reservedFields() async throws {
        let server = try ScriptedServer.webSocket(script: Self.closing)
        defer { server.stop() }
        var request = URLRequest(url: server.webSocketURL())
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        for (name, value) in [
            ("Sec-WebSocket-Key", "AAAA"), ("Sec-WebSocket-Version", "8"), ("Upgrade", "h2c"), ("Connection", "close"),
            ("Sec-WebSocket-Accept", "x"),
        ] {
            request.setValue(value, forHTTPHeaderField: name)
        }
        let run = WebSocketRun { $0.webSocketTask(with: request) }
        run.task.resume()
        // The server checks the handshake.
        #expect(try await run.end() == Self.success)
        try await server.finish()
    }

    // RFC 6455 §4.1: a key of its own for each
    @Test("the keys of many handshakes differ") func keys() async throws {
        let server = try ScriptedServer.webSocket(script: Self.closing)
        defer { server.stop() }
        let session = URLSession { _ in }
        for _ in 0..<10 {
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            await #expect(throws: (any Error).self) { try await task.receive() }
        }
        session.invalidateAndCancel()
        try await server.finish()
        #expect(Set(server.requests.compactMap { $0["Sec-WebSocket-Key"] }).count == 10)
    }

    // WS-1, WS-3
    @Test(
        "subprotocols",
        arguments: [
            (["a"], "a"), (["a", "b.c", "d"], "d"), (["a", "b"], nil), ([], nil), (["MQTT", "mqtt"], "mqtt"),
        ] as [([String], String?)])
    func subprotocols(offered: [String], selected: String?) async throws {
        let server = try ScriptedServer.webSocket(answer: { _ in WebSocketAnswer().with { $0.subprotocol = selected } })
        {
            try $0.close()
        }
        defer { server.stop() }
        for makes in [0, 1] {
            let run = WebSocketRun { session in
                let url = server.webSocketURL()
                guard makes == 1 else { return session.webSocketTask(with: url, protocols: offered) }
                var request = URLRequest(url: url)
                request.setValue(
                    offered.isEmpty ? nil : offered.joined(separator: ","),
                    forHTTPHeaderField: "Sec-WebSocket-Protocol")
                return session.webSocketTask(with: request)
            }
            run.task.resume()
            #expect(try await run.end().dropFirst().first == .opened(1, selected))
        }
        try await server.finish()
        #expect(server.requests.map(\.subprotocols) == [offered, offered])
    }

    // WS-1
    @Test(
        "subprotocols that are no tokens",
        arguments: [["a b"], [""], ["a", "b,c"], ["é"], ["a\r\nX-Evil: 1"], ["a;b"]])
    func invalidSubprotocols(offered: [String]) async throws {
        let server = try ScriptedServer.webSocket(script: Self.closing)
        defer { server.stop() }
        let run = WebSocketRun { $0.webSocketTask(with: server.webSocketURL(), protocols: offered) }
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.suffix(2) == [.completed(1, .badURL), .invalid])
        #expect(run.delegate.results == ["received: -1000"])
        #expect(server.connectionCount == 0)
    }

    // WS-1, ERR-5
    @Test(
        "URLs of other schemes",
        arguments: [
            "http://127.0.0.1:1/", "https://127.0.0.1:1/", "ftp://127.0.0.1:1/", "file:///etc/hosts", "data:,x",
        ])
    func otherSchemes(text: String) async throws {
        let run = WebSocketRun(try #require(URL(string: text)))
        run.receive()
        run.send("a")
        run.task.resume()
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received: -1002", "sent a: -1002"])
        #expect(calls.suffix(2) == [.completed(1, .unsupportedURL), .invalid])
        #expect(calls.filter { $0.kind == "opened" } == [])
    }

    // WS-1: schemes and hosts are not case-sensitive
    @Test("spellings of the URL", arguments: ["WS://LOCALHOST", "ws://user@localhost", "Ws://localhost", "ws://[::1]"])
    func spellings(start: String) async throws {
        let server = try ScriptedServer.webSocket(.dualStack, script: Self.closing)
        defer { server.stop() }
        let run = WebSocketRun(try #require(URL(string: "\(start):\(server.port)?q#fragment")))
        run.task.resume()
        #expect(try await run.end() == Self.success)
        #expect(server.requests.map(\.target) == ["/?q"])
    }

    // MARK: Responses

    /// A response that opens no WebSocket.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var answer: WebSocketAnswer

        init(_ name: String, _ change: (inout WebSocketAnswer) -> Void) {
            testDescription = name
            answer = WebSocketAnswer().with(change)
        }

        static let all: [Refusal] = [
            // RFC 6455 §4.1, items 1 to 6.
            Refusal("wrong accept") { $0.accept = .literal("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") },
            Refusal("empty accept") { $0.accept = .literal("") },
            Refusal("no accept") { $0.accept = .missing },
            Refusal("two accepts") { $0.fields = [.init("Sec-WebSocket-Accept", "x")] },
            Refusal("no upgrade") { $0.upgrade = nil },
            Refusal("another upgrade") { $0.upgrade = "h2c" },
            Refusal("two upgrades") { $0.upgrade = "websocket, h2c" },
            Refusal("no connection") { $0.connection = nil },
            Refusal("another connection") { $0.connection = "keep-alive" },
            Refusal("a subprotocol") { $0.subprotocol = "chat" },
            Refusal("an empty subprotocol") { $0.subprotocol = "" },
            Refusal("compression") { $0.extensions = "permessage-deflate" },
            Refusal("an unknown extension") { $0.extensions = "x-unknown; a=1" },
        ]

        static let statuses = [200, 204, 304, 400, 403, 404, 426, 429, 500, 503].map { status in
            Refusal("status \(status)") {
                $0.status = status
                $0.fields = [.init("Content-Length", "0")]
            }
        }
    }

    // WS-3, WS-4, WS-5
    @Test("responses that open no WebSocket", arguments: Refusal.all + Refusal.statuses)
    func refusals(refusal: Refusal) async throws {
        let server = try ScriptedServer.webSocket(answer: { _ in refusal.answer }) { socket in
            // Frames of a server that believes that it is open.
            try? socket.send(text: "early")
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.send("a")
        run.ping("1")
        run.task.resume()
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received: -1011", "sent a: -1011", "pong 1: -1011"])
        #expect(
            calls.filter { $0.task != nil } == [.created(1), .metrics(1), .completed(1, .badServerResponse)])
        #expect(run.task.closeCode == .invalid)
        #expect((run.task.response as? HTTPURLResponse)?.statusCode == refusal.answer.status)
        _ = try await server.connection(0).waitForEnd()
    }

    // WS-3: fields are not case-sensitive, lists have more elements, and other fields do not matter
    @Test("spellings of the response") func spellingsOfTheResponse() async throws {
        for change: @Sendable (inout WebSocketAnswer) -> Void in [
            { $0.upgrade = "WebSocket" }, { $0.connection = "keep-alive, Upgrade" }, { $0.connection = "upgrade" },
            { $0.reason = "" }, { $0.fields = [.init("Content-Length", "0"), .init("Server", "x")] },
            { $0.fields = [.init("Transfer-Encoding", "chunked")] }, { $0.extensions = "" },
        ] {
            let server = try ScriptedServer.webSocket(answer: { _ in WebSocketAnswer().with(change) }) {
                try $0.close()
            }
            defer { server.stop() }
            let run = WebSocketRun(server.webSocketURL())
            run.task.resume()
            #expect(try await run.end() == Self.success)
        }
    }

    // WS-3: the first frames are in the packet of the response, or the response comes octet by octet
    @Test("frames that follow at once", arguments: [true, false]) func framesAtOnce(isOctetByOctet: Bool) async throws {
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            let octets =
                Array(WebSocketAnswer().head(for: request).utf8) + WebSocketMessage.text("one").frame.octets
                + WebSocketMessage.text("two").frame.octets + WebSocketFrame.close(1000).octets
            if isOctetByOctet { try connection.send(octets, inPiecesOf: 1) } else { try connection.send(octets) }
            let socket = WebSocketConnection(connection, request: request)
            try socket.readClose()
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.receive()
        run.task.resume()
        #expect(
            try await run.end() == [
                .created(1), .opened(1, nil), .result("received one"), .result("received two"), .closed(1, 1000, ""),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        try await server.finish()
    }

    // WS-3, RFC 9110 §15.2
    @Test("informational responses before") func informational() async throws {
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            try connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            try connection.send(WebSocketAnswer().head(for: request))
            try WebSocketConnection(connection, request: request).close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.filter { $0.kind != "informational" } == Self.success)
        try await server.finish()
    }

    // WS-4: nothing reaches a server that is not there
    @Test("servers that cannot be reached") func unreachable() async throws {
        let refusing = try RefusingPort()
        for (text, code) in [
            ("ws://127.0.0.1:\(refusing.port)/", URLError.Code.cannotConnectToHost),
            ("ws://nothing.invalid/", .cannotFindHost), ("wss://127.0.0.1:\(refusing.port)/", .cannotConnectToHost),
        ] {
            let run = WebSocketRun(try #require(URL(string: text)))
            run.receive()
            run.task.resume()
            let calls = try await run.end()
            #expect(run.delegate.results == ["received: \(code.rawValue)"])
            #expect(calls.suffix(3) == [.metrics(1), .completed(1, code), .invalid])
            #expect(run.task.closeCode == .invalid)
        }
    }

    // WS-4, ERR-6, ERR-7
    @Test(
        "connections that end within the handshake",
        arguments: [
            ("", URLError.Code.networkConnectionLost),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: webs", .networkConnectionLost),
            ("no HTTP\r\n\r\n", .cannotParseResponse),
        ])
    func broken(text: String, code: URLError.Code) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send(text)
            connection.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.filter { $0.kind == "opened" } == [])
        #expect(run.delegate.results == ["received: \(code.rawValue)"])
        #expect(calls.suffix(2) == [.completed(1, code), .invalid])
    }

    // MARK: Redirects, challenges, cookies

    // R-25, WS-2: with the location as http and as ws, on the same server and another one
    @Test("redirects", arguments: [301, 302, 303, 307, 308], [true, false])
    func redirects(status: Int, asHTTP: Bool) async throws {
        let target = try ScriptedServer.webSocket(script: Self.closing)
        defer { target.stop() }
        let end = asHTTP ? target.url("/end") : target.webSocketURL("/end")
        let server = try ScriptedServer.webSocket(
            refusing: {
                $0.path == "/start"
                    ? .redirect(to: "/next", status: status) : .redirect(to: end.absoluteString, status: status)
            }, script: Self.closing)
        defer { server.stop() }
        var request = URLRequest(url: server.webSocketURL("/start"))
        request.setValue("chat", forHTTPHeaderField: "Sec-WebSocket-Protocol")
        request.setValue("own", forHTTPHeaderField: "X-Own")
        let run = WebSocketRun { $0.webSocketTask(with: request) }
        run.task.resume()
        let calls = try await run.end()
        #expect(
            calls == [
                .created(1), .redirect(1, status), .redirect(1, status), .opened(1, nil), .closed(1, 1000, ""),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.requests.map(\.target) == ["/start", "/next"])
        #expect(target.requests.map(\.target) == ["/end"])
        let all = server.requests + target.requests
        #expect(all.allSatisfy { $0.subprotocols == ["chat"] && $0["X-Own"] == "own" && $0["Upgrade"] == "websocket" })
        #expect(Set(all.compactMap { $0["Sec-WebSocket-Key"] }).count == 3)
        #expect(run.delegate.metrics.events.first?.redirectCount == 2)
    }

    // refused, the redirect is the response
    @Test("a redirect that the delegate refuses") func refusedRedirect() async throws {
        let server = try ScriptedServer.webSocket(
            refusing: { $0.path == "/" ? .redirect(to: "/next") : nil }, script: Self.closing)
        defer { server.stop() }
        let delegate = RecordingWebSocketDelegate()
        delegate.redirect = { $1(nil) }
        let run = WebSocketRun(server.webSocketURL(), delegate)
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(run.delegate.results == ["received: -1011"])
        #expect(
            calls.filter { $0.task != nil } == [
                .created(1), .redirect(1, 302), .metrics(1), .completed(1, .badServerResponse),
            ])
        #expect((run.task.response as? HTTPURLResponse)?.statusCode == 302)
        #expect(server.requests.count == 1)
    }

    //
    @Test("redirects without end") func endlessRedirects() async throws {
        let server = try ScriptedServer.answering { .redirect(to: $0.target + "x") }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(run.delegate.results == ["received: -1007"])
        #expect(calls.suffix(2) == [.completed(1, .httpTooManyRedirects), .invalid])
    }

    // WS-2, AUTH-9
    @Test("a server that asks for a password", arguments: [true, false]) func basic(isRight: Bool) async throws {
        let basic = BasicAuthResponder()
        let server = try ScriptedServer.webSocket(
            refusing: { $0["Authorization"] == basic.field() ? nil : basic.refusal }, script: Self.closing)
        defer { server.stop() }
        let delegate = RecordingWebSocketDelegate()
        delegate.challenge = { challenge, answer in
            if isRight, challenge.previousFailureCount == 0 {
                answer(.useCredential, basic.credential)
            } else {
                answer(.performDefaultHandling, nil)
            }
        }
        let run = WebSocketRun(server.webSocketURL(), delegate)
        run.receive()
        run.task.resume()
        let calls = try await run.end().filter { $0.task != nil }
        let start: [Call] = [.created(1), .challenge(1, "HTTPBasic r", 0)]
        if isRight {
            #expect(calls == start + Self.success.dropFirst().dropLast())
            #expect(server.authorizations == ["/ -", "/ " + basic.field()])
            #expect(Set(server.requests.compactMap { $0["Sec-WebSocket-Key"] }).count == 2)
        } else {
            #expect(calls == start + [.metrics(1), .completed(1, .badServerResponse)])
            #expect((run.task.response as? HTTPURLResponse)?.statusCode == 401)
        }
    }

    // WS-2, AUTH-11
    @Test("a password in the URL") func passwordInURL() async throws {
        let basic = BasicAuthResponder(user: "me", password: "secret")
        let server = try ScriptedServer.webSocket(
            refusing: { $0["Authorization"] == basic.field() ? nil : basic.refusal }, script: Self.closing)
        defer { server.stop() }
        let run = WebSocketRun(try #require(URL(string: "ws://me:secret@127.0.0.1:\(server.port)/")))
        run.task.resume()
        #expect(try await run.end() == Self.success)
    }

    // COOK-25, WS-2
    @Test("cookies") func cookies() async throws {
        let server = try ScriptedServer.webSocket(answer: {
            WebSocketAnswer().with(field: "Set-Cookie", "path=\($0.path.dropFirst())").with(
                field: "Set-Cookie", "second=2; Path=/")
        }) { try $0.close() }
        defer { server.stop() }
        let storage = HTTPCookieStorage()
        storage.setCookie(
            try #require(HTTPCookie(properties: [.name: "a", .value: "b", .domain: "127.0.0.1", .path: "/"])))
        for path in ["/1", "/2"] {
            let run = WebSocketRun(server.webSocketURL(path), RecordingWebSocketDelegate()) {
                $0.httpCookieStorage = storage
            }
            run.task.resume()
            #expect(try await run.end() == Self.success)
        }
        let sent = server.requests.map { request in
            Set((request["Cookie"] ?? "").components(separatedBy: "; "))
        }
        #expect(sent == [["a=b"], ["a=b", "path=1", "second=2"]])
        #expect(Set((storage.cookies ?? []).map { "\($0.name)=\($0.value)" }) == ["a=b", "path=2", "second=2"])
    }

    // COOK-25: secure cookies go to wss and not to ws
    @Test("secure cookies", arguments: [true, false]) func secureCookies(isSecure: Bool) async throws {
        let server = try ScriptedServer.webSocket(tls: isSecure ? TrustedAuthority.server() : nil, script: Self.closing)
        defer { server.stop() }
        let storage = HTTPCookieStorage()
        storage.setCookie(
            try #require(
                HTTPCookie(properties: [
                    .name: "a", .value: "b", .domain: "localhost", .path: "/", .secure: "TRUE",
                ])))
        let run = WebSocketRun(server.webSocketURL(host: "localhost"), RecordingWebSocketDelegate()) {
            $0.httpCookieStorage = storage
        }
        run.task.resume()
        #expect(try await run.end() == Self.success)
        #expect(server.requests.map { $0["Cookie"] } == [isSecure ? "a=b" : nil])
    }

    // MET-1, MET-7
    @Test("metrics") func metrics() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        try await run.task.send(.string("hello"))
        _ = try await run.task.receive()
        run.task.cancel(with: .normalClosure, reason: nil)
        _ = try await run.end()
        let metrics = try #require(run.delegate.metrics.events.first)
        #expect(run.delegate.metrics.count == 1)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(metrics.transactionMetrics.count == 1)
        #expect(transaction.networkProtocolName == "http/1.1")
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 101)
        #expect(!transaction.isReusedConnection)
        // Frames of 5 octets, and the close frames with a code: masked and not.
        #expect(run.task.countOfBytesSent >= 11)
        #expect(run.task.countOfBytesReceived >= 7)
    }

    // T-14: however the bytes are distributed over packets
    @Test("bytes that arrive together with the response count") func bytesWithTheResponse() async throws {
        let server = try ScriptedServer { connection in
            guard let request = try connection.nextRequest() else { return }
            try connection.send(Data(WebSocketAnswer.agreement.head(for: request).utf8) + [0x81, 5] + "hello".utf8)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        _ = try await run.task.receive()
        #expect(run.task.countOfBytesReceived == 7)
        run.task.cancel()
        _ = try await run.end()
    }
}
