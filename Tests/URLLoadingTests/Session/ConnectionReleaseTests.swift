import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Connections are reused or closed after every kind of exchange.
@Suite(.leavesNothing) struct ConnectionReleaseTests {
    // R-23, CONN-1: head and body of each redirect come in one piece
    @Test("a long chain of redirects uses one connection") func aLongChainOfRedirectsUsesOneConnection()
        async throws
    {
        let server = try ScriptedServer.answering { request in
            guard let step = Int(request.path.dropFirst()), step < 15 else { return .text("here") }
            return CannedResponse(302, body: .bytes(Array("moved".utf8))).with(field: "Location", "/\(step + 1)")
        }
        defer { server.stop() }
        let session = URLSession { $0.timeoutIntervalForRequest = 5 }
        let (body, _) = try await session.data(from: server.url("/0"))
        #expect(String(decoding: body, as: UTF8.self) == "here")
        #expect(server.connectionCount == 1)
        session.invalidateAndCancel()
    }

    // the redirect is followed without the rest of the body
    @Test("a redirect with an endless body closes its connection")
    func aRedirectWithAnEndlessBodyClosesItsConnection() async throws {
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                guard request.path == "/start" else {
                    try connection.send(.text("here"), to: request)
                    continue
                }
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 5\r\n\r\n")
                try connection.waitForClose()
                return
            }
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let session = URLSession {
            $0.httpMaximumConnectionsPerHost = 1
            $0.loop = stepped.loop
        }
        async let loaded = session.data(from: server.url("/start"))
        try await stepped.waitForTimer(in: TimeLimits.seconds(1))
        #expect(server.connectionCount == 1)
        try await stepped.step(by: TimeLimits.seconds(1))
        let (body, _) = try await loaded
        #expect(String(decoding: body, as: UTF8.self) == "here")
        #expect(server.connectionCount == 2)
        session.invalidateAndCancel()
    }

    // CONN-10, C-24: the retry throws the other old connection away too, and the limit goes on counting
    @Test("a retry that throws old connections away keeps to the limit")
    func aRetryThatThrowsOldConnectionsAwayKeepsToTheLimit() async throws {
        let both = Signal("both connections")
        let held = Signal("the last answers")
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.path == "/first" {
                    if connection.index == 1 { both.fire() }
                    try connection.wait(for: both)
                    try connection.send(.text("x"), to: request)
                } else if connection.index < 2 {
                    return connection.reset()
                } else {
                    try connection.send(CannedResponse.text("y").held(until: held), to: request)
                }
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 2 }
        for _ in 0..<2 { session.dataTask(with: server.url("/first")).resume() }
        _ = try await delegate.calls(untilCompletions: 2)
        session.dataTask(with: server.url("/again")).resume()
        try await server.waitForRequests(1, on: 2)
        for _ in 0..<4 { session.dataTask(with: server.url("/more")).resume() }
        try await server.waitForRequests(1, on: 3)
        // A waiter is known to wait once a call that was made later has come.
        await session.flush()
        #expect(server.connectionCount == 4)
        session.finishTasksAndInvalidate()
        held.fire()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.count { if case .completed(_, nil) = $0 { true } else { false } } == 7)
    }

    // MISC-6: none of them can be sent, so all of them wait for the same connection, one after the other
    @Test("a long line of requests that cannot be sent ends") func aLongLineOfRequestsThatCannotBeSentEnds()
        async throws
    {
        let held = Signal("the first answer")
        var options = ScriptedServer.Options()
        options.deadline = .seconds(60)
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held), options: options)
        defer { server.stop() }
        let session = URLSession { $0.httpMaximumConnectionsPerHost = 1 }
        let outcomes = Watched<[URLError.Code?: Int]>([:])
        let handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { _, _, error in
            outcomes.withValue { $0[error?.urlErrorCode, default: 0] += 1 }
        }
        session.dataTask(with: server.url(), completionHandler: handler).resume()
        try await server.waitForRequests(1)
        var request = URLRequest(url: server.url())
        request.httpMethod = "GET /"
        for _ in 0..<8_000 { session.dataTask(with: request, completionHandler: handler).resume() }
        session.dataTask(with: server.url(), completionHandler: handler).resume()
        session.finishTasksAndInvalidate()
        held.fire()
        try await outcomes.wait(for: "the end of all", within: .seconds(60)) {
            $0.values.reduce(0, +) == 8_002 ? () : nil
        }
        #expect(outcomes.current == [.badURL: 8_000, nil: 2])
        #expect(server.connectionCount == 1)
    }

    // CONN-19: a shorter announcement counts though another connection's time is already being kept
    @Test("an announced idle time is kept beside longer ones") func anAnnouncedIdleTimeIsKeptBesideLongerOnes()
        async throws
    {
        let server = try ScriptedServer.answering { request in
            request.path == "/short" ? CannedResponse.text("x").with(field: "Keep-Alive", "timeout=2") : .text("x")
        }
        let other = try ScriptedServer.answering(.text("x"))
        defer {
            server.stop()
            other.stop()
        }
        let stepped = try SteppedLoop()
        let session = URLSession { $0.loop = stepped.loop }
        _ = try await session.data(from: other.url())
        _ = try await session.data(from: server.url("/short"))
        try await stepped.step(by: TimeLimits.seconds(1))
        try await server.connection(0).waitForEnd()
        session.invalidateAndCancel()
    }
}
