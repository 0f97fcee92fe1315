import Foundation
import LoadingConnections
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// Loads without a route to their server. Each test has its own network namespace, in which loopback is initially down.
@Suite(.inNetworkNamespace, .needsNetworkNamespace) struct ConnectivityTests {
    /// A server without a route, because the loopback interface is down again.
    private func unreachableServer(
        _ answer: @escaping @Sendable (ReceivedRequest) -> CannedResponse = { .text($0.target) }
    ) throws -> ScriptedServer {
        try NetworkNamespace.raiseLoopback()
        let server = try ScriptedServer.answering { answer($0) }
        try NetworkNamespace.lowerLoopback()
        return server
    }

    private func waitingSession(
        _ delegate: RecordingDelegate, _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession(delegate) {
            $0.waitsForConnectivity = true
            configure($0)
        }
    }

    // CONN-14, T-27, T-41
    @Test("a load waits for a route and then takes it") func aLoadWaitsForARouteAndThenTakesIt() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        session.dataTask(with: server.url("/way")).resume()
        #expect(try await delegate.calls.waitFor(count: 2) == [.created(1), .waiting(1)])
        try NetworkNamespace.raiseLoopback()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .waiting(1), .response(1, 200), .data(1, "/way"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        #expect(delegate.faults.events == [])
        #expect(server.requests.map(\.target) == ["/way"])
    }

