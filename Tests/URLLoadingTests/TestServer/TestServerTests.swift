import Foundation
import TestSupport
import Testing
import URLLoading
import URLLoadingTesting

/// The server for the tests of programs, as a program's tests use it.
@Suite(.leavesNothing) struct TestServerTests {
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

    @Test("any host, in clear and over TLS; what the server has received") func anyHost() async throws {
        defer { end() }
        server.enqueue(TestResponse(text: "one"))
        server.enqueue(try TestResponse(status: 201, json: ["a": 1]).with(field: "X-Name", "value"))
        var request = URLRequest(url: try url("http://api.example.com/a?b=c"))
        request.setValue("yes", forHTTPHeaderField: "X-Asks")
        let (one, first) = try await session.data(for: request)
        #expect(String(decoding: one, as: UTF8.self) == "one")
        #expect((first as? HTTPURLResponse)?.mimeType == "text/plain")
        request = URLRequest(url: try url("https://www.example.org/things"))
        request.httpMethod = "POST"
        let (two, second) = try await session.upload(for: request, from: Data("hello".utf8))
        #expect(try JSONDecoder().decode([String: Int].self, from: two) == ["a": 1])
        #expect((second as? HTTPURLResponse)?.statusCode == 201)
        #expect((second as? HTTPURLResponse)?.value(forHTTPHeaderField: "x-name") == "value")

        let asked = try await server.nextRequest()
        #expect(asked.method == "GET" && asked.target == "/a?b=c" && !asked.isSecure)
        #expect(asked["x-asks"] == "yes" && asked.fields(named: "Host") == ["api.example.com"])
        #expect(asked.url == request.url.flatMap { _ in URL(string: "http://api.example.com/a?b=c") })
        let posted = try await server.nextRequest()
        #expect(posted.method == "POST" && posted.isSecure && posted.body == Data("hello".utf8))
        #expect(posted.url?.absoluteString == "https://www.example.org/things")
        #expect(server.requests == [asked, posted])
        #expect(server.connectionCount == 2)
    }

    @Test("addresses instead of names, and its own URL, over TLS") func addresses() async throws {
        defer { end() }
        server.handler = { TestResponse(text: $0.target) }
        for address in [
            "https://127.0.0.1/a", "https://localhost/b", "https://[::1]/c",
            server.url("/d", isSecure: true).absoluteString,
        ] {
            let (data, _) = try await session.data(from: try url(address))
            #expect(address.hasSuffix(String(decoding: data, as: UTF8.self)))
        }
    }

    @Test("other addresses over TLS") func otherAddresses() async throws {
        let server = try TestServer(addresses: ["192.0.2.7", "2001:db8::1", "no address,DNS:other.example"])
        let session = URLSession(configuration: server.configuration())
        defer {
            session.invalidateAndCancel()
            server.stop()
            end()
        }
        server.handler = { TestResponse(text: $0["Host"] ?? "-") }
        for host in ["192.0.2.7", "[2001:db8::1]"] {
            let (data, _) = try await session.data(from: try url("https://\(host)/"))
            #expect(String(decoding: data, as: UTF8.self) == host)
        }
        let error = await #expect(throws: URLError.self) { try await session.data(from: try url("https://192.0.2.8/")) }
        #expect(error?.code == .serverCertificateUntrusted)
    }

    @Test("a response that ends with its connection, over TLS") func endsWithConnection() async throws {
        defer { end() }
        server.offersHTTP2 = false
        server.enqueue(.raw(Data("HTTP/1.1 200 OK\r\n\r\nhello".utf8)))
        #expect(try await session.data(from: try url("https://host/")).0 == Data("hello".utf8))
        server.enqueue(
            TestResponse(status: 200, fields: ["Transfer-Encoding": "identity"], body: Data("hello".utf8)).closing())
        #expect(try await session.data(from: try url("https://host/")).0 == Data("hello".utf8))
    }

