import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// HTTP/2 connections that end or stall before their first response.
@Suite(.leavesNothing) struct HTTP2BeginningTests {
    private typealias FrameType = HTTP2ServerConnection.FrameType

    private func server(
        settings: [(UInt16, UInt32)]? = [],
        _ script: @escaping @Sendable (HTTP2ServerConnection, _ number: Int) throws -> Void
    ) throws -> ScriptedServer {
        try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) { connection in
            do {
                try script(HTTP2ServerConnection(connection, settings: settings), connection.index)
            } catch  where connection.record.end != nil {
                return
            }
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

    /// A request with a number in its body, or one without.
    private func text(_ session: URLSession, _ server: ScriptedServer, posting number: Int? = nil) async throws
        -> String
    {
        var request = URLRequest(url: server.url("/", host: "localhost"))
        if let number {
            request.httpMethod = "POST"
            request.httpBody = Data("\(number)".utf8)
        }
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    enum Beginning: CaseIterable {
        /// Without initial SETTINGS, which RFC 9113 §3.4 requires.
        case withoutSettings
        case behindSettings
    }

    // CONN-4: GET and POST alike, since it has looked at none of them
    @Test("GOAWAY before the first response leads to one retry on another connection", arguments: Beginning.allCases)
    func goAwayAtOnce(beginning: Beginning) async throws {
        let served = EventRecorder<String>()
        let server = try server(settings: nil) { http2, number in
            if number > 0 || beginning == .behindSettings { try http2.send(FrameType.settings, stream: 0) }
            if number == 0 {
                try http2.goAway(lastStream: 0)
                return _ = try http2.connection.waitForClose()
            }
            var count = 0
            while count < 4 {
                let frame = try http2.readFrame(FrameType.data)
                guard !frame.payload.isEmpty else { continue }
                let body = String(decoding: frame.payload, as: UTF8.self)
                served.record(body)
                count += 1
                try http2.respond(on: frame.stream, body: body)
            }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<4 { group.addTask { try await text(session, server, posting: number) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.sorted() == ["0", "1", "2", "3"])
        }
        #expect(served.events.sorted() == ["0", "1", "2", "3"])
        #expect(server.connectionCount == 2)
    }

    // CONN-4: but not for ever
    @Test("GOAWAY before the first response on each connection", arguments: Beginning.allCases)
    func goAwayForEver(beginning: Beginning) async throws {
        let server = try server(settings: nil) { http2, _ in
            if beginning == .behindSettings { try http2.send(FrameType.settings, stream: 0) }
            try http2.goAway(lastStream: 0)
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        try await using(on: stepped) { session async throws in
            let codes = try await stepped.skippingPauses(within: stepped.limits.longestRetryPause) {
                await withTaskGroup(of: URLError.Code?.self) { group in
                    for number in 0..<10 {
                        group.addTask {
                            do { _ = try await text(session, server, posting: number) } catch {
                                return (error as? URLError)?.code
                            }
                            return nil
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(codes == [URLError.Code?](repeating: .networkConnectionLost, count: 10))
        }
        // Each was on ten of them, most of the time the same ten.
        #expect((10...100).contains(server.connectionCount))
    }

    // CONN-1: waiting requests are sent when allowed
    @Test("a server that allows no request at first") func noneAtFirst() async throws {
        let isTooEarly = Watched(false)
        let server = try server(settings: [(3, 0)]) { http2, number in
            // The first was on its way before the limit was known.
            try http2.reset(try http2.readRequest(), 7)
            try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 0, count: 8))
            while true {
                let frame = try http2.readFrame()
                if frame.type == FrameType.headers { isTooEarly.withValue { $0 = true } }
                if frame.type == FrameType.ping { break }
            }
            try http2.send(FrameType.settings, stream: 0, [0, 3, 0, 0, 0, 2])
            for _ in 0..<5 { try http2.respond(on: try http2.readRequest(), body: "\(number)") }
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server, posting: 1) == "0")
            for _ in 0..<4 { #expect(try await text(session, server) == "0") }
        }
        // Nothing comes before it may.
        #expect(!isTooEarly.current)
        #expect(server.connectionCount == 1)
    }

    private func shortTimeoutSession() -> URLSession {
        URLSession {
            $0.urlCache = nil
            $0.timeoutIntervalForRequest = 0.5
        }
    }

    // CONN-15, CONN-24: waiting for the server counts as silence
    @Test("a server that never allows a request") func noneEver() async throws {
        let server = try server(settings: [(3, 0)]) { http2, _ in
            while true { try http2.reset(try http2.readRequest(), 7) }
        }
        defer { server.stop() }
        let session = shortTimeoutSession()
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let codes = await withTaskGroup(of: URLError.Code?.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        do { _ = try await text(session, server) } catch { return (error as? URLError)?.code }
                        return nil
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes == [.timedOut, .timedOut, .timedOut])
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-15: the limit decreases while others wait, and their timeout starts when they are first
    @Test("a server that allows no more requests") func noMore() async throws {
        let server = try server(settings: [(3, 1)]) { http2, _ in
            let first = try http2.readRequest()
            try http2.respond(on: first, body: "first")
            let second = try http2.readRequest()
            try http2.send(FrameType.settings, stream: 0, [0, 3, 0, 0, 0, 0])
            try http2.respond(on: second, body: "second")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let session = shortTimeoutSession()
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server) == "first")
        let results = await withTaskGroup(of: String.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    do { return try await text(session, server) } catch {
                        return "\((error as? URLError)?.code.rawValue ?? 0)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.sorted() == ["-1001", "-1001", "second"])
        #expect(server.connectionCount == 1)
    }

    // CONN-15: also for a request whose HTTP/3 attempt gets no answer
    @Test("a server that allows no more requests, and does not support HTTP/3", .needsHTTP3)
    func noMoreAndNotElsewhere() async throws {
        let server = try server(settings: [(3, 1)]) { http2, _ in
            let first = try http2.readRequest()
            try http2.send(FrameType.settings, stream: 0, [0, 3, 0, 0, 0, 0])
            try http2.respond(on: first, body: "first")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let session = shortTimeoutSession()
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server) == "first")
        var request = URLRequest(url: server.url("/", host: "localhost"))
        request.assumesHTTP3Capable = true
        let error = await #expect(throws: URLError.self) { try await session.data(for: request) }
        #expect(error?.code == .timedOut)
        #expect(server.connectionCount == 1)
    }

    enum Ending: CaseIterable {
        case orderly, abrupt, reset
    }

    // ERR-5, CONN-10: there is nothing left to try, and the failure is reported once
    @Test(
        "a server that closes when the handshake is through", arguments: Ending.allCases, ["h2", "http/1.1"])
    func closed(ending: Ending, version: String) async throws {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = [version] }
        let server = try ScriptedServer(tls: tls) { connection in
            switch ending {
            case .orderly: connection.close()
            case .abrupt: connection.closeAbruptly()
            case .reset: connection.reset()
            }
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url("/", host: "localhost"))
                == [.failed(.networkConnectionLost), .invalid])
        // What was not out yet when the connection closed goes over another, three times in all.
        #expect((1...3).contains(server.connectionCount))
    }
}
