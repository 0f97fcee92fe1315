import Foundation
import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// Cancels the task of a WebSocket, or loses its connection, at each event of its log, over each version of HTTP.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct WebSocketStopTests {
    /// An event of the log, by its name and how many of that name came before.
    private struct Moment: Sendable, Hashable {
        let name: String
        let number: Int
    }

    private enum Stop: Sendable, CaseIterable {
        case cancel
        /// `cancel(with:reason:)`.
        case close
        /// Everything between client and server goes: TCP ends, and datagrams are refused.
        case lose
    }

    private struct Plan: Sendable, CustomStringConvertible {
        let moment: Moment
        let stop: Stop
        /// Whether to stop on the loop within the event, or concurrently on another thread.
        let isWithin: Bool

        var description: String { "\(stop) \(isWithin ? "within" : "beside") \(moment.name) #\(moment.number)" }
    }

    enum Version: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
        case http3 = "HTTP/3"

        var testDescription: String { rawValue }
        var part: ServerFarm.Part { self == .http3 ? .aioquic : .node }
    }

    // MARK: Servers

    /// A real server, with a relay of its own for each run.
    private enum Server {
        case packaged(WebSocketServer)
        case aioquic(AioquicServer)

        init(_ version: Version) throws {
            let authority = try TrustedAuthority.authority
            switch version {
            case .http1: self = .packaged(try WebSocketServer(.node, authority: authority))
            case .http2: self = .packaged(try WebSocketServer(.nodeHTTP2, authority: authority))
            case .http3: self = .aioquic(try AioquicServer(files: ["small": [1]], authority: authority))
            }
        }

        func stop() {
            switch self {
            case .packaged(let server): server.stop()
            case .aioquic(let server): server.stop()
            }
        }

        func relay() throws -> Relay {
            switch self {
            case .packaged(let server):
                let port = try #require(server.url().port)
                return .stream(try ScriptedServer { try $0.relay(to: port) })
            case .aioquic(let server):
                let relay = try DatagramRelay(to: try #require(server.secureURL("/").port))
                relay.release()
                return .datagrams(relay, isStopped: Watched(false))
            }
        }
    }

    private enum Relay: Sendable {
        case stream(ScriptedServer)
        case datagrams(DatagramRelay, isStopped: Watched<Bool>)

        var port: Int {
            switch self {
            case .stream(let server): server.port
            case .datagrams(let relay, _): relay.port
            }
        }

        func stop() {
            switch self {
            case .stream(let server): server.stop()
            case .datagrams(let relay, let isStopped):
                let isFirst = isStopped.withValue { isStopped in
                    defer { isStopped = true }
                    return !isStopped
                }
                if isFirst { relay.stop() }
            }
        }

        func url(_ scheme: String, _ path: String) throws -> URL {
            try #require(URL(string: "\(scheme)://127.0.0.1:\(port)\(path)"))
        }
    }

    // MARK: One run

    /// What happens in one session, up to the end of its only WebSocket.
    private final class Run: Sendable {
        let plan: Plan?
        let relay: Relay
        let moments = Watched<(isBegun: Bool, all: [Moment])>((false, []))
        let stopped = Signal("the stop")
        let task = Watched<URLSessionWebSocketTask?>(nil)
        let started = Watched(0)
        let results = EventRecorder<String>()

        init(_ plan: Plan?, over relay: Relay) {
            self.plan = plan
            self.relay = relay
        }

        func note(_ kind: LoadEvent.Kind) {
            let name = String(String(describing: kind).prefix { $0 != "(" })
            let moment = moments.withValue { moments -> Moment? in
                guard moments.isBegun else { return nil }
                let moment = Moment(name: name, number: moments.all.count { $0.name == name })
                moments.all.append(moment)
                return moment
            }
            guard let plan, moment == plan.moment else { return }
            if plan.isWithin { stop(plan.stop) } else { DispatchQueue.global().async { self.stop(plan.stop) } }
        }

        private func stop(_ stop: Stop) {
            let task = task.current
            switch stop {
            case .cancel: task?.cancel()
            case .close: task?.cancel(with: .other(4001), reason: Data("stop".utf8))
            case .lose: relay.stop()
            }
            stopped.fire()
        }

        // Each operation has one result.

        func send(_ text: String) {
            started.withValue { $0 += 1 }
            task.current?.send(.string(text)) { [results] in results.record("sent \($0?.summary ?? text)") }
        }

        func ping() {
            started.withValue { $0 += 1 }
            task.current?.sendPing { [results] in results.record("pong \($0?.summary ?? "")") }
        }

        func receive(_ next: @escaping @Sendable (Run) -> Void) {
            started.withValue { $0 += 1 }
            task.current?.receive { [self] result in
                results.record(RecordingWebSocketDelegate.text(of: result))
                if case .success = result { next(self) }
            }
        }

        /// Two echoes, a pong, and the closing.
        func begin() {
            send("one")
            ping()
            receive { $0.send("two") }
            receive { $0.task.current?.cancel(with: .normalClosure, reason: Data("bye".utf8)) }
            receive { _ in }
            moments.withValue { $0.isBegun = true }
            task.current?.resume()
        }
    }

    private struct Weak: @unchecked Sendable {
        // Sendable: weak references are read and cleared atomically.
        weak var task: URLSessionTask?
        /// The session retains it, by its observer of events.
        weak var run: Run?

        var isGone: Bool { task == nil && run == nil }
    }

    private static let order = ["webSocketClosed", "responseEnded", "ended", "taskEnded"]

    /// Runs it to its end, and returns the moments.
    private func run(
        _ version: Version, _ server: Server, on stepped: SteppedLoop, _ plan: Plan? = nil
    ) async throws -> (moments: [Moment], left: Weak) {
        let relay = try server.relay()
        defer { relay.stop() }
        let run = Run(plan, over: relay)
        defer { run.task.withValue { $0 = nil } }
        let path = version == .http3 ? "/ws/echo" : "/echo"
        let session = WebSocketRun(try relay.url("wss", path), RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
            $0.eventObserver = { run.note($0.kind) }
        }
        run.task.withValue { $0 = session.task }
        if version != .http1 {
            var request = URLRequest(url: try relay.url("https", "/small"))
            request.assumesHTTP3Capable = version == .http3
            _ = try await session.session.data(for: request)
        }
        run.begin()
        let calls = session.delegate.calls
        if plan?.stop == .lose, version == .http3 {
            try await run.stopped.wait()
            // Silence has no event but the end of its time.
            let end = ContinuousClock.now + .testDeadline
            while calls.events.completionCount(of: 1) == 0, ContinuousClock.now < end {
                try await stepped.step(by: TimeLimits.seconds(10))
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        let all = try await session.end()
        if plan != nil { try await run.stopped.wait() }
        let name = Comment(rawValue: "\(plan?.description ?? "no stop"): \(all) \(run.results.events)")
        #expect(all.completionCount(of: 1) == 1, name)
        _ = try await run.results.waitFor(count: run.started.current)
        #expect(run.results.count == run.started.current, name)
        check(all.filter { $0.task == 1 }, run, name)
        try await stepped.step(by: TimeLimits.seconds(3_600))
        let loop = stepped.loop
        #expect(try await stepped.run { loop.armedTimerCount } == 0, name)
        #expect(run.results.count == run.started.current, name)
        return (run.moments.current.all, Weak(task: session.task, run: run))
    }

    private func check(_ calls: [Call], _ run: Run, _ name: Comment) {
        guard case .completed(_, let code)? = calls.last else {
            Issue.record("calls after the end: \(name)")
            return
        }
        let kinds = calls.map(\.kind)
        #expect(kinds.count { $0 == "opened" } <= 1, name)
        #expect(kinds.count { $0 == "closed" } <= (kinds.contains("opened") ? 1 : 0), name)
        #expect(kinds.contains("closed") == (code == nil), name)
        guard let plan = run.plan else { return #expect(code == nil, name) }
        let isOver = Self.order.contains(plan.moment.name)
        switch plan.stop {
        case .cancel, .close:
            #expect(code == nil || code == .cancelled, name)
            if plan.isWithin, plan.stop == .cancel, !isOver { #expect(code == .cancelled, name) }
        case .lose:
            let expected: [URLError.Code?] = [.networkConnectionLost, .cannotConnectToHost, .timedOut]
            #expect(code == nil || expected.contains(code), name)
        }
    }

    // MARK: The tests

    // T-5, T-7, WS-6, WS-9, WS-10, WS-13: one end, one result of each operation, nothing left
    @Test("stopped at each event", arguments: Version.allCases) func stopped(version: Version) async throws {
        if let missing = version.part.missing { return try missing.allowSkipping() }
        if version == .http3, !HTTP3Build.isAvailable { return }
        let server = try Server(version)
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let moments = try await run(version, server, on: stepped).moments
        // What the baseline must have, so that nothing is skipped without notice.
        let names = Set(moments.map(\.name))
        #expect(
            names.isSuperset(of: [
                "connectionAssigned", "requestHeadSent", "responseHead", "webSocketOpened", "webSocketMessage",
                "webSocketPing", "webSocketCloses", "webSocketClosed", "ended",
            ]), "\(names)")
        var left: [(plan: Plan, what: Weak)] = []
        for moment in moments {
            for stop in Stop.allCases {
                for isWithin in [true, false] {
                    let plan = Plan(moment: moment, stop: stop, isWithin: isWithin)
                    left.append((plan, try await run(version, server, on: stepped, plan).left))
                }
            }
        }
        let all = left
        try? await eventually { all.allSatisfy(\.what.isGone) }
        #expect(left.filter { !$0.what.isGone }.map(\.plan.description) == [])
    }
}

extension [Call] {
    fileprivate func completionCount(of task: Int) -> Int {
        count { if case .completed(task, _) = $0 { true } else { false } }
    }
}
