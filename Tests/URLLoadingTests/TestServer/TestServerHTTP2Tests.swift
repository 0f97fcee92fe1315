import Foundation
import TestSupport
import Testing
import URLLoading
import URLLoadingTesting

/// The server for the tests of programs over HTTP/2, and its asynchronous handlers and conversations.
@Suite(.leavesNothing) struct TestServerHTTP2Tests {
    private let server: TestServer
    private let session: URLSession

    init() throws {
        server = try TestServer()
        session = URLSession(configuration: server.configuration())
    }

    private func end() {
        session.invalidateAndCancel()
        server.stop()
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test("a request is the same in both versions", arguments: [true, false]) func request(isHTTP2: Bool) async throws {
        defer { end() }
        server.offersHTTP2 = isHTTP2
        server.handler = { TestResponse(body: $0.body).with(field: "X-Name", "value").chunked() }
        var request = URLRequest(url: try url("https://api.example.com:8443/a?b=c"))
        request.httpMethod = "PUT"
        request.setValue("a=1; b=2", forHTTPHeaderField: "Cookie")
        request.setValue("100-continue", forHTTPHeaderField: "Expect")
        // More than the windows of both sides.
        let content = Data(repeating: 7, count: 3_000_000)
        let (echo, response) = try await session.upload(for: request, from: content)
        #expect(echo == content)
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "x-name") == "value")
        let received = try #require(server.requests.first)
        #expect(received.protocolName == (isHTTP2 ? "h2" : "http/1.1"))
        #expect(received.method == "PUT" && received.target == "/a?b=c" && received.body == content)
        #expect(received["host"] == "api.example.com:8443" && received.fields(named: "Cookie") == ["a=1; b=2"])
        #expect(received.url == request.url)
    }

    @Test("responses overtake each other on one connection") func overtaking() async throws {
        defer { end() }
        let opened = Signal()
        server.handler = { request in
            if request.target == "/slow" { try await opened.wait() } else { opened.fire() }
            return TestResponse(text: request.target)
        }
        async let slow = session.data(from: try url("https://host/slow"))
        _ = try await server.nextRequest()
        let (fast, _) = try await session.data(from: try url("https://host/fast"))
        #expect(fast == Data("/fast".utf8))
        #expect(try await slow.0 == Data("/slow".utf8))
        #expect(server.connectionCount == 1)
    }

    @Test("responses of the queue have the order of the requests") func order() async throws {
        defer { end() }
        let paths = (0..<20).map { "/\($0)" }
        let bodies = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for path in paths {
                group.addTask { [session] in
                    let (data, _) = try await session.data(from: try #require(URL(string: "https://host\(path)")))
                    return (path, String(decoding: data, as: UTF8.self))
                }
            }
            var order: [String] = []
            for _ in paths { order.append(try await server.nextRequest().target) }
            for path in order { server.enqueue(TestResponse(text: path)) }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        #expect(bodies == Dictionary(uniqueKeysWithValues: paths.map { ($0, $0) }))
    }

    @Test("responses without a body, and a connection that takes no more requests") func bodiless() async throws {
        defer { end() }
        server.handler = { request in
            request.target == "/last" ? TestResponse(text: "last").closing() : TestResponse(status: 204)
        }
        var head = URLRequest(url: try url("https://host/head"))
        head.httpMethod = "HEAD"
        for request in [head, URLRequest(url: try url("https://host/none"))] {
            let (data, response) = try await session.data(for: request)
            #expect(data.isEmpty && (response as? HTTPURLResponse)?.statusCode == 204)
        }
        let (last, _) = try await session.data(from: try url("https://host/last"))
        #expect(last == Data("last".utf8))
        _ = try await session.data(from: try url("https://host/next"))
        #expect(server.requests.map(\.connection) == [0, 0, 0, 1])
    }

    @Test("a reset ends its stream, a disconnection all") func faults() async throws {
        defer { end() }
        server.handler = { request in
            switch request.target {
            case "/reset": TestResponse(text: "hello").failing(.reset, after: .body(3))
            case "/disconnect": TestResponse(text: "hello").failing(.disconnect, after: .body(3))
            default: TestResponse(text: "hello")
            }
        }
        for path in ["reset", "disconnect"] {
            let error = await #expect(throws: URLError.self) {
                try await session.data(from: try url("https://host/\(path)"))
            }
            #expect(error?.code == .networkConnectionLost, "\(path)")
            _ = try await session.data(from: try url("https://host/"))
        }
        #expect(server.requests.map(\.connection) == [0, 0, 0, 1])
    }

    @Test("a cancelled task leaves the connection usable") func cancellation() async throws {
        defer { end() }
        server.handler = { request in
            request.target == "/stall" ? TestResponse(text: "hello").failing(.stall) : TestResponse(text: "hello")
        }
        let stalled = Task { [session] in
            try await session.data(from: try #require(URL(string: "https://host/stall")))
        }
        _ = try await server.nextRequest()
        stalled.cancel()
        await #expect(throws: (any Error).self) { try await stalled.value }
        let (data, _) = try await session.data(from: try url("https://host/"))
        #expect(data == Data("hello".utf8) && server.connectionCount == 1)
    }

    // MARK: Handlers and conversations

    private struct Refusal: Error {}

    @Test("an error of the handler is a response") func handlerError() async throws {
        defer { end() }
        server.handler = { _ in throw Refusal() }
        let (data, response) = try await session.data(from: try url("http://host/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 500)
        #expect(String(decoding: data, as: UTF8.self) == "Refusal()")
    }

    @Test("a request for no WebSocket is refused one", arguments: ["http", "https"])
    func noWebSocket(scheme: String) async throws {
        defer { end() }
        server.enqueue(.webSocket { _ in })
        let (_, response) = try await session.data(from: try url("\(scheme)://host/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 400)
    }

    @Test("stop cancels handlers and conversations") func stop() async throws {
        let cancelled = EventRecorder<String>()
        server.handler = { request in
            if request.target == "/socket" {
                return .webSocket { socket in
                    try await socket.send("open")
                    await #expect(throws: TestServerError.webSocketEnded) { try await socket.receive() }
                    cancelled.record("socket")
                }
            }
            do { try await Task.sleep(for: .seconds(600)) } catch { cancelled.record("handler") }
            return TestResponse()
        }
        let waiting = Task { [session] in
            try await session.data(from: try #require(URL(string: "https://host/wait")))
        }
        _ = try await server.nextRequest()
        let socket = session.webSocketTask(with: try url("wss://host/socket"))
        socket.resume()
        _ = try await socket.receive()
        // First, so that the client sends no close frame.
        server.stop()
        session.invalidateAndCancel()
        await #expect(throws: (any Error).self) { try await waiting.value }
        #expect(Set(try await cancelled.waitFor(count: 2)) == ["socket", "handler"])
    }

    @Test("both sides of a WebSocket at once, and the client's close") func webSocket() async throws {
        defer { end() }
        let code = EventRecorder<Int?>()
        server.enqueue(
            .webSocket { socket in
                async let echo: Void = {
                    while let message = try await socket.receive() { try await socket.send(message) }
                }()
                try await socket.ping()
                try await socket.send("hello")
                try await echo
                code.record(socket.receivedCloseCode)
            })
        let task = session.webSocketTask(with: try url("wss://host/"))
        task.resume()
        guard case .string("hello") = try await task.receive() else {
            Issue.record("another message")
            return
        }
        try await task.send(.string("echo"))
        guard case .string("echo") = try await task.receive() else {
            Issue.record("another message")
            return
        }
        task.cancel(with: .goingAway, reason: nil)
        #expect(try await code.waitFor(count: 1) == [1001])
    }
}
