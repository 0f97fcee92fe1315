import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Idle connections.
@Suite struct IdleConnectionTests {
    // MARK: Expiry

    // CONN-19
    @Test("an idle connection is closed when its time is over") func anIdleConnectionIsClosedWhenItsTimeIsOver()
        async throws
    {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: server.port, on: stepped.loop)
        _ = await connectionPool.client("a")
        try await connectionPool.recorded.wait(for: "a took a new one")
        try await stepped.step(by: TimeLimits.seconds(60) - 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        try await stepped.step(by: 1)
        #expect(try await server.connection(0).waitForEnd() == .finished)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        await connectionPool.close()
    }

    // CONN-19
    @Test("the system's clock closes an idle connection too") func theSystemsClock() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        var limits = TimeLimits()
        limits.http1Idle = TimeLimits.milliseconds(50)
        // Its thread stays, as those of the process's own loops do.
        let loop = EventLoop(limits: limits)
        #expect(loop.serve())
        let connectionPool = PoolOnLoop(to: server.port, on: loop)
        let start = ContinuousClock.now
        _ = await connectionPool.client("a")
        #expect(try await server.connection(0).waitForEnd() == .finished)
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        await connectionPool.close()
    }

    // CONN-19: the time counts from the last use
    @Test("a connection that is used again stays") func aConnectionThatIsUsedAgainStays() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: server.port, on: stepped.loop)
        let a = await connectionPool.client("a", keeps: true)
        try await connectionPool.recorded.wait(for: "a took a new one")
        for _ in 0..<3 {
            await connectionPool.onLoop { _ in a.returnUnused() }
            try await stepped.step(by: TimeLimits.seconds(40))
            await connectionPool.onLoop { _ in a.ask() }
        }
        #expect(connectionPool.recorded.events.dropFirst(2) == Array(repeating: "a took a used one", count: 3)[...])
        await connectionPool.onLoop { _ in a.returnUnused() }
        try await stepped.step(by: TimeLimits.seconds(60) - 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        // The kernel has taken the connection before the server's thread has.
        try await eventually { server.connections.count == 1 }
        #expect(server.connections.map(\.end) == [nil])
        try await stepped.step(by: 1)
        #expect(try await server.connection(0).waitForEnd() == .finished)
        await connectionPool.close()
    }

    // CONN-19: while it is in use no idle time counts
    @Test("a connection in use is not closed") func aConnectionInUseIsNotClosed() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: server.port, on: stepped.loop)
        let a = await connectionPool.client("a", keeps: true)
        try await connectionPool.recorded.wait(for: "a took a new one")
        // In one turn, so that the time to expire is not there.
        await connectionPool.onLoop { _ in
            a.returnUnused()
            a.ask()
        }
        // The timer of the idle time fires nevertheless.
        #expect(await connectionPool.onLoop { _ in a.connection?.expiryTimer.isArmed == true })
        try await stepped.step(by: stepped.limits.http1Idle)
        #expect(await connectionPool.onLoop { _ in a.connection?.expiryTimer.isArmed == false })
        #expect(connectionPool.recorded.events.last == "a took a used one")
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        // The kernel has taken the connection before the server's thread has.
        try await eventually { server.connections.count == 1 }
        #expect(server.connections.map(\.end) == [nil])
        await connectionPool.close()
    }

    // CONN-19: less a second for what is on its way
    @Test("an announced time is kept beside a longer one") func anAnnouncedTimeIsKeptBesideALongerOne() async throws {
        let both = Signal("both requests")
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                if connection.index == 1 { both.fire() }
                try connection.wait(for: both)
                let field = connection.index == 0 ? "Keep-Alive: timeout=2, max=100\r\n" : ""
                try connection.send("HTTP/1.1 200 OK\r\n\(field)Content-Length: 0\r\n\r\n")
            }
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: server.port, on: stepped.loop)
        for name in ["a", "b"] { _ = await connectionPool.client(name, sends: "GET") }
        try await connectionPool.recorded.waitUntil { $0.contains("a is done") && $0.contains("b is done") }
        try await stepped.step(by: TimeLimits.seconds(1) - 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 2)
        try await stepped.step(by: 1)
        #expect(try await server.connection(0).waitForEnd() == .finished)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        #expect(server.connections.map(\.end) == [.finished, nil])
        await connectionPool.close()
    }

    // CONN-14: a connection without a descriptor takes that of the one that is unused longest
    @Test("the connection that is unused longest makes room") func theConnectionThatIsUnusedLongestMakesRoom()
        async throws
    {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port)
        var clients: [PoolClient] = []
        for name in ["a", "b", "c"] {
            clients.append(await connectionPool.client(name, keeps: true))
            try await connectionPool.recorded.wait(for: "\(name) took a new one")
        }
        // Each in a turn of its own, b first.
        let (a, b, c) = (clients[0], clients[1], clients[2])
        for client in [b, a, c] { await connectionPool.onLoop { _ in client.returnUnused() } }
        #expect(await connectionPool.onLoop { $0.closeOneIdle() })
        try await server.connection(1).waitForEnd()
        #expect(await connectionPool.onLoop { $0.closeOneIdle() })
        try await server.connection(0).waitForEnd()
        #expect(await connectionPool.onLoop { $0.closeOneIdle() })
        #expect(await connectionPool.onLoop { $0.closeOneIdle() } == false)
        await connectionPool.close()
    }

    // MARK: Connections that the server has closed

    /// Has the server close an idle connection while the loop is busy, so that the loop has not read it when `body`
    /// runs on it.
    ///
    /// - Parameter stray: What the server sends instead of closing; `isClosed` fires then too.
    private func whileClosed(
        tls: TLSServerOptions? = nil, configuration: TLSConfiguration = TLSConfiguration(),
        sending stray: String? = nil,
        _ body: @escaping @Sendable (PoolOnLoop, _ first: PoolClient) -> Void
    ) async throws -> (connectionPool: PoolOnLoop, server: ScriptedServer) {
        let close = Signal("the end of the first connection")
        let isClosed = Signal("closed")
        let server = try ScriptedServer(tls: tls) { connection in
            while try connection.nextRequest() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                if connection.index > 0 { continue }
                try connection.wait(for: close)
                guard let stray else { return connection.close() }
                try connection.send(stray)
                isClosed.fire()
            }
        }
        let connectionPool = PoolOnLoop(
            to: server.port, host: tls == nil ? "127.0.0.1" : "localhost", isSecure: tls != nil,
            configuration: configuration)
        let first = await connectionPool.client("first", sends: "GET")
        try await connectionPool.recorded.wait(for: "first is done")
        let record = try await server.connection(0)
        if stray == nil {
            Task {
                try await record.waitUntilClosed()
                isClosed.fire()
            }
        }
        let isSeen = await connectionPool.onLoop { _ in
            close.fire()
            // The loop does nothing else meanwhile.
            guard (try? isClosed.wait()) != nil else { return false }
            body(connectionPool, first)
            return true
        }
        #expect(isSeen)
        return (connectionPool, server)
    }

    // CONN-10: a request that may go out only once is not lost with it
    @Test("a connection that has just been closed is not given to a POST")
    func aConnectionThatHasJustBeenClosedIsNotGivenToAPOST() async throws {
        let (connectionPool, server) = try await whileClosed { connectionPool, _ in
            PoolClient("second", of: connectionPool, keeps: false, sends: "POST").ask(isRepeatable: false)
        }
        defer { server.stop() }
        try await connectionPool.recorded.wait(for: "second is done")
        #expect(
            connectionPool.recorded.events.dropFirst(2) == [
                "first received 200", "first is done", "second is served", "second took a new one",
                "second received 200",
                "second is done",
            ])
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        await connectionPool.close()
    }

    // CONN-10: over TLS too
    @Test("a secure connection that has just been closed is not given to a POST")
    func aSecureConnectionThatHasJustBeenClosedIsNotGivenToAPOST() async throws {
        let authority = try TestCertificateAuthority()
        var configuration = TLSConfiguration()
        configuration.roots = .only([.der(authority.root.der)])
        let (connectionPool, server) = try await whileClosed(
            tls: try TLSServerOptions(authority: authority), configuration: configuration
        ) { connectionPool, _ in
            PoolClient("second", of: connectionPool, keeps: false, sends: "POST").ask(isRepeatable: false)
        }
        defer { server.stop() }
        try await connectionPool.recorded.wait(for: "second is done")
        #expect(connectionPool.recorded.events.contains("second took a new one"))
        await connectionPool.close()
    }

    // CONN-10: a secure connection with nothing but session tickets on it is as good as before
    @Test("a secure connection that is open is given to a POST") func aSecureConnectionThatIsOpenIsGivenToAPOST()
        async throws
    {
        let authority = try TestCertificateAuthority()
        let server = try ScriptedServer.answering(tls: try TLSServerOptions(authority: authority)) { _ in .text("x") }
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.roots = .only([.der(authority.root.der)])
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, configuration: configuration)
        let first = await connectionPool.client("first", keeps: true)
        try await connectionPool.recorded.wait(for: "first took a new one")
        // The tickets are the last that the server's part of the handshake sends.
        #expect(try await server.connection(0).waitForHandshake() != nil)
        await connectionPool.onLoop { _ in first.returnUnused() }
        _ = await connectionPool.client("second", isRepeatable: false, sends: "POST")
        try await connectionPool.recorded.wait(for: "second is done")
        #expect(connectionPool.recorded.events.contains("second took a used one"))
        #expect(server.connectionCount == 1)
        await connectionPool.close()
    }

    private static let strayResponse = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    // CONN-1, CONN-10, CONN-19: RFC 9112 §9.2
    @Test(
        "a connection that was closed, or has stray bytes, is not given to a GET, however short it was idle",
        arguments: [nil, strayResponse, "0\r\n\r\n"] as [String?])
    func anIdleConnectionIsChecked(stray: String?) async throws {
        let taken = Watched<Bool?>(nil)
        let (connectionPool, server) = try await whileClosed(sending: stray) { connectionPool, first in
            // However long the test has taken since.
            first.connection?.idleSince = connectionPool.loop.now
            taken.withValue { $0 = connectionPool.pool.takeIdle(connectionPool.origin, isRepeatable: true) != nil }
        }
        defer { server.stop() }
        #expect(taken.current == false)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        await connectionPool.close()
    }

    // CONN-1: RFC 9112 §9.2
    @Test("a connection that was reserved, and has stray bytes, is not given to a GET that waits for it")
    func aReservedConnectionIsChecked() async throws {
        let (send, isSent) = (Signal("the time of the stray bytes"), Signal("stray bytes"))
        let server = try ScriptedServer { connection in
            if connection.index == 0 {
                try connection.wait(for: send)
                try connection.send(Self.strayResponse)
                return isSent.fire()
            }
            while try connection.nextRequest() != nil {
                try connection.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            }
        }
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: 1)
        let first = await connectionPool.client("first", keeps: true)
        try await connectionPool.recorded.wait(for: "first took a new one")
        _ = await connectionPool.client("second", sends: "GET")
        let isReturned = await connectionPool.onLoop { _ in
            send.fire()
            // The loop does nothing else meanwhile.
            guard (try? isSent.wait()) != nil else { return false }
            first.returnUnused()
            return true
        }
        #expect(isReturned)
        try await connectionPool.recorded.wait(for: "second is done")
        #expect(
            connectionPool.recorded.events.suffix(3)
                == ["second took a new one", "second received 201", "second is done"])
        await connectionPool.close()
    }

    // CONN-10: the server has acknowledged nothing of the request, so it may go out again
    @Test("a POST that is lost on a connection that was only reserved before is unprocessed", arguments: [false, true])
    func aPOSTThatIsLostOnAConnectionThatWasOnlyReservedBefore(isIdle: Bool) async throws {
        let takesNothing = Signal("the server's kernel takes nothing")
        let isSent = Signal("the request is sent")
        let server = try ScriptedServer { connection in
            try connection.stopTaking()
            takesNothing.fire()
            try connection.wait(for: isSent)
            connection.close()
        }
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: 1)
        let first = await connectionPool.client("first", keeps: true)
        try await connectionPool.recorded.wait(for: "first took a new one")
        try await takesNothing.wait()
        let second: PoolClient
        if isIdle {
            await connectionPool.onLoop { _ in first.returnUnused() }
            second = await connectionPool.client("second", isRepeatable: false, keeps: true)
        } else {
            second = await connectionPool.client("second", isRepeatable: false, keeps: true)
            await connectionPool.onLoop { _ in first.returnUnused() }
        }
        #expect(connectionPool.recorded.events.last == "second took a used one")
        await connectionPool.onLoop { _ in second.send("POST") }
        isSent.fire()
        try await connectionPool.recorded.wait(for: "second lost -1005")
        #expect(await connectionPool.onLoop { _ in second.failure?.progress } == .refused)
        await connectionPool.close()
    }

    // CONN-10: what came before a request is not its response
    @Test("bytes behind a response are not taken for the next one")
    func bytesBehindAResponseAreNotTakenForTheNextOne() async throws {
        let answered = Signal("the first response was received")
        let isSent = Signal("the stray bytes are sent")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            if connection.index == 0 {
                try connection.wait(for: answered)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                isSent.fire()
            }
            try connection.waitForClose()
        }
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port)
        let first = await connectionPool.client("first", sends: "GET")
        try await connectionPool.recorded.wait(for: "first is done")
        // In one job, so that the loop reads none of the bytes before it sends the next request.
        let isSeen = await connectionPool.onLoop { _ in
            answered.fire()
            guard (try? isSent.wait()) != nil else { return false }
            first.connection?.idleSince = connectionPool.loop.now - TimeLimits.milliseconds(2)
            PoolClient("second", of: connectionPool, keeps: false, sends: "GET").ask()
            return true
        }
        #expect(isSeen)
        try await connectionPool.recorded.wait(for: "second is done")
        #expect(
            connectionPool.recorded.events.dropFirst(2) == [
                "first received 204", "first is done", "second is served", "second took a new one",
                "second received 204",
                "second is done",
            ])
        await connectionPool.close()
    }

    // CONN-10, CONN-1: a pending request gets no connection that was closed after its last response either
    @Test("a connection that was closed at its return is not given to a POST")
    func aConnectionThatWasClosedAtItsReturnIsNotGivenToAPOST() async throws {
        let close = Signal("the end of the first connection")
        let server = try ScriptedServer { connection in
            if connection.index == 0 {
                try connection.wait(for: close)
                return connection.close()
            }
            try connection.waitForClose()
        }
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: 1)
        let first = await connectionPool.client("first", keeps: true)
        try await connectionPool.recorded.wait(for: "first took a new one")
        _ = await connectionPool.client("second", isRepeatable: false)
        let record = try await server.connection(0)
        let isClosed = Signal("closed")
        Task {
            try await record.waitUntilClosed()
            isClosed.fire()
        }
        await connectionPool.onLoop { _ in
            close.fire()
            try? isClosed.wait()
            first.returnUnused()
        }
        try await connectionPool.recorded.wait(for: "second took a new one")
        #expect(
            connectionPool.recorded.events == [
                "first is served", "first took a new one", "second is served", "second took a new one",
            ])
        await connectionPool.close()
    }
}
