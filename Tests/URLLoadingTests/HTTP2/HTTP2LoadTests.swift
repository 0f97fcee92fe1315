import Foundation
import LoadingSemantics
import LoadingTestSupport
import Synchronization
import TestSupport
import Testing
import URLLoading

/// Loads over HTTP/2 with various server behaviours.
@Suite(.leavesNothing) struct HTTP2LoadTests {
    private typealias FrameType = HTTP2ServerConnection.FrameType

    private func server(
        _ script: @escaping @Sendable (HTTP2ServerConnection, _ number: Int) throws -> Void
    ) throws -> ScriptedServer {
        try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2", "http/1.1"] }) {
            try script(HTTP2ServerConnection($0), $0.index)
        }
    }

    private func using<Result>(
        on stepped: SteppedLoop? = nil, _ body: (URLSession) async throws -> Result
    ) async throws -> Result {
        let session = URLSession {
            $0.urlCache = nil
            $0.loop = stepped?.loop
        }
        defer { session.invalidateAndCancel() }
        return try await body(session)
    }

    private func text(
        _ session: URLSession, _ server: ScriptedServer, _ method: String = "GET", body: Data? = nil
    ) async throws -> String {
        var request = URLRequest(url: server.url("/", host: "localhost"))
        request.httpMethod = method
        request.httpBody = body
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    // CONN-5, S-6: no SPDY, and no extension of NPN (13172)
    @Test("the ALPN protocols of a handshake") func offers() async throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in .text("x") }
        defer { server.stop() }
        try await using { session async throws in _ = try await text(session, server) }
        let hello = try #require(server.connections.first?.clientHello)
        #expect(hello.applicationProtocols == ["h2", "http/1.1"])
        #expect(hello.extensions[13_172] == nil)
    }

    // CONN-2, CONN-3, S-9
    @Test("many at once, answered in another order") func many() async throws {
        let server = try server { http2, _ in
            let streams = try (0..<10).map { _ in try http2.readRequest() }
            for stream in streams.reversed() { try http2.respond(on: stream, body: "\(stream)") }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<10 { group.addTask { try await text(session, server) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(texts == Set(stride(from: 1, to: 20, by: 2).map { "\($0)" }))
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-4: any method, since the server has not looked at it
    @Test("a refused request is repeated", arguments: ["GET", "POST"]) func refused(method: String) async throws {
        let server = try server { http2, _ in
            try http2.reset(try http2.readRequest(), 7)
            try http2.respond(on: try http2.readRequest(), body: "again")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        #expect(
            try await using { try await text($0, server, method, body: method == "POST" ? Data("b".utf8) : nil) }
                == "again")
        #expect(server.connectionCount == 1)
    }

    // CONN-4: but not for ever
    @Test("a server that refuses everything") func refusesAll() async throws {
        let requests = Watched(0)
        let server = try server { http2, _ in
            while true {
                let stream = try http2.readRequest()
                requests.withValue { $0 += 1 }
                try http2.reset(stream, 7)
            }
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        try await using(on: stepped) { session async throws in
            let load = Task { try await text(session, server) }
            // Twice at once, and then after ever longer pauses.
            for (index, pause) in [100, 200, 400, 800, 1000, 1000, 1000].map(TimeLimits.milliseconds).enumerated() {
                try await stepped.waitForTimer(in: pause)
                #expect(requests.current == 3 + index)
                try await stepped.step(by: pause)
            }
            let error = await #expect(throws: URLError.self) { try await load.value }
            #expect(error?.code == .networkConnectionLost)
        }
        #expect(requests.current == 10)
    }

    // CONN-4: those below the last stream go on, those above go elsewhere
    @Test("GOAWAY") func goAway() async throws {
        let server = try server { http2, number in
            let first = try http2.readRequest()
            guard number == 0 else {
                try http2.respond(on: first, body: "second connection")
                return _ = try http2.connection.waitForClose()
            }
            _ = try http2.readRequest()
            try http2.goAway(lastStream: first)
            try http2.respond(on: first, body: "first connection")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            async let one = text(session, server, "POST", body: Data("1".utf8))
            async let two = text(session, server, "POST", body: Data("2".utf8))
            #expect(try await [one, two].sorted() == ["first connection", "second connection"])
        }
        #expect(server.connectionCount == 2)
        try await server.finish()
    }

    // CONN-10: what was answered in part, or not refused, is not sent again unless it is safe
    @Test("a stream that is reset", arguments: [0, 2, 8, 11] as [UInt32]) func reset(code: UInt32) async throws {
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream, fields: [("content-length", "10")])
            try http2.sendBody(Array("half".utf8), on: stream, ends: false)
            try http2.reset(stream, code)
            try http2.respond(on: try http2.readRequest(), body: "other")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let error = await #expect(throws: URLError.self) { try await text(session, server) }
            #expect(error?.code == .networkConnectionLost)
            #expect(try await text(session, server) == "other")
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-10: ENHANCE_YOUR_CALM
    @Test("a server that has too much to do") func overload() async throws {
        let server = try server { http2, _ in
            try http2.respond(on: try http2.readRequest(), body: "first")
            try http2.reset(try http2.readRequest(), 11)
            try http2.respond(on: try http2.readRequest(), body: "second")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        try await using(on: stepped) { session async throws in
            #expect(try await text(session, server) == "first")
            async let second = text(session, server)
            // Not at once.
            try await stepped.waitForTimer(in: stepped.limits.firstRetryPause)
            try await stepped.step(by: stepped.limits.firstRetryPause)
            #expect(try await second == "second")
        }
        #expect(server.connectionCount == 1)
    }

    // RFC 9113 §7: HTTP_1_1_REQUIRED
    @Test("a server that wants HTTP/1.1 for it") func requiresHTTP1() async throws {
        let server = try ScriptedServer(
            tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2", "http/1.1"] }
        ) { connection in
            guard connection.index == 0 else {
                for _ in 0..<2 {
                    _ = try connection.readRequest()
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
                }
                return _ = try connection.waitForClose()
            }
            let http2 = try HTTP2ServerConnection(connection)
            try http2.reset(try http2.readRequest(), 13)
            try connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            for _ in 0..<2 { #expect(try await text(session, server, "POST", body: Data("x".utf8)) == "old") }
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-1: what the server allows at once, and no more
    @Test("a server that takes one at a time") func oneAtATime() async throws {
        let server = try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) {
            let http2 = try HTTP2ServerConnection($0, settings: [(3, 1)])
            // The limit holds once it is acknowledged.
            let first = try http2.readRequest()
            try http2.respond(on: first, body: "\(first)")
            for _ in 0..<4 {
                let stream = try http2.readRequest()
                try http2.respond(on: stream, body: "\(stream)")
            }
            try $0.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server) == "1")
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 { group.addTask { try await text(session, server) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(texts == ["3", "5", "7", "9"])
        }
        #expect(server.connectionCount == 1)
    }

    // S-42: the server gets RST_STREAM
    @Test("cancelled") func cancelled() async throws {
        let isReset = Signal("a reset stream")
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream)
            try http2.sendBody(Array("a".utf8), on: stream, ends: false)
            let frame = try http2.readFrame(FrameType.reset)
            if frame.stream == stream, frame.payload == [0, 0, 0, 8] { isReset.fire() }
            try http2.respond(on: try http2.readRequest(), body: "other")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let (bytes, _) = try await session.bytes(from: server.url("/", host: "localhost"))
            var iterator = bytes.makeAsyncIterator()
            #expect(try await iterator.next() == UInt8(ascii: "a"))
            bytes.task.cancel()
            try await isReset.wait()
            #expect(try await text(session, server) == "other")
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-22: without a reader flow control blocks the server
    @Test("a reader that does not read") func backPressure() async throws {
        let sent = Watched(0)
        let isFull = Signal("a full window")
        let isOpenedEarly = Watched(false)
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream)
            var window = 0
            // What was allowed before the request, and with it.
            while window < 1 << 20 {
                let piece = [UInt8](repeating: 0, count: 16_384)
                try http2.sendBody(piece, on: stream, ends: false)
                window += piece.count
                sent.withValue { $0 += piece.count }
            }
            // The client sends no window updates until the body is read.
            try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 7, count: 8))
            while true {
                let frame = try http2.readFrame()
                if frame.type == FrameType.ping { break }
                if frame.type == FrameType.windowUpdate, frame.stream == stream {
                    isOpenedEarly.withValue { $0 = true }
                }
            }
            isFull.fire()
            while try http2.readFrame(FrameType.windowUpdate).stream != stream {}
            sent.withValue { $0 = -1 }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: server.url("/", host: "localhost"))
        try await isFull.wait()
        #expect(!isOpenedEarly.current)
        var iterator = bytes.makeAsyncIterator()
        for _ in 0..<(1 << 20) { _ = try await iterator.next() }
        try await sent.wait(for: "the window to open") { $0 == -1 ? () : nil }
    }

    // ERR-5: it fails at once
    @Test(
        "a server that does not keep to the rules",
        arguments: [
            [0, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 1, 4, 0, 0, 0, 1],
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [0, 0, 3, 1, 5, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF],
        ] as [[UInt8]])
    func rules(bytes: [UInt8]) async throws {
        let server = try server { http2, number in
            let stream = try http2.readRequest()
            if number == 0 { try http2.connection.send(bytes) } else { try http2.respond(on: stream, body: "well") }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let error = await #expect(throws: URLError.self) { try await text(session, server) }
            #expect(error?.code == .cannotParseResponse || error?.code == .networkConnectionLost)
            #expect(try await text(session, server) == "well")
        }
    }

    // CONN-10: one try, and the server has gone
    @Test("the server has closed the idle connection") func closedWhileIdle() async throws {
        let mayClose = Signal("the first answer")
        let server = try server { http2, number in
            let stream = try http2.readRequest()
            try http2.respond(on: stream, body: "\(number)")
            if number == 0 { return try http2.connection.wait(for: mayClose) }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server, "POST", body: Data("x".utf8)) == "0")
            mayClose.fire()
            try await server.connection(0).waitUntilClosed()
            #expect(try await text(session, server, "POST", body: Data("x".utf8)) == "1")
        }
    }

    // CONN-1: when the first connection has shown that the server supports only HTTP/1.1, the others are made
    @Test("a server that supports only HTTP/1.1") func onlyHTTP1() async throws {
        let count = Watched(0)
        let areAll = Signal("six connections with a request")
        let server = try ScriptedServer(
            tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["http/1.1"] }
        ) { connection in
            _ = try connection.readRequest()
            if count.withValue({
                $0 += 1; return $0
            }) == 6 {
                areAll.fire()
            }
            try connection.wait(for: areAll)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
        }
        defer { server.stop() }
        try await using { session async throws in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<6 { group.addTask { try await text(session, server) } }
                for try await text in group { #expect(text == "x") }
            }
        }
        #expect(server.connectionCount == 6)
    }

    // CONN-24: requests that wait for the connection fail with it
    @Test("no connection for any request") func noConnection() async throws {
        let server = try ScriptedServer { $0.close() }
        defer { server.stop() }
        try await using { session async throws in
            let url = try #require(URL(string: "https://localhost:\(server.port)/"))
            let codes = await withTaskGroup(of: URLError.Code?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        do { _ = try await session.data(from: url) } catch { return (error as? URLError)?.code }
                        return nil
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.count == 20 && Set(codes).count == 1 && codes[0] != nil, "\(codes)")
        }
    }

    /// Answers a response disposition when the test releases it.
    private final class LateDelegate: NSObject, URLSessionDataDelegate, Sendable {
        let answers = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])
        let sizes = Watched<[Int]>([])
        private let size = Watched(0)

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            answers.withValue { $0.append(completionHandler) }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            size.withValue { $0 += data.count }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let count = size.withValue { size in
                defer { size = 0 }
                return size
            }
            sizes.withValue { $0.append(error == nil ? count : -1) }
        }
    }

    // CONN-22: unread data of an ended response is returned to the connection's window
    @Test("answered after the whole request") func answeredLate() async throws {
        let count = 48
        let size = 63 * 16_384
        let complete = Watched(0)
        let server = try server { http2, _ in
            for _ in 0..<count {
                let stream = try http2.readRequest()
                try http2.sendHead(on: stream)
                for piece in 1...63 {
                    try http2.sendBody([UInt8](repeating: 0, count: 16_384), on: stream, ends: piece == 63)
                }
                // Its answer shows that the client has all.
                try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 0, count: 8))
                _ = try http2.readFrame(FrameType.ping)
                complete.withValue { $0 += 1 }
            }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = LateDelegate()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        for number in 1...count {
            session.dataTask(with: server.url("/", host: "localhost")).resume()
            try await complete.wait(for: "response \(number)") { $0 >= number ? () : nil }
            let answer = try await delegate.answers.wait(for: "the question") {
                $0.count >= number ? $0[number - 1] : nil
            }
            answer(.allow)
            try await delegate.sizes.wait(for: "the end of \(number)") { $0.count >= number ? () : nil }
        }
        #expect(delegate.sizes.current == [Int](repeating: size, count: count))
        #expect(server.connectionCount == 1)
    }

    // CONN-4, CONN-10, T-38: a response begins once
    @Test("GOAWAY during a response whose stream it does not cover", arguments: [true, false])
    func goAwayInTheMiddle(isGOAWAY: Bool) async throws {
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream)
            try http2.sendBody(Array("half".utf8), on: stream, ends: false)
            if isGOAWAY { try http2.goAway(lastStream: 0) } else { try http2.reset(stream, 13) }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let error = await #expect(throws: URLError.self) { try await text(session, server) }
            #expect(error?.code == .networkConnectionLost)
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-4: of a file nothing was read yet
    @Test("a file is sent again after a refused request") func refusedFile() async throws {
        let server = try server { http2, number in
            if number == 0 {
                let stream = try http2.readRequest()
                try http2.goAway(lastStream: 0)
                _ = stream
                return _ = try http2.connection.waitForClose()
            }
            let stream = try http2.readRequest()
            var size = 0
            while true {
                let frame = try http2.readFrame(FrameType.data)
                size += frame.payload.count
                if frame.flags & 1 == 1 { break }
            }
            try http2.respond(on: stream, body: "\(size)")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write([UInt8].pattern(count: 30_000), to: "body")
        try await using { session async throws in
            var request = URLRequest(url: server.url("/", host: "localhost"))
            request.httpMethod = "POST"
            let (data, _) = try await session.upload(for: request, fromFile: file)
            #expect(String(decoding: data, as: UTF8.self) == "30000")
        }
        #expect(server.connectionCount == 2)
    }

    // T-19: RFC 9218, to a server that goes by it
    @Test("a priority that changes", arguments: [(nil, "u=1"), ("u=5, i", "u=1, i"), ("u=5, i=?0", "u=1")])
    func priority(said: String?, expected: String) async throws {
        let server = try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) {
            let http2 = try HTTP2ServerConnection($0, settings: [(9, 1)])
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream)
            try http2.sendBody(Array("a".utf8), on: stream, ends: false)
            let update = try http2.readFrame(FrameType.priorityUpdate)
            try http2.sendBody(Array(update.payload.dropFirst(4)), on: stream, ends: true)
            try $0.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            var request = URLRequest(url: server.url("/", host: "localhost"))
            request.setValue(said, forHTTPHeaderField: "Priority")
            let (bytes, _) = try await session.bytes(for: request)
            var iterator = bytes.makeAsyncIterator()
            _ = try await iterator.next()
            bytes.task.priority = URLSessionTask.highPriority
            var rest: [UInt8] = []
            while let byte = try await iterator.next() { rest.append(byte) }
            #expect(String(decoding: rest, as: UTF8.self) == expected)
        }
    }

    // T-19
    @Test("a priority that means the same to the server is not sent again") func samePriority() async throws {
        let server = try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) {
            let http2 = try HTTP2ServerConnection($0, settings: [(9, 1)])
            /// Answers the next request with the number of updates before it.
            func sendUpdates() throws {
                var updates = 0
                var frame = try http2.readFrame()
                while frame.type != FrameType.headers {
                    if frame.type == FrameType.priorityUpdate { updates += 1 }
                    frame = try http2.readFrame()
                }
                try http2.respond(on: frame.stream, body: "\(updates)")
            }
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream)
            try http2.sendBody(Array("a".utf8), on: stream, ends: false)
            try sendUpdates()
            let update = try http2.readFrame(FrameType.priorityUpdate)
            try http2.sendBody(Array(update.payload.dropFirst(4)), on: stream, ends: false)
            try sendUpdates()
            try http2.sendBody([], on: stream, ends: true)
            try $0.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let url = server.url("/", host: "localhost")
            let (bytes, _) = try await session.bytes(for: URLRequest(url: url))
            var iterator = bytes.makeAsyncIterator()
            _ = try await iterator.next()
            // The server knows the default.
            bytes.task.priority = URLSessionTask.defaultPriority + 0.01
            let (before, _) = try await session.data(from: url)
            #expect(String(decoding: before, as: UTF8.self) == "0")
            bytes.task.priority = URLSessionTask.highPriority
            var update: [UInt8] = []
            while update.count < 3, let byte = try await iterator.next() { update.append(byte) }
            #expect(String(decoding: update, as: UTF8.self) == "u=1")
            bytes.task.priority = URLSessionTask.highPriority + 0.01
            let (updates, _) = try await session.data(from: url)
            #expect(String(decoding: updates, as: UTF8.self) == "0")
            let end = try await iterator.next()
            #expect(end == nil)
        }
    }

    // CONN-23: the body waits for the server's word, and does not go without it
    @Test("a body with Expect: 100-continue", arguments: [true, false]) func expect(isWanted: Bool) async throws {
        let hasCome = Watched(false)
        let isReset = Signal("the end of the request")
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            guard isWanted else {
                try http2.sendHead(on: stream, status: 417)
                try http2.sendBody(Array("no".utf8), on: stream, ends: true)
                while true {
                    let frame = try http2.readFrame()
                    if frame.type == FrameType.data { hasCome.withValue { $0 = true } }
                    if frame.type == FrameType.reset { break }
                }
                isReset.fire()
                return _ = try http2.connection.waitForClose()
            }
            try http2.sendHead(on: stream, status: 100)
            let body = try http2.readFrame(FrameType.data)
            try http2.respond(on: stream, body: String(decoding: body.payload, as: UTF8.self))
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            var request = URLRequest(url: server.url("/", host: "localhost"))
            request.httpMethod = "POST"
            request.httpBody = Data("body".utf8)
            request.setValue("100-continue", forHTTPHeaderField: "Expect")
            let (data, response) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == (isWanted ? "body" : "no"))
            #expect((response as? HTTPURLResponse)?.statusCode == (isWanted ? 200 : 417))
            if isWanted { return }
            // Nothing of the body comes before the end.
            try await isReset.wait()
            #expect(!hasCome.current)
        }
    }

    // RFC 9113 §8.1: to stop in the midst of a body cannot be said, so both would wait for each other
    @Test("a server that finds fault, and ends when it has read all") func earlyFault() async throws {
        let body = Data(repeating: 0x61, count: 100_000)
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream, status: 400)
            // The client has read that when it answers, and could not send all before.
            try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 7, count: 8))
            var count = 0
            var isWhole = false
            var isAnswered = false
            while !isWhole || !isAnswered {
                let frame = try http2.readFrame()
                if frame.type == FrameType.ping {
                    isAnswered = true
                    for stream in [0, stream] { try http2.send(FrameType.windowUpdate, stream: stream, [0, 1, 0, 0]) }
                }
                guard frame.type == FrameType.data else { continue }
                count += frame.payload.count
                isWhole = frame.flags & 1 != 0
            }
            try http2.sendBody(Array("\(count)".utf8), on: stream, ends: true)
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            var request = URLRequest(url: server.url("/", host: "localhost"))
            request.httpMethod = "POST"
            request.httpBody = body
            let (data, response) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == "\(body.count)")
            #expect((response as? HTTPURLResponse)?.statusCode == 400)
        }
    }

    /// Accepts each server, and answers the first challenge about a user when it may.
    private final class SlowDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        let isAsked = Signal("a challenge or a redirect")
        let mayAnswer = Signal("the answer")
        let isAccepting: Bool

        init(isAccepting: Bool) { self.isAccepting = isAccepting }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic else {
                return (.performDefaultHandling, nil)
            }
            isAsked.fire()
            try? await mayAnswer.wait()
            let credential = URLCredential(user: "u", password: "p", persistence: .none)
            return isAccepting ? (.useCredential, credential) : (.rejectProtectionSpace, nil)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? {
            isAsked.fire()
            try? await mayAnswer.wait()
            return isAccepting ? request : nil
        }
    }

    // AUTH-4, R-6, RFC 9113 §8.1: the body waits for the answer, and the response may still be wanted
    @Test("a body whose response is a challenge or a redirect", arguments: [401, 307], [true, false])
    func bodyDuringAQuestion(status: Int, isAccepting: Bool) async throws {
        let size = 100_000
        // What the client may send before it is asked.
        let window = 65_535
        let delegate = SlowDelegate(isAccepting: isAccepting)
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            var count = 0
            while count < window { count += try http2.readFrame(FrameType.data).payload.count }
            try http2.sendHead(
                on: stream, status: status, fields: [("www-authenticate", "Basic realm=\"x\""), ("location", "/other")])
            try http2.connection.wait(for: delegate.isAsked)
            // Room for the rest, which would come before the answer to the second PING.
            for _ in 0..<2 {
                for stream in [0, stream] { try http2.send(FrameType.windowUpdate, stream: stream, [0, 1, 0, 0]) }
                try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 7, count: 8))
                while true {
                    let frame = try http2.readFrame()
                    #expect(frame.type != FrameType.data)
                    if frame.type == FrameType.ping { break }
                }
            }
            delegate.mayAnswer.fire()
            if isAccepting {
                #expect(try http2.readFrame(FrameType.reset).stream == stream)
                let again = try http2.readRequest()
                try http2.send(FrameType.windowUpdate, stream: again, [0, 1, 0, 0])
                count = 0
                while count < size { count += try http2.readFrame(FrameType.data).payload.count }
                try http2.respond(on: again, body: "\(count)")
            } else {
                while count < size { count += try http2.readFrame(FrameType.data).payload.count }
                try http2.sendBody(Array("\(count)".utf8), on: stream, ends: true)
            }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let session = URLSession(delegate) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url("/", host: "localhost"))
        request.httpMethod = "POST"
        request.httpBody = Data(repeating: 0x61, count: size)
        let (data, response) = try await session.data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "\(size)")
        #expect((response as? HTTPURLResponse)?.statusCode == (isAccepting ? 200 : status))
    }

    // CONN-18: what is on the old connection goes on, and what is new does not go there
    @Test("after a flush") func flush() async throws {
        let hasRequest = Signal("the first request")
        let mayEnd = Signal("the second answer")
        let server = try server { http2, number in
            let stream = try http2.readRequest()
            if number == 0 {
                hasRequest.fire()
                try http2.connection.wait(for: mayEnd)
            }
            try http2.respond(on: stream, body: "\(number)")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            async let old = text(session, server)
            try await hasRequest.wait()
            await session.flush()
            #expect(try await text(session, server) == "1")
            mayEnd.fire()
            #expect(try await old == "0")
        }
        #expect(server.connectionCount == 2)
    }

    // S-66
    @Test("DATA frames that arrive together are delivered together", arguments: [true, false])
    func together(isAnnounced: Bool) async throws {
        let isAnswered = Signal("the client's answer to the head")
        let pieces = (0..<8).map { [UInt8](repeating: UInt8(ascii: "a") + $0, count: 1024) }
        let server = try server { http2, _ in
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream, fields: isAnnounced ? [("content-length", "8192")] : [])
            try http2.connection.wait(for: isAnswered)
            try http2.send(
                pieces.indices.map { index in
                    HTTP2ServerConnection.Frame(
                        type: FrameType.data, flags: index == 7 ? 1 : 0, stream: stream, payload: pieces[index])
                })
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { _, reply in
            reply(.allow)
            isAnswered.fire()
        }
        let session = URLSession(delegate) { $0.urlCache = nil }
        session.dataTask(with: server.url("/", host: "localhost")).resume()
        session.finishTasksAndInvalidate()
        let body = String(decoding: pieces.joined(), as: UTF8.self)
        _ = try await delegate.callsUntilInvalid()
        // As they came: in what that gives pieces are joined.
        #expect(delegate.calls.events.filter { if case .data = $0 { true } else { false } } == [.data(1, body)])
    }
}
