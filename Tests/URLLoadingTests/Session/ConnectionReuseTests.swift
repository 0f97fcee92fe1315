import Foundation
import TestSupport
import Testing
import URLLoading

/// Connection reuse, as seen by the server.
@Suite(.leavesNothing) struct ConnectionReuseTests {
    // CONN-1
    @Test("a connection is used again") func aConnectionIsUsedAgain() async throws {
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/chunks": .chunked(["a", "b"])
            case "/none": .status(204)
            default: .text("x")
            }
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        for path in ["/", "/chunks", "/none", "/"] { _ = try await session.data(from: server.url(path)) }
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.path) == ["/", "/chunks", "/none", "/"])
        session.invalidateAndCancel()
    }

    // CONN-1, TLS-8: not across sessions
    @Test("sessions do not share connections") func sessionsDoNotShareConnections() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        for _ in 0..<2 {
            let session = URLSession { _ in }
            _ = try await session.data(from: server.url())
            session.invalidateAndCancel()
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-19
    @Test("Connection: close is respected") func connectionCloseIsRespected() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("x").closing())
        defer { server.stop() }
        let session = URLSession { _ in }
        for _ in 0..<3 { _ = try await session.data(from: server.url()) }
        #expect(server.connectionCount == 3)
        session.invalidateAndCancel()
    }

    // C-24, S-94, CONN-1
    @Test("no more connections than allowed", arguments: [1, 2, 4]) func noMoreConnectionsThanAllowed(most: Int)
        async throws
    {
        let all = Signal("all connections")
        let busy = Watched(0)
        let server = try ScriptedServer.answering { _ in
            let count = busy.withValue {
                $0 += 1
                return $0
            }
            if count == most { all.fire() }
            return CannedResponse.text("x").held(until: all)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = most }
        for _ in 0..<20 { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.count { if case .completed(_, nil) = $0 { true } else { false } } == 20)
        #expect(server.connectionCount == most)
        #expect(server.requests.count == 20)
    }

    // C-24: six unless set
    @Test("six connections are standard") func sixConnectionsAreStandard() async throws {
        let all = Signal("six requests")
        let busy = Watched(0)
        let server = try ScriptedServer.answering { _ in
            if busy.withValue({
                $0 += 1; return $0
            }) == 6 {
                all.fire()
            }
            return CannedResponse.text("x").held(until: all)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        for _ in 0..<12 { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(server.connectionCount == 6)
    }

    // CONN-1, T-19
    @Test("waiting requests are served by priority, then in order") func waitingRequestsAreServedByPriorityThenInOrder()
        async throws
    {
        let held = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        try await server.waitForRequests(1)
        let line: [(String, Float)] = [
            ("/low", URLSessionTask.lowPriority), ("/1", URLSessionTask.defaultPriority),
            ("/high", URLSessionTask.highPriority), ("/2", URLSessionTask.defaultPriority), ("/highest", 1),
            ("/high2", URLSessionTask.highPriority), ("/lowest", 0),
        ]
        for (path, priority) in line {
            let task = session.dataTask(with: server.url(path))
            task.priority = priority
            task.resume()
        }
        held.fire()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            server.requests.map(\.path) == ["/first", "/highest", "/high", "/high2", "/1", "/2", "/low", "/lowest"])
        #expect(server.connectionCount == 1)
    }

    // CONN-10
    @Test(
        "a reused connection that is lost before the response",
        arguments: [
            ("GET", true), ("HEAD", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false),
        ])
    func aReusedConnectionThatIsLostBeforeTheResponse(method: String, isRepeated: Bool) async throws {
        let server = try ScriptedServer(connections: [
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"), .expectRequest, .close,
            ],
            [.expectRequest, .send("HTTP/1.1 204 No Content\r\n\r\n"), .waitForClose],
        ])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        var request = URLRequest(url: server.url())
        request.httpMethod = method
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.of(2)
                == (isRepeated
                    ? [.created(2), .response(2, 204), .metrics(2), .completed(2, nil)]
                    : [.created(2), .metrics(2), .completed(2, .networkConnectionLost)]))
        #expect(server.connectionCount == (isRepeated ? 2 : 1))
        #expect(server.connections[0].requests.map(\.method) == ["GET", method])
    }

    /// How a connection fails before any byte of a response.
    enum Crossing: CaseIterable { case closed, closedOverTLS, reset }

    // CONN-10, T-51: the request and the server's close have crossed. A reset may as well follow what the server has
    // read.
    @Test("a kept connection that closes before a POST arrives", arguments: Crossing.allCases, [true, false])
    func aKeptConnectionThatClosesBeforeAPOSTArrives(crossing: Crossing, hasStream: Bool) async throws {
        let isSent = Signal("the second request is sent")
        let server = try ScriptedServer(
            tls: crossing == .closedOverTLS ? try TrustedAuthority.server() : nil
        ) { connection in
            let request = try connection.readRequest()
            if connection.index == 0 { try connection.stopTaking() }
            try connection.send(.text(request.bodyText), to: request)
            if connection.index > 0 { return _ = try connection.waitForClose() }
            try connection.wait(for: isSent)
            if crossing == .reset { connection.reset() } else { connection.close() }
        }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate([UInt8]("once".utf8))
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        let request = URLRequest(url: server.url()).with { $0.httpMethod = "POST" }
        let task =
            hasStream
            ? session.uploadTask(withStreamedRequest: request)
            : session.uploadTask(with: request, from: Data("once".utf8))
        task.resume()
        _ = try await delegate.sent.waitFor(count: 1)
        isSent.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid().of(2)
        #expect(calls.last == .completed(2, crossing == .reset ? .networkConnectionLost : nil))
        #expect(calls.contains(.data(2, "once")) == (crossing != .reset))
        let recorded = server.connections.map { $0.requests.map(\.method) }
        #expect(recorded == (crossing == .reset ? [["GET"]] : [["GET"], ["POST"]]))
    }

    // CONN-10, T-51: a stream that was read from cannot be sent again from its start, and the delegate has no other
    @Test("a reused connection that is lost during a streamed body", arguments: [true, false])
    func aKeptConnectionThatDiesUnderAStreamedBody(isRead: Bool) async throws {
        let hasRead = Signal("the first piece")
        let isGone = Signal("the connection's end")
        let server = try ScriptedServer { connection in
            if connection.index > 0 {
                let request = try connection.readRequest()
                try connection.send(.text(request.bodyText), to: request)
                _ = try connection.waitForClose()
                return
            }
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst")
            _ = try connection.readRequestHead()
            if isRead { try connection.wait(for: hasRead) }
            connection.reset()
            isGone.fire()
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        var request = URLRequest(url: server.url())
        request.httpMethod = "PUT"
        request.httpBodyStream = BlockingInputStream(Array("body".utf8), onRead: hasRead, until: isGone)
        // Without an answer to the question whether the body may go, it is not read.
        if !isRead { request.setValue("100-continue", forHTTPHeaderField: "Expect") }
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid().of(2)
        if isRead {
            #expect(
                calls == [
                    .created(2), .needsStream(2, 0), .metrics(2), .completed(2, .requestBodyStreamExhausted),
                ])
            // S-50: there is a connection for it, and nothing is sent.
            #expect(server.requests.map(\.method) == ["GET", "PUT"])
        } else {
            #expect(
                calls == [
                    .created(2), .sent(2, 4, -1), .response(2, 200), .data(2, "body"), .metrics(2),
                    .completed(2, nil),
                ])
            #expect(server.connectionCount == 2)
        }
    }

    // CONN-10, QA1941: a new connection proves nothing about the server being late
    @Test("a new connection that is lost is not tried again") func aNewConnectionThatIsLost() async throws {
        let server = try ScriptedServer(connections: [[.expectRequest, .close]])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .networkConnectionLost), .invalid,
            ])
        #expect(server.connectionCount == 1)
    }

    // CONN-10: a body that had begun is not asked for again
    @Test("a reused connection that is lost within its response") func aConnectionLostWithinItsResponse() async throws {
        let server = try ScriptedServer(connections: [
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"), .expectRequest,
                .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nse"), .reset,
            ]
        ])
        defer { server.stop() }
        let session = URLSession { _ in }
        _ = try await session.data(from: server.url())
        let error = await #expect(throws: URLError.self) { try await session.data(from: server.url()) }
        #expect(error?.code == .networkConnectionLost)
        #expect(server.connectionCount == 1)
        session.invalidateAndCancel()
    }

    // CONN-19: a connection that the server closed while it was idle is not used
    @Test("a connection closed in between is replaced") func aConnectionClosedInBetweenIsReplaced() async throws {
        let server = try ScriptedServer(connections: [
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"), .close],
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"), .waitForClose],
        ])
        defer { server.stop() }
        let session = URLSession { _ in }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        #expect(try await session.data(for: request).0 == Data("first".utf8))
        try await server.connection(0).waitUntilClosed()
        // On loopback the client's kernel knows it in the same moment; two rounds of the loop, and the client does.
        for _ in 0..<2 { _ = await session.allTasks }
        #expect(try await session.data(for: request).0 == Data("second".utf8))
        session.invalidateAndCancel()
    }

    // CONN-18, S-88, T-63
    @Test("after flush a new connection is used") func afterFlushANewConnectionIsUsed() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let session = URLSession { _ in }
        _ = try await session.data(from: server.url())
        await session.flush()
        _ = try await session.data(from: server.url())
        #expect(server.connectionCount == 2)
        await session.reset()
        _ = try await session.data(from: server.url())
        #expect(server.connectionCount == 3)
        session.invalidateAndCancel()
    }

    // CONN-18: what is under way is let finish and then closed
    @Test("a busy connection is not kept after flush") func aBusyConnectionIsNotKeptAfterFlush() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        let calls = EventRecorder<Call>()
        session.dataTask(with: server.url("/held"), completionHandler: calls.handler).resume()
        try await server.waitForRequests(1)
        await session.flush()
        held.fire()
        #expect(try await calls.waitFor(count: 1) == [.handled("x", 200, nil)])
        try await server.connection(0).waitForEnd()
        _ = try await session.data(from: server.url())
        #expect(server.connectionCount == 2)
        session.invalidateAndCancel()
    }

    // C-24, CONN-1: a failed connection does not fail all waiting requests
    @Test("each waiting request fails after a refused connection") func eachWaitingRequestFailsAfterARefusedConnection()
        async throws
    {
        let refusing = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        for _ in 0..<10 { session.dataTask(with: url).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...10 {
            #expect(calls.of(task) == [.created(task), .metrics(task), .completed(task, .cannotConnectToHost)])
        }
    }
}
