import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// The callbacks of tasks with a cache, in order.
@Suite(.leavesNothing) struct CacheSequenceTests {
    static func answer(_ request: ReceivedRequest) -> CannedResponse {
        if request["If-None-Match"] == "\"1\"" { return .status(304) }
        let response = CannedResponse.text("hello")
        return switch request.path {
        case "/fresh": response.with(field: "Cache-Control", "max-age=60")
        case "/tagged": response.with(field: "ETag", "\"1\"").with(field: "Cache-Control", "no-cache")
        default: response.with(field: "Cache-Control", "no-store")
        }
    }

    /// All callbacks of tasks that run one after another.
    private func calls(_ paths: [String], _ delegate: RecordingDelegate, _ queue: OperationQueue?) async throws
        -> [Call]
    {
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue)
        for (index, path) in paths.enumerated() {
            session.dataTask(with: server.url(path)).resume()
            _ = try await delegate.calls(untilCompletions: index + 1)
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    /// A delegate that implements `willCacheResponse` and accepts.
    static var asked: RecordingDelegate {
        let delegate = RecordingDelegate()
        delegate.keep = { $2($1) }
        return delegate
    }

    // T-40, T-42, CACHE-5, CACHE-7: a hit is delivered like any response, without willCacheResponse
    @Test("stored, then a hit", arguments: [false, true]) func hit(hasQueue: Bool) async throws {
        let delegate = Self.asked
        #expect(
            try await calls(
                ["/fresh", "/fresh"], delegate, hasQueue ? OperationQueue(name: "calls", width: 1) : nil
            ) == [
                .created(1), .response(1, 200), .data(1, "hello"), .willCache(1, 5), .metrics(1), .completed(1, nil),
                .created(2), .response(2, 200), .data(2, "hello"), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(
            delegate.metrics.events.map { $0.transactionMetrics.map(\.resourceFetchType) }
                == [[.networkLoad], [.localCache]])
    }

    // CACHE-17: the age of a stored response is that of the wall clock, which here moves with the loop's
    @Test("a response is loaded again when its lifetime is over") func freshnessByStep() async throws {
        let stepped = try SteppedLoop()
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        let delegate = Self.asked
        let session = URLSession(delegate) { $0.loop = stepped.loop }
        for (index, seconds) in [0, 59, 2].enumerated() {
            try await stepped.step(by: TimeLimits.seconds(Int64(seconds)))
            session.dataTask(with: server.url("/fresh")).resume()
            _ = try await delegate.calls(untilCompletions: index + 1)
        }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            delegate.metrics.events.map { $0.transactionMetrics.map(\.resourceFetchType) }
                == [[.networkLoad], [.localCache], [.networkLoad]])
    }

    // T-40, CACHE-7, CACHE-21, T-62: neither server trust nor authentication challenges
    @Test("a hit on an authenticated https response makes neither a challenge nor a connection")
    func hitBehindALogin() async throws {
        let basicAuth = BasicAuthResponder()
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { request in
            request["Authorization"] == basicAuth.field()
                ? CannedResponse.text("hello").with(field: "Cache-Control", "max-age=60") : basicAuth.refusal
        }
        defer { server.stop() }
        let url = server.url(host: "localhost")
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        /// A session without credentials.
        func calls(times: Int) async throws -> [Call] {
            let delegate = RecordingDelegate()
            delegate.challenge = { challenge, handler in
                let isLogin = challenge.protectionSpace.realm != nil
                handler(isLogin ? .useCredential : .performDefaultHandling, isLogin ? basicAuth.credential : nil)
            }
            let session = URLSession(delegate) { $0.urlCache = cache }
            for number in 1...times {
                session.dataTask(with: url).resume()
                _ = try await delegate.calls(untilCompletions: number)
            }
            session.finishTasksAndInvalidate()
            #expect(delegate.faults.events == [])
            return try await delegate.callsUntilInvalid()
        }
        func hit(_ task: Int) -> [Call] {
            [.created(task), .response(task, 200), .data(task, "hello"), .metrics(task), .completed(task, nil)]
        }
        #expect(
            try await calls(times: 2) == [
                .created(1), .challenge(1, "ServerTrust", 0), .challenge(1, "HTTPBasic r", 0), .response(1, 200),
                .data(1, "hello"), .metrics(1), .completed(1, nil),
            ] + hit(2) + [.invalid])
        #expect(server.connectionCount == 1 && server.requests.count == 2)
        server.stop()
        #expect(try await calls(times: 1) == hit(1) + [.invalid])
    }

    // T-27, T-42: also of a body that is delivered in one piece
    @Test("stored, in one piece") func inOnePiece() async throws {
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        let delegate = Self.asked
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/fresh"))
        task.prefersIncrementalDelivery = false
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .willCache(1, 5), .metrics(1), .completed(1, nil),
                .invalid,
            ])
    }

    // CACHE-13, CACHE-14
    @Test("stored, then confirmed", arguments: [false, true]) func confirmed(hasQueue: Bool) async throws {
        #expect(
            try await calls(
                ["/tagged", "/tagged"], Self.asked,
                hasQueue ? OperationQueue(name: "calls", width: 1) : nil) == [
                    .created(1), .response(1, 200), .data(1, "hello"), .willCache(1, 5), .metrics(1),
                    .completed(1, nil),
                    .created(2), .response(2, 200), .data(2, "hello"), .metrics(2), .completed(2, nil), .invalid,
                ])
    }

    // CACHE-3: no callback for a response that must not be stored
    @Test("not to be kept") func notToBeKept() async throws {
        #expect(
            try await calls(["/no"], Self.asked, nil) == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-42: a task whose delegate thinks about it has not ended, and can be cancelled
    @Test("cancelled while the delegate decides what to cache") func cancelledWhileAsked() async throws {
        let delegate = Self.asked
        let late = EventRecorder<String>()
        delegate.keep = { task, proposed, reply in
            task.cancel()
            late.record("asked")
            reply(proposed)
        }
        #expect(
            try await calls(["/fresh"], delegate, nil) == [
                .created(1), .response(1, 200), .data(1, "hello"), .willCache(1, 5), .metrics(1),
                .completed(1, .cancelled), .invalid,
            ])
        #expect(late.events == ["asked"])
    }
}