    @Test("a handler that is set after the end is not kept") func lateHandler() {
        defer { end() }
        server.stop()
        weak let kept: EventRecorder<Int>?
        do {
            let recorder = EventRecorder<Int>()
            kept = recorder
            server.handler = { _ in
                recorder.record(1)
                return TestResponse()
            }
        }
        #expect(kept == nil)
        #expect(server.handler == nil)
    }

    @Test("the queue comes before the handler") func queueAndHandler() async throws {
        defer { end() }
        server.handler = { _ in TestResponse(text: "handler") }
        server.enqueue(TestResponse(status: 503))
        let (_, first) = try await session.data(from: try url("http://host/"))
        #expect((first as? HTTPURLResponse)?.statusCode == 503)
        #expect(try await session.data(from: try url("http://host/")).0 == Data("handler".utf8))
    }

    @Test("a body of another length than its head says", arguments: ["2", "9"]) func otherLength(length: String)
        async throws
    {
        defer { end() }
        server.handler = { _ in TestResponse(status: 200, fields: ["Content-Length": length], body: Data("hello".utf8))
        }
        if length == "2" {
            #expect(try await session.data(from: try url("http://host/")).0 == Data("he".utf8))
        } else {
            let error = await #expect(throws: URLError.self) { try await session.data(from: try url("http://host/")) }
            #expect(error?.code == .networkConnectionLost)
        }
    }

    @Test("a handler that stops its server") func stopsItself() async throws {
        defer { end() }
        let began = ContinuousClock.now
        server.handler = { [server] _ in
            server.stop()
            return TestResponse()
        }
        await #expect(throws: (any Error).self) { try await session.data(from: try url("http://host/")) }
        #expect(ContinuousClock.now - began < .seconds(4))
    }

    @Test("one connection for several requests, until a response closes it") func connections() async throws {
        defer { end() }
        for response in [TestResponse(text: "a"), TestResponse(text: "b").closing(), TestResponse(text: "c")] {
            server.enqueue(response)
        }
        for path in ["a", "b", "c"] { _ = try await session.data(from: try url("http://host/\(path)")) }
        #expect(server.requests.map(\.connection) == [0, 0, 1])
    }

