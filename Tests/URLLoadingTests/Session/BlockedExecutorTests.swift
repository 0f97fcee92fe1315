import Foundation
import TestSupport
import Testing
import URLLoading

/// The program's code that runs when an `async` load continues or ends: executors and deinits. If it blocks, other
/// loads are not delayed.
@Suite(.leavesNothing) struct BlockedExecutorTests {
    /// Blocks threads of the library's loops that enqueue a job, until it is released.
    private final class BlockedExecutor: TaskExecutor {
        /// Fired when a job has run.
        let isIdle = Signal("a job that waits")
        let blocked = Signal("a job from a loop")
        let release = Signal("going on")
        /// Whether the release timed out.
        let stalled = Signal("a stall")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            if Thread.isLoop {
                blocked.fire()
                if (try? release.wait()) == nil { stalled.fire() }
            }
            DispatchQueue.global().async { [self] in
                job.runSynchronously(on: asUnownedTaskExecutor())
                isIdle.fire()
            }
        }
    }

    /// Loads in the same session, and in enough others that some share its loop.
    private func loadMore(in session: URLSession, from server: ScriptedServer) async throws {
        #expect(try await session.text(server.url("/same")) == "/same")
        for index in 0..<16 {
            let other = URLSession { _ in }
            #expect(try await other.text(server.url("/\(index)")) == "/\(index)")
            other.invalidateAndCancel()
        }
    }

    // S-79, T-55
    @Test("an executor that blocks when a load ends") func anExecutorThatBlocksWhenALoadEnds() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("hello").held(until: held) : .text(request.path)
        }
        defer { server.stop() }
        let executor = BlockedExecutor()
        let session = URLSession { _ in }
        let load = Task(executorPreference: executor) { try await session.text(server.url("/held")) }
        try await executor.isIdle.wait()
        held.fire()
        try await executor.blocked.wait()
        try await loadMore(in: session, from: server)
        executor.release.fire()
        #expect(try await load.value == "hello")
        #expect(!executor.stalled.isFired)
        session.invalidateAndCancel()
    }

    // S-79, T-56: and when it fails
    @Test("an executor that blocks when a load is cancelled") func anExecutorThatBlocksWhenALoadIsCancelled()
        async throws
    {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("hello").held(until: never) : .text(request.path)
        }
        defer { server.stop() }
        let executor = BlockedExecutor()
        let session = URLSession { _ in }
        let load = Task(executorPreference: executor) { try await session.text(server.url("/held")) }
        try await executor.isIdle.wait()
        load.cancel()
        try await executor.blocked.wait()
        try await loadMore(in: session, from: server)
        executor.release.fire()
        #expect(await failure { _ = try await load.value } == .cancelled)
        #expect(!executor.stalled.isFired)
        session.invalidateAndCancel()
    }

    // S-79, T-58: the head, a piece and the end of a body
    @Test("an executor that blocks while bytes are read", arguments: 0..<3) func anExecutorThatBlocksWhileBytesAreRead(
        moment: Int
    ) async throws {
        let steps = (0..<3).map { Signal("step \($0)") }
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            guard request.path == "/held" else {
                return try connection.send(CannedResponse.text(request.path).closing(), to: request)
            }
            try connection.wait(for: steps[0])
            try connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
            try connection.wait(for: steps[1])
            try connection.send("5\r\nhello\r\n")
            try connection.wait(for: steps[2])
            try connection.send("0\r\n\r\n")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let executor = BlockedExecutor()
        let session = URLSession { _ in }
        /// Waits for a step within `body`, in the blocking executor.
        func waiting<Result: Sendable>(
            for step: Int, _ body: @escaping @Sendable () async throws -> Result
        ) async throws -> Result {
            guard step == moment else {
                steps[step].fire()
                return try await body()
            }
            let task = Task(executorPreference: executor, operation: body)
            try await executor.isIdle.wait()
            steps[step].fire()
            try await executor.blocked.wait()
            try await loadMore(in: session, from: server)
            executor.release.fire()
            return try await task.value
        }
        let (bytes, _) = try await waiting(for: 0) { try await session.bytes(from: server.url("/held")) }
        let iterator = bytes.makeAsyncIterator()
        let (text, rest) = try await waiting(for: 1) {
            var iterator = iterator
            var text: [UInt8] = []
            while text.count < 5, let byte = try await iterator.next() { text.append(byte) }
            return (String(decoding: text, as: UTF8.self), iterator)
        }
        #expect(text == "hello")
        let end = try await waiting(for: 2) {
            var iterator = rest
            return try await iterator.next()
        }
        #expect(end == nil)
        #expect(!executor.stalled.isFired)
        session.invalidateAndCancel()
    }

    // S-79, T-10
    @Test("an executor that blocks while a task is observed") func anExecutorThatBlocksWhileATaskIsObserved()
        async throws
    {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("hello").held(until: held) : .text(request.path)
        }
        defer { server.stop() }
        let executor = BlockedExecutor()
        let session = URLSession { _ in }
        let task = session.dataTask(with: server.url("/held"))
        task.resume()
        try await server.waitForRequests(1)
        let updates = task.statusUpdates
        let reader = Task(executorPreference: executor) {
            var last: URLSessionTask.State?
            for await status in updates { last = status.state }
            return last
        }
        try await executor.isIdle.wait()
        held.fire()
        try await executor.blocked.wait()
        try await loadMore(in: session, from: server)
        executor.release.fire()
        #expect(await reader.value == .completed)
        #expect(!executor.stalled.isFired)
        session.invalidateAndCancel()
    }

    // S-79, T-9: what a load was the last to hold goes with it
    @Test("a deinit that blocks when a load ends") func aDeinitThatBlocksWhenALoadEnds() async throws {
        final class Delegate: NSObject, URLSessionDelegate {
            let (blocked, release, stalled) = (Signal("the deinit"), Signal("going on"), Signal("a stall"))
            deinit {
                blocked.fire()
                if (try? release.wait()) == nil { stalled.fire() }
            }
        }
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("hello").held(until: held) : .text(request.path)
        }
        defer { server.stop() }
        // There is no other reference to the session, and it retains its delegate.
        let (load, blocked, release, stalled) = {
            let delegate = Delegate()
            let session = URLSession(delegate)
            let load = Task { try await session.text(server.url("/held")) }
            return (load, delegate.blocked, delegate.release, delegate.stalled)
        }()
        try await server.waitForRequests(1)
        held.fire()
        try await blocked.wait()
        let session = URLSession { _ in }
        try await loadMore(in: session, from: server)
        release.fire()
        #expect(try await load.value == "hello")
        #expect(!stalled.isFired)
        session.invalidateAndCancel()
    }
}

extension Thread {
    /// Whether the current thread runs, or has just run, a loop of the library.
    static var isLoop: Bool {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "url-loop\n"
    }
}
