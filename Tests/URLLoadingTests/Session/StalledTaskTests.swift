import Foundation
import TestSupport
import Testing
import URLLoading

/// Stalled tasks that continue: nothing is lost, and nothing polls meanwhile.
@Suite(.leavesNothing) struct StalledTaskTests {
    /// 327,680 letters A in brotli. The decoder consumes the input long before it has produced all output.
    private static let letters: [UInt8] = [
        0x5B, 0xFF, 0xFF, 0x84, 0x5F, 0x22, 0x28, 0x1E, 0x0B, 0x04, 0x72, 0xEF, 0x09, 0x00,
    ]

    // ENC-9, T-58, CONN-22: the reader has enough when the coded bytes are used up and the decoder is still full
    @Test("buffered decoder output is delivered at the end") func bufferedDecoderOutputIsDeliveredAtTheEnd()
        async throws
    {
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(Self.letters).with(field: "Content-Encoding", "br"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, _) = try await session.bytes(from: server.url())
        // As much as waits for a reader.
        while bytes.task.countOfBytesReceived < 262_144, bytes.task.state == .running { await Task.yield() }
        var count = 0
        for try await _ in bytes { count += 1 }
        #expect(count == 327_680)
        session.invalidateAndCancel()
    }

    // CONN-24, C-7: almost no time is allowed, but in the line none passes
    @Test("a request with the shortest timeout waits in the queue") func theShortestTimeoutWaitsInTheQueue()
        async throws
    {
        let held = Signal("the first answer")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        try await server.waitForRequests(1)
        session.dataTask(with: URLRequest(url: server.url(), timeoutInterval: 1e-9)).resume()
        // The loop is free to do other things.
        for _ in 0..<3 { await session.flush() }
        let other = try ScriptedServer.answering(.text("x"))
        defer { other.stop() }
        session.dataTask(with: other.url()).resume()
        let calls = try await delegate.calls(untilCompletions: 1)
        #expect(calls.contains(.completed(3, nil)))
        held.fire()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // T-2, T-3, S-79: the last call wins, on any threads
    @Test("a task that is suspended and resumed on two threads at once")
    func aTaskThatIsSuspendedAndResumedOnTwoThreadsAtOnce() async throws {
        let held = Signal("the answers")
        var options = ScriptedServer.Options()
        // The two threads turn round each other, which takes long where they have to share a processor.
        options.deadline = .seconds(60)
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held), options: options)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 8 }
        let tasks = (0..<500).map { _ in session.dataTask(with: server.url()) }
        session.finishTasksAndInvalidate()
        let current = Watched<URLSessionTask?>(nil)
        let done = Signal("all resumed")
        Thread {
            for task in tasks {
                while current.current !== task { sched_yield() }
                while task.state != .suspended { sched_yield() }
                task.resume()
            }
            done.fire()
        }.start()
        for task in tasks {
            task.resume()
            current.withValue { $0 = task }
            task.suspend()
            while task.state != .running { sched_yield() }
        }
        try await done.wait()
        held.fire()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.count { if case .completed(_, nil) = $0 { true } else { false } } == tasks.count)
    }

    // T-23: the delegate that is replaced may look at its task when it goes
    @Test("a task delegate that is replaced asks its task for its state")
    func aTaskDelegateThatIsReplacedAsksItsTaskForItsState() throws {
        final class Curious: NSObject, URLSessionTaskDelegate {
            let task: URLSessionTask
            let seen: Watched<URLSessionTask.State?>
            init(_ task: URLSessionTask, _ seen: Watched<URLSessionTask.State?>) {
                self.task = task
                self.seen = seen
            }
            deinit { seen.withValue { $0 = task.state } }
        }
        let session = URLSession { _ in }
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        let seen = Watched<URLSessionTask.State?>(nil)
        task.delegate = Curious(task, seen)
        task.delegate = nil
        #expect(seen.current == .suspended)
        session.invalidateAndCancel()
    }

    // what the configuration adds is dropped like what the request brings, delegate or not
    @Test("a redirect takes the configuration's authorization off", arguments: [true, false])
    func aRedirectTakesTheConfigurationsAuthorizationOff(
        asks: Bool
    ) async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/start" ? .redirect(to: "/end") : .text(request["Authorization"] ?? "none")
        }
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer x", "X-Other": "y"]
        let session = URLSession(
            configuration: configuration, delegate: asks ? RecordingDelegate() : nil, delegateQueue: nil)
        let (body, _) = try await session.data(from: server.url("/start"))
        #expect(String(decoding: body, as: UTF8.self) == "none")
        #expect(server.requests.map { $0["X-Other"] } == ["y", "y"])
        session.invalidateAndCancel()
    }

    // T-16, MISC-13
    @Test("a length below nothing in an answer to HEAD is no length")
    func aLengthBelowNothingInAnAnswerToHEADIsNoLength() async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n"), .waitForClose,
        ])
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "HEAD"
        let session = URLSession { _ in }
        let (_, response) = try await session.data(for: request)
        #expect(response.expectedContentLength == -1)
        session.invalidateAndCancel()
    }
}