    @Test("bodies in chunks in both directions; responses without a body") func chunks() async throws {
        defer { end() }
        let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        server.handler = { request in
            switch request.target {
            case "/echo": TestResponse(body: request.body).chunked()
            case "/none": TestResponse(status: 204)
            default: TestResponse(status: 304, text: "not sent")
            }
        }
        var request = URLRequest(url: try url("http://host/echo"))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: content)
        let (echo, _) = try await session.data(for: request)
        #expect(echo == content)
        #expect(server.requests.first?["Transfer-Encoding"] == "chunked")
        for path in ["none", "same"] {
            let (data, _) = try await session.data(from: try url("http://host/\(path)"))
            #expect(data.isEmpty)
        }
        request = URLRequest(url: try url("http://host/head"))
        request.httpMethod = "HEAD"
        _ = try await session.data(for: request)
        #expect(server.connectionCount == 1)
    }

    @Test("a request waits for its response") func waits() async throws {
        defer { end() }
        async let data = session.data(from: try url("http://host/"))
        let request = try await server.nextRequest()
        #expect(request.target == "/")
        server.enqueue(TestResponse(text: "late"))
        #expect(try await data.0 == Data("late".utf8))
    }

    @Test("a response is not for a request whose client has given up") func abandoned() async throws {
        defer { end() }
        let first = Task { [session] in
            try await session.data(from: try #require(URL(string: "http://host/first")))
        }
        _ = try await server.nextRequest()
        first.cancel()
        await #expect(throws: (any Error).self) { try await first.value }
        server.enqueue(TestResponse(text: "second"))
        let (data, _) = try await session.data(from: try url("http://host/second"))
        #expect(data == Data("second".utf8))
    }

    // MARK: What goes wrong

    @Test(
        "disconnected, reset and broken off",
        arguments: [TestResponse.Fault.disconnect, .reset],
        [TestResponse.Position.start, .head, .body(3)])
    func faults(fault: TestResponse.Fault, position: TestResponse.Position) async throws {
        defer { end() }
        server.handler = { _ in TestResponse(text: "hello").failing(fault, after: position) }
        for scheme in ["http", "https"] {
            let error = await #expect(throws: URLError.self) {
                try await session.data(from: try url("\(scheme)://host/"))
            }
            #expect(error?.code == .networkConnectionLost, "\(scheme)")
        }
    }

    @Test("a server that stops in the middle", arguments: [TestResponse.Position.start, .head, .body(3)])
    func stalls(position: TestResponse.Position) async throws {
        defer { end() }
        server.enqueue(TestResponse(text: "hello").failing(.stall, after: position))
        var request = URLRequest(url: try url("https://host/"))
        request.timeoutInterval = 0.2
        let error = await #expect(throws: URLError.self) { try await session.data(for: request) }
        #expect(error?.code == .timedOut)
    }

    @Test("a body that comes slowly, and a late head") func slow() async throws {
        defer { end() }
        server.enqueue(TestResponse(body: Data(count: 3000)).throttled(to: 10_000).delayed(by: .milliseconds(100)))
        let began = ContinuousClock.now
        let (data, _) = try await session.data(from: try url("http://host/"))
        #expect(data.count == 3000)
        #expect(ContinuousClock.now - began >= .milliseconds(400))
    }

    // CONN-28: as a client refuses it in responses
    @Test(
        "a CR that does not end a line is refused",
        arguments: [
            "GET /a\rb HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: b\rC: d\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n",
        ])
    func bareCarriageReturn(head: String) async throws {
        let direct = URLSession(configuration: .ephemeral)
        defer {
            direct.invalidateAndCancel()
            end()
        }
        let task = direct.streamTask(withHostName: "127.0.0.1", port: try #require(server.url().port))
        task.resume()
        try await task.write(Data(head.utf8), timeout: 10)
        let (data, _) = try await task.readData(ofMinLength: 13, maxLength: 1000, timeout: 10)
        #expect(data.map { String(decoding: $0, as: UTF8.self).hasPrefix("HTTP/1.1 400 ") } == true)
        #expect(server.requests == [])
    }

    @Test("anything but HTTP") func raw() async throws {
        defer { end() }
        server.enqueue(.raw(Data("SMTP is spoken here\r\n\r\n".utf8)))
        let error = await #expect(throws: URLError.self) { try await session.data(from: try url("http://host/")) }
        #expect(error?.code == .cannotParseResponse || error?.code == .badServerResponse)
    }

    @Test(
        "certificates that are refused",
        arguments: [
            (TestServer.CertificateFault.expired, URLError.Code.serverCertificateHasBadDate),
            (.wrongHost, .serverCertificateUntrusted), (.untrusted, .serverCertificateHasUnknownRoot),
        ])
    func certificates(fault: TestServer.CertificateFault, code: URLError.Code) async throws {
        defer { end() }
        server.certificateFault = fault
        server.handler = { _ in TestResponse(text: "hello") }
        let error = await #expect(throws: URLError.self) { try await session.data(from: try url("https://host/")) }
        #expect(error?.code == code)
        server.certificateFault = nil
        _ = try await session.data(from: try url("https://host/"))
    }

    @Test("other sessions do not trust it") func others() async throws {
        defer { end() }
        server.handler = { _ in TestResponse(text: "hello") }
        let other = URLSession(configuration: .ephemeral)
        defer { other.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            try await other.data(from: server.url(isSecure: true))
        }
        #expect(error?.code == .serverCertificateHasUnknownRoot || error?.code == .serverCertificateUntrusted)
    }

    @Test("a request that does not come, and a task that is cancelled") func noRequest() async throws {
        defer { end() }
        await #expect(throws: TestServerError.noRequest) { try await server.nextRequest(within: .milliseconds(10)) }
        let waiting = Task { try await server.nextRequest() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test("stop ends what waits") func stop() async throws {
        let waiting = Task { [session] in try await session.data(from: server.url()) }
        _ = try await server.nextRequest()
        let next = Task { try await server.nextRequest() }
        end()
        await #expect(throws: (any Error).self) { try await waiting.value }
        await #expect(throws: TestServerError.noRequest) { try await next.value }
        #expect(server.requests.count == 1)
    }

    @Test("a wait without time ends") func noTime() async throws {
        for _ in 0..<2000 {
            await #expect(throws: TestServerError.noRequest) { try await server.nextRequest(within: .zero) }
        }
        end()
    }

    @Test("a response and a wait that never end") func longestTimes() async throws {
        let waiting = Task { try await server.nextRequest(within: .seconds(Int64.max)) }
        server.enqueue(TestResponse().delayed(by: .seconds(Int64.max)))
        let load = Task { [session] in try await session.data(from: server.url()) }
        #expect(try await waiting.value.target == "/")
        end()
        await #expect(throws: URLError.self) { try await load.value }
    }

    @Test("a head without an end is given up") func endlessHead() async throws {
        defer { end() }
        server.handler = { _ in TestResponse(text: "answered") }
        var request = URLRequest(url: server.url())
        for number in 0..<40 {
            request.setValue(String(repeating: "x", count: 50_000), forHTTPHeaderField: "X-Long-\(number)")
        }
        let long = request
        let error = await #expect(throws: URLError.self) { try await session.data(for: long) }
        #expect(error?.code == .networkConnectionLost)
        #expect(server.requests == [])
    }

    // MARK: WebSocket

    @Test("a WebSocket, in clear and over TLS", arguments: ["ws", "wss"]) func webSocket(scheme: String) async throws {
        defer { end() }
        server.enqueue(
            .webSocket(subprotocol: "chat") { socket in
                while let message = try await socket.receive() { try await socket.send(message) }
            })
        let task = session.webSocketTask(with: try url("\(scheme)://example.com/chat"), protocols: ["chat", "other"])
        task.resume()
        let long = String(repeating: "ä", count: 70_000)
        try await task.send(.string(long))
        try await task.send(.data(Data(count: 200)))
        guard case .string(let echo) = try await task.receive(), case .data(let data) = try await task.receive() else {
            Issue.record("other kinds of messages")
            return
        }
        #expect(echo == long && data == Data(count: 200))
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            task.sendPing { error in if let error { done.resume(throwing: error) } else { done.resume() } }
        }
        task.cancel(with: .goingAway, reason: nil)
        #expect(try await server.nextRequest()["Sec-WebSocket-Protocol"] == "chat, other")
    }

    @Test("more WebSockets at once than a process has threads of dispatch queues") func manyWebSockets() async throws {
        defer { end() }
        server.handler = { _ in
            .webSocket { socket in
                while let message = try await socket.receive() { try await socket.send(message) }
            }
        }
        let address = try url("ws://example.com/")
        let tasks = (0..<300).map { _ in session.webSocketTask(with: address) }
        for task in tasks { task.resume() }
        for (index, task) in tasks.enumerated() { try await task.send(.string("\(index)")) }
        for (index, task) in tasks.enumerated() {
            guard case .string(let text) = try await task.receive() else {
                Issue.record("another kind of message")
                continue
            }
            #expect(text == "\(index)")
        }
        for task in tasks { task.cancel() }
    }

    @Test("a WebSocket that the server closes, and one that it breaks") func closed() async throws {
        defer { end() }
        server.enqueue(.webSocket { try await $0.close(code: 4000, reason: "enough") })
        server.enqueue(.webSocket { try await $0.sendRaw(Data([0xFF, 0xFF])) })
        let reason = String(repeating: "é", count: 100)
        server.enqueue(.webSocket { try await $0.close(code: 4001, reason: reason) })
        for code in [4000, 1006, 4001] {
            let task = session.webSocketTask(with: try url("ws://example.com/"))
            task.resume()
            await #expect(throws: (any Error).self) { try await task.receive() }
            if code != 1006 { #expect(task.closeCode.rawValue == code) }
            // As much of the reason as fits.
            if code == 4001 { #expect(task.closeReason == Data(reason.prefix(61).utf8)) }
            task.cancel()
        }
    }
}