    // CONN-14, T-41, WS-6: with what was asked of it meanwhile
    @Test("a WebSocket waits for a route and then takes it") func aWebSocketWaitsForARouteAndThenTakesIt() async throws
    {
        try NetworkNamespace.raiseLoopback()
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        try NetworkNamespace.lowerLoopback()
        let run = WebSocketRun(server.webSocketURL()) { $0.waitsForConnectivity = true }
        run.send("early")
        run.receive()
        run.task.resume()
        #expect(try await run.delegate.calls.waitFor(count: 2) == [.created(1), .waiting(1)])
        #expect(run.task.closeCode == .invalid)
        try NetworkNamespace.raiseLoopback()
        #expect(Set(try await run.delegate.results(count: 2)) == ["sent early", "received early"])
        run.task.cancel(with: .normalClosure, reason: nil)
        let calls = try await run.end()
        #expect(
            calls.filter { $0.task == 1 } == [
                .created(1), .waiting(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil),
            ])
    }

    // CONN-12, CONN-14: cancelled while it waits, and without waiting
    @Test("a WebSocket without a route", arguments: [false, true]) func aWebSocketWithoutARoute(waits: Bool)
        async throws
    {
        let url = try #require(URL(string: "ws://127.0.0.1:8080/"))
        let run = WebSocketRun(url) { $0.waitsForConnectivity = waits }
        run.receive()
        run.task.resume()
        if waits {
            try await run.delegate.calls.wait(for: .waiting(1))
            run.task.cancel(with: .goingAway, reason: nil)
        }
        let code: URLError.Code = waits ? .cancelled : .notConnectedToInternet
        let expected: [Call] = [
            .created(1), .waiting(1), .result("received: \(code.rawValue)"), .metrics(1), .completed(1, code), .invalid,
        ]
        #expect(try await run.end() == expected.filter { waits || $0 != .waiting(1) })
    }

    // CONN-14, CONN-13, T-41, MISC-17
    @Test("FTP waits for a route and then takes it") func ftpWaitsForARouteAndThenTakesIt() async throws {
        try NetworkNamespace.raiseLoopback()
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("hello".utf8)]
        let server = try FTPServer(options)
        defer { server.stop() }
        try NetworkNamespace.lowerLoopback()
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate) { $0.timeoutIntervalForRequest = 0.3 }
        session.dataTask(with: server.url("/a.txt")).resume()
        try await delegate.calls.wait(for: .waiting(1))
        // The end of another waiting load shows that three times as much has passed.
        let clock = RecordingDelegate()
        let other = waitingSession(clock) { $0.timeoutIntervalForResource = 0.9 }
        other.dataTask(with: server.url("/a.txt")).resume()
        other.finishTasksAndInvalidate()
        #expect(
            try await clock.callsUntilInvalid() == [
                .created(1), .waiting(1), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
        try NetworkNamespace.raiseLoopback()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .waiting(1), .response(1, 0), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.connectionCount == 1)
    }

    // CONN-12, CONN-14, MISC-17: cancelled while it waits, and without waiting
    @Test("FTP without a route", arguments: [false, true]) func ftpWithoutARoute(waits: Bool) async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.waitsForConnectivity = waits }
        let task = session.dataTask(with: try #require(URL(string: "ftp://127.0.0.1:2121/a.txt")))
        task.resume()
        if waits {
            try await delegate.calls.wait(for: .waiting(1))
            task.cancel()
        }
        session.finishTasksAndInvalidate()
        let code: URLError.Code = waits ? .cancelled : .notConnectedToInternet
        let expected: [Call] = [.created(1), .waiting(1), .metrics(1), .completed(1, code), .invalid]
        #expect(try await delegate.callsUntilInvalid() == expected.filter { waits || $0 != .waiting(1) })
    }

    // T-41, CONN-14: irrelevant network changes cause no callback
    @Test("waiting for connectivity is reported once") func waitingForConnectivityIsReportedOnce() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        session.dataTask(with: server.url()).resume()
        try await delegate.calls.wait(for: .waiting(1))
        for size in 1400..<1405 { try NetworkNamespace.ip("link", "set", "lo", "mtu", "\(size)") }
        try NetworkNamespace.raiseLoopback()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .waiting(1), .response(1, 200), .data(1, "/"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // CONN-14: by name, which needs no network here
    @Test("a load waits for a route to a name's address") func aLoadWaitsForARouteToAName() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        session.dataTask(with: server.url(host: "localhost")).resume()
        #expect(try await delegate.calls.waitFor(count: 2) == [.created(1), .waiting(1)])
        try NetworkNamespace.raiseLoopback()
        #expect(try await delegate.calls(untilCompletions: 1).last == .completed(1, nil))
        session.invalidateAndCancel()
    }

    // CONN-12
    @Test("a load that does not wait fails at once") func aLoadThatDoesNotWaitFailsAtOnce() async throws {
        for host in ["127.0.0.1", "localhost", "10.0.0.1"] {
            let delegate = RecordingDelegate()
            let session = URLSession(delegate) { _ in }
            let url = try #require(URL(string: "http://\(host):8080/"))
            session.dataTask(with: url).resume()
            session.finishTasksAndInvalidate()
            #expect(
                try await delegate.callsUntilInvalid(within: .seconds(5)) == [
                    .created(1), .metrics(1), .completed(1, .notConnectedToInternet), .invalid,
                ])
        }
    }

    // CONN-14: a route exists, but the connection is refused
    @Test("a load does not wait for a server that refuses") func aLoadDoesNotWaitForAServerThatRefuses() async throws {
        try NetworkNamespace.raiseLoopback()
        let refusing = try RefusingPort()
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        let url = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .cannotConnectToHost), .invalid,
            ])
    }

    // CONN-11: once there was a connection, its loss is one
    @Test("a load does not wait when its connection is lost") func aLoadDoesNotWaitWhenItsConnectionIsLost()
        async throws
    {
        try NetworkNamespace.raiseLoopback()
        let server = try ScriptedServer(
            steps: [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, .networkConnectionLost),
                .invalid,
            ])
    }

    // CONN-13
    @Test("the request timer pauses while a load waits") func theRequestTimerPausesWhileALoadWaits()
        async throws
    {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate) { $0.timeoutIntervalForRequest = 0.3 }
        session.dataTask(with: server.url()).resume()
        try await delegate.calls.wait(for: .waiting(1))
        // The end of another waiting load shows that three times as much has passed.
        let clock = RecordingDelegate()
        let other = waitingSession(clock) { $0.timeoutIntervalForResource = 0.9 }
        other.dataTask(with: server.url()).resume()
        other.finishTasksAndInvalidate()
        #expect(try await clock.callsUntilInvalid().contains(.completed(1, .timedOut)))
        try NetworkNamespace.raiseLoopback()
        #expect(try await delegate.calls(untilCompletions: 1).last == .completed(1, nil))
        session.invalidateAndCancel()
    }

    // CONN-13
    @Test("the resource timer runs while a load waits") func theResourceTimerRunsWhileALoadWaits() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate) { $0.timeoutIntervalForResource = 0.5 }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .waiting(1), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // T-5
    @Test("a load is cancelled while it waits") func aLoadIsCancelledWhileItWaits() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        try await delegate.calls.wait(for: .waiting(1))
        task.cancel()
        try await delegate.calls.wait(for: .completed(1, .cancelled))
        try NetworkNamespace.raiseLoopback()
        // Another one, behind it on the same loop, is through.
        session.dataTask(with: server.url("/other")).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid().of(1) == [
                .created(1), .waiting(1), .metrics(1), .completed(1, .cancelled),
            ])
        #expect(server.requests.map(\.target) == ["/other"])
    }

    // T-2, CONN-14: a way that comes while the task is suspended is taken when it goes on
    @Test("a load is suspended while it waits") func aLoadIsSuspendedWhileItWaits() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        let task = session.dataTask(with: server.url("/suspended"))
        task.resume()
        try await delegate.calls.wait(for: .waiting(1))
        task.suspend()
        try NetworkNamespace.raiseLoopback()
        session.dataTask(with: server.url("/other")).resume()
        try await delegate.calls.wait(for: .completed(2, nil))
        #expect(server.requests.map(\.target) == ["/other"])
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid().of(1) == [
                .created(1), .waiting(1), .response(1, 200), .data(1, "/suspended"), .metrics(1), .completed(1, nil),
            ])
    }

    // CONN-14, T-47, CONN-1: with handlers, with bodies, and more of them than connections
    @Test("many loads wait") func manyLoadsWait() async throws {
        let server = try unreachableServer { .text(String(decoding: $0.body, as: UTF8.self)) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate)
        let answers = EventRecorder<String>()
        for index in 1...20 {
            var request = URLRequest(url: server.url())
            request.httpMethod = "POST"
            request.httpBody = Data("\(index)".utf8)
            session.dataTask(with: request) { data, _, error in
                answers.record(error.map { "\($0)" } ?? String(decoding: data ?? Data(), as: UTF8.self))
            }.resume()
        }
        // Each finds out when its turn in the line has come.
        try await delegate.calls.waitUntil { $0.count { if case .waiting = $0 { true } else { false } } == 20 }
        try NetworkNamespace.raiseLoopback()
        try await answers.waitFor(count: 20)
        #expect(Set(answers.events) == Set((1...20).map { "\($0)" }))
        #expect(delegate.calls.events.count { if case .waiting = $0 { true } else { false } } == 20)
        #expect(server.requests.count == 20)
        session.invalidateAndCancel()
    }

    /// How a load goes through a proxy.
    enum ProxyMode: CaseIterable {
        case forwarding
        case tunnel
        case socks

        /// Answers what is sent to far.test.
        func proxy() throws -> ScriptedServer {
            try ScriptedServer(.everywhere) { connection in
                switch self {
                case .forwarding: break
                case .tunnel:
                    _ = try connection.readRequest()
                    try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                case .socks:
                    _ = try connection.receive(exactly: Int(try connection.receive(exactly: 2)[1]))
                    try connection.send([5, 0])
                    _ = try connection.receive(exactly: Int(try connection.receive(exactly: 5)[4]) + 2)
                    try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
                }
                let request = try connection.readRequest()
                try connection.send(.text(request.target), to: request)
                try connection.waitForClose()
            }
        }

        func configure(_ configuration: URLSessionConfiguration, host: String, port: Int) {
            let endpoint = NWEndpoint.hostPort(host: NWEndpoint.Host(host), port: NWEndpoint.Port("\(port)") ?? 1)
            switch self {
            case .forwarding:
                configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": host, "HTTPPort": port]
            case .tunnel: configuration.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: endpoint)]
            case .socks: configuration.proxyConfigurations = [ProxyConfiguration(socksv5Proxy: endpoint)]
            }
        }

        var target: String { self == .forwarding ? "http://far.test/way" : "/way" }
    }

    /// Why there is no route to a proxy.
    enum Obstacle: CaseIterable {
        /// EADDRNOTAVAIL
        case noAddress
        /// EHOSTUNREACH
        case noHost
        /// ENETUNREACH
        case noNetwork

        var host: String { self == .noAddress ? "::1" : "10.9.9.9" }

        func place() throws {
            switch self {
            case .noAddress: try NetworkNamespace.lowerLoopback()
            case .noHost: try NetworkNamespace.ip("route", "add", "unreachable", host)
            case .noNetwork: break
            }
        }

        func lift() throws {
            if self == .noAddress { return try NetworkNamespace.raiseLoopback() }
            try NetworkNamespace.ip("address", "add", host + "/32", "dev", "lo")
        }
    }

    // CONN-14, PROXY-10
    @Test("a load waits for a route to its proxy", arguments: ProxyMode.allCases, Obstacle.allCases)
    func aLoadWaitsForARouteToItsProxy(mode: ProxyMode, obstacle: Obstacle) async throws {
        try NetworkNamespace.raiseLoopback()
        let proxy = try mode.proxy()
        defer { proxy.stop() }
        try obstacle.place()
        let delegate = RecordingDelegate()
        let session = waitingSession(delegate) { mode.configure($0, host: obstacle.host, port: proxy.port) }
        session.dataTask(with: try #require(URL(string: "http://far.test/way"))).resume()
        #expect(try await delegate.calls.waitFor(count: 2) == [.created(1), .waiting(1)])
        try obstacle.lift()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .waiting(1), .response(1, 200), .data(1, mode.target), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        // The next test in this network finds it as this one did.
        if obstacle != .noAddress { try NetworkNamespace.ip("address", "del", obstacle.host + "/32", "dev", "lo") }
        if obstacle == .noHost { try NetworkNamespace.ip("route", "del", "unreachable", obstacle.host) }
    }

    // CONN-12, PROXY-10: what the error says is that of a proxy
    @Test("without waiting, a proxy that cannot be reached", arguments: Obstacle.allCases)
    func withoutWaiting(obstacle: Obstacle) async throws {
        try NetworkNamespace.raiseLoopback()
        try obstacle.place()
        for mode in ProxyMode.allCases {
            let session = URLSession { mode.configure($0, host: obstacle.host, port: 1) }
            defer { session.invalidateAndCancel() }
            let url = try #require(URL(string: "http://far.test/"))
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            #expect(error?.code == (obstacle == .noHost ? .cannotConnectToHost : .notConnectedToInternet))
            let cause = try #require(error?.userInfo[NSUnderlyingErrorKey] as? NSError)
            let number: Int? = mode == .forwarding ? 306 : mode == .tunnel ? 310 : nil
            #expect(cause.domain == (number == nil ? NSPOSIXErrorDomain : "kCFErrorDomainCFNetwork"))
            #expect(number == nil || cause.code == number)
        }
        if obstacle == .noHost { try NetworkNamespace.ip("route", "del", "unreachable", obstacle.host) }
    }

    // PROXY-7: what was in the way may be gone
    @Test("a proxy that has failed is tried again in another network") func anotherNetwork() async throws {
        try NetworkNamespace.raiseLoopback()
        let server = try ScriptedServer.answering(.text("direct"))
        defer { server.stop() }
        // Closes without an answer.
        let proxy = try ScriptedServer { _ = try $0.readRequest() }
        defer { proxy.stop() }
        let session = URLSession {
            var way = ProxyConfiguration(
                httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: NWEndpoint.Port("\(proxy.port)") ?? 1))
            way.allowFailover = true
            way.matchDomains = ["127.0.0.1"]
            $0.urlCache = nil
            $0.proxyConfigurations = [way]
        }
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 { #expect(try await session.data(from: server.url()).0 == Data("direct".utf8)) }
        #expect(proxy.connectionCount == 1)
        let (isWatching, isNotified) = (Signal("the watch"), Signal("the change"))
        let loop = EventLoops.assign()
        loop.post {
            let mark = RouteWatch.shared.mark(on: loop)
            _ = RouteWatch.shared.wait(since: mark, on: loop) { isNotified.fire() }
            isWatching.fire()
        }
        try await isWatching.wait()
        try NetworkNamespace.ip("link", "set", "lo", "mtu", "1400")
        try await isNotified.wait()
        #expect(try await session.data(from: server.url()).0 == Data("direct".utf8))
        #expect(proxy.connectionCount == 2)
    }

    /// Blocks the loop that delivers the end of a load, until it is released.
    private final class BlockedExecutor: TaskExecutor {
        let blocked = Signal("a job from a loop")
        let release = Signal("going on")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            if (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "url-loop\n" {
                blocked.fire()
                try? release.wait()
            }
            DispatchQueue.global().async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    // T-55: that it waits still stands in the queue when the load ends on the loop
    @Test("an async load that waits ends once") func anAsyncLoadThatWaitsEndsOnce() async throws {
        let server = try unreachableServer()
        defer { server.stop() }
        let queue = SuspendedQueue(width: 1)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.waitsForConnectivity = true
        let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
        let executor = BlockedExecutor()
        let load = Task(executorPreference: executor) { try await session.data(from: server.url()) }
        try await queue.hasOperation.wait()
        load.cancel()
        // Through the loop, if it is wrong; then the queue must not end the load a second time.
        _ = try? await executor.blocked.wait(within: .seconds(1))
        queue.isSuspended = false
        let isThrough = Signal("the queue's end")
        queue.addBarrierBlock { isThrough.fire() }
        try await isThrough.wait()
        executor.release.fire()
        #expect(await #expect(throws: URLError.self) { try await load.value }?.code == .cancelled)
        session.invalidateAndCancel()
    }
}
