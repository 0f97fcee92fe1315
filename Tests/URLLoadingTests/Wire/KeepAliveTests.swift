import Foundation
import TestSupport
import Testing
import URLLoading

/// The number of connections, and the order in which requests get them.
@Suite(.leavesNothing) struct KeepAliveTests {
    // CONN-1
    @Test("a hundred requests one after the other use one connection")
    func aHundredRequestsOneAfterTheOtherUseOneConnection() async throws {
        let server = try ScriptedServer.answering { .text($0.target) }
        defer { server.stop() }
        try await URLSession.using { session async throws in
            for index in 0..<100 {
                #expect(try await session.text(server.url("/\(index)")) == "/\(index)")
            }
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.target) == (0..<100).map { "/\($0)" })
    }

    // CONN-1: every framing with an explicit end, and every method
    @Test("a connection survives every response that ends in order")
    func aConnectionSurvivesEveryResponseThatEndsInOrder() async throws {
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/chunks": .chunked(["a", "b"], trailers: [.init("X", "y")])
            case "/204": .status(204)
            case "/304": .status(304)
            case "/404": .text("no", status: 404)
            case "/500": .text("no", status: 500)
            case "/empty": .bytes([])
            case "/gzip": .bytes(CodedBodies.gzip("hello")).with(field: "Content-Encoding", "gzip")
            default: .text("ok")
            }
        }
        defer { server.stop() }
        let paths = ["/chunks", "/204", "/304", "/404", "/500", "/empty", "/gzip", "/"]
        try await URLSession.using { session in
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE"] {
                for path in paths {
                    let request = URLRequest(url: server.url(path)).with {
                        $0.httpMethod = method
                        if method == "POST" { $0.httpBody = Data("x".utf8) }
                        if method == "PUT" { $0.httpBodyStream = InputStream(data: Data("x".utf8)) }
                    }
                    _ = try await session.data(for: request)
                }
            }
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.count == 5 * paths.count)
    }

    // CONN-1, CONN-19, CONN-27
    @Test(
        "a connection that may not be used again is closed by the client",
        arguments: [
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nconnection: foo\r\nConnection: CLOSE\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ])
    func aConnectionThatMayNotBeUsedAgainIsClosedByTheClient(response: String) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send(response)
            // The server leaves it open: the client has to end it.
            try connection.waitForClose()
        }
        defer { server.stop() }
        try await URLSession.using { session async throws in
            #expect(try await session.text(server.url()) == "ok")
            #expect(try await server.connection(0).waitForEnd() == .finished)
            #expect(try await session.text(server.url()) == "ok")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-1
    @Test(
        "a connection that may be used again is",
        arguments: [
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nKeep-Alive: nonsense=;;,\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=99999999999999999999\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=-1\r\nContent-Length: 2\r\n\r\nok",
        ])
    func aConnectionThatMayBeUsedAgainIs(response: String) async throws {
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil { try connection.send(response) }
        }
        defer { server.stop() }
        try await URLSession.using { session async throws in
            for _ in 0..<3 { #expect(try await session.text(server.url()) == "ok") }
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-19: a second is left for what is on its way
    @Test("an announced idle time is kept to") func anAnnouncedIdleTimeIsKeptTo() async throws {
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        defer { server.stop() }
        try await URLSession.using { session async throws in
            #expect(try await session.text(server.url()) == "ok")
            #expect(try await server.connection(0).waitForEnd() == .finished)
            #expect(try await session.text(server.url()) == "ok")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-27
    @Test("a body that ends with its connection") func aBodyThatEndsWithItsConnection() async throws {
        let server = try ScriptedServer.answering(.untilClose("hello"))
        defer { server.stop() }
        try await URLSession.using { session async throws in
            for _ in 0..<2 { #expect(try await session.text(server.url()) == "hello") }
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-18
    @Test("after a flush requests use new connections") func afterAFlushRequestsUseNewConnections() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        try await URLSession.using { session async throws in
            #expect(try await session.text(server.url()) == "ok")
            await session.flush()
            #expect(try await session.text(server.url()) == "ok")
            #expect(try await session.text(server.url()) == "ok")
            await session.reset()
            #expect(try await session.text(server.url()) == "ok")
        }
        #expect(server.connectionCount == 3)
        #expect(server.connections.map(\.requests.count) == [1, 2, 1])
    }

    // CONN-1, TLS-8: nothing is shared by sessions
    @Test("sessions have connections of their own") func sessionsHaveConnectionsOfTheirOwn() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        for _ in 0..<2 {
            #expect(try await URLSession.using { try await $0.text(server.url()) } == "ok")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-1: an exchange that is given up takes its connection with it
    @Test("a cancelled load's connection is not used again") func aCancelledLoadsConnectionIsNotUsedAgain() async throws
    {
        let server = try ScriptedServer.answering { $0.path == "/endless" ? .endless : .text("ok") }
        defer { server.stop() }
        try await URLSession.using { session in
            let (bytes, _) = try await session.bytes(from: server.url("/endless"))
            bytes.task.cancel()
            #expect(try await session.text(server.url()) == "ok")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-1, C-24
    @Test("concurrent requests use as many connections as are allowed", arguments: [1, 2, 6])
    func concurrentRequestsUseAsManyConnectionsAsAreAllowed(limit: Int) async throws {
        let isFull = Signal("as many requests as connections")
        let server = try ScriptedServer.answering { .text($0.target).held(until: isFull) }
        defer { server.stop() }
        let answers = try await URLSession.using { configuration in
            configuration.httpMaximumConnectionsPerHost = limit
        } _: { session in
            try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<64 { group.addTask { try await session.text(server.url("/\(index)")) } }
                _ = try await server.connection(limit - 1)
                isFull.fire()
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
        }
        #expect(answers == Set((0..<64).map { "/\($0)" }))
        #expect(server.connectionCount == limit)
        #expect(server.requests.count == 64)
    }

    // C-24
    @Test("six connections to a host are the standard") func sixConnectionsToAHostAreTheStandard() async throws {
        let isFull = Signal("six connections")
        let server = try ScriptedServer.answering { .text($0.target).held(until: isFull) }
        defer { server.stop() }
        try await URLSession.using { session in
            try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<64 { group.addTask { try await session.text(server.url("/\(index)")) } }
                _ = try await server.connection(5)
                isFull.fire()
                try await group.waitForAll()
            }
        }
        #expect(server.connectionCount == 6)
    }

    // CONN-1: by priority, then first come first served
    @Test("waiting tasks are served by priority, then in order") func waitingTasksAreServedByPriorityThenInOrder()
        async throws
    {
        let release = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? .text("").held(until: release) : .text("")
        }
        defer { server.stop() }
        let done = EventRecorder<String>()
        try await URLSession.using { configuration in
            configuration.httpMaximumConnectionsPerHost = 1
        } _: { session in
            let first = session.dataTask(with: server.url("/first")) { _, _, _ in done.record("/first") }
            first.resume()
            _ = try await server.connection(0)
            for (path, priority) in [("/b1", 0.5), ("/c", 0.1), ("/b2", 0.5), ("/a", 0.9), ("/b3", 0.5)] as [(_, Float)]
            {
                let task = session.dataTask(with: server.url(path)) { _, _, _ in done.record(path) }
                task.priority = priority
                task.resume()
            }
            // Posted behind the others, so when it is answered they are all in the line.
            await session.flushed()
            release.fire()
            try await done.waitFor(count: 6)
        }
        #expect(server.requests.map(\.target) == ["/first", "/a", "/b1", "/b2", "/b3", "/c"])
        #expect(server.connectionCount == 1)
    }

    // T-19, CONN-1: the priority may be changed while the task waits, up and down
    @Test("a change of priority reorders waiting tasks") func aChangeOfPriorityReordersWaitingTasks() async throws {
        let release = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? .text("").held(until: release) : .text("")
        }
        defer { server.stop() }
        let done = EventRecorder<String>()
        try await URLSession.using { configuration in
            configuration.httpMaximumConnectionsPerHost = 1
        } _: { session in
            func start(_ path: String) -> URLSessionDataTask {
                let task = session.dataTask(with: server.url(path)) { _, _, _ in done.record(path) }
                task.resume()
                return task
            }
            _ = start("/first")
            _ = try await server.connection(0)
            let tasks = ["/a", "/b", "/c", "/d"].map { start($0) }
            await session.flushed()
            tasks[0].priority = URLSessionTask.lowPriority
            tasks[3].priority = URLSessionTask.highPriority
            tasks[2].priority = 1
            tasks[2].priority = URLSessionTask.highPriority
            await session.flushed()
            release.fire()
            try await done.waitFor(count: 5)
        }
        #expect(server.requests.map(\.target) == ["/first", "/c", "/d", "/b", "/a"])
        #expect(server.connectionCount == 1)
    }

    // CONN-1: a load that is cancelled in the line leaves it
    @Test("a cancelled load leaves the line") func aCancelledLoadLeavesTheLine() async throws {
        let release = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? .text("").held(until: release) : .text("")
        }
        defer { server.stop() }
        let done = EventRecorder<String>()
        try await URLSession.using { configuration in
            configuration.httpMaximumConnectionsPerHost = 1
        } _: { session in
            func start(_ path: String) -> URLSessionDataTask {
                let task = session.dataTask(with: server.url(path)) { _, _, error in
                    done.record("\(path) \((error as? URLError)?.code.rawValue ?? 0)")
                }
                task.resume()
                return task
            }
            _ = start("/first")
            _ = try await server.connection(0)
            let second = start("/second")
            _ = start("/third")
            second.cancel()
            #expect(try await done.waitFor(count: 1) == ["/second -999"])
            release.fire()
            #expect(try await done.waitFor(count: 3) == ["/second -999", "/first 0", "/third 0"])
        }
        #expect(server.requests.map(\.target) == ["/first", "/third"])
    }

    // CONN-24: waiting for a connection is no silence of the server's
    @Test("the time in the line does not count for the request timer")
    func theTimeInTheLineDoesNotCountForTheRequestTimer() async throws {
        let release = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? .text("first").held(until: release) : .text("second")
        }
        defer { server.stop() }
        try await URLSession.using { configuration in
            configuration.httpMaximumConnectionsPerHost = 1
        } _: { session in
            async let first = session.text(server.url("/first"))
            _ = try await server.connection(0)
            let short = URLRequest(url: server.url("/second"), timeoutInterval: 0.2)
            async let second = session.data(for: short)
            // The end of a load outside of the queue shows that three times as much has passed.
            let silent = try ScriptedServer(steps: [.stopReading])
            defer { silent.stop() }
            let other = URLRequest(url: silent.url(), timeoutInterval: 0.6)
            #expect(await failure { _ = try await session.data(for: other) } == .timedOut)
            release.fire()
            #expect(try await first == "first")
            #expect(try await second.0 == Data("second".utf8))
        }
    }

    // CONN-24, S-93
    @Test("the time in the line counts for the resource timer") func theTimeInTheLineCountsForTheResourceTimer()
        async throws
    {
        let release = Signal("the first response")
        let server = try ScriptedServer.answering { _ in .text("").held(until: release) }
        defer { server.stop() }
        defer { release.fire() }
        try await URLSession.using { configuration in
            configuration.httpMaximumConnectionsPerHost = 1
            configuration.timeoutIntervalForResource = 0.4
        } _: { session in
            async let first: URLError.Code? = failure { _ = try await session.data(from: server.url("/first")) }
            async let second: URLError.Code? = failure { _ = try await session.data(from: server.url("/second")) }
            #expect(await [first, second] == [.timedOut, .timedOut])
        }
        #expect(server.connectionCount <= 2)
    }
}

extension URLSession {
    /// Returns when the session's loop has processed earlier posted work.
    fileprivate func flushed() async {
        // A task that ends at once, behind the others on the same loop.
        _ = try? await data(from: URL(fileURLWithPath: "/"))
    }
}
