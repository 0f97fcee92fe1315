import Foundation
import TestSupport
import Testing

@testable import URLLoading

private final class NoDelegate: NSObject, NSURLConnectionDelegate {}

/// The order of the callbacks of a connection, if their place changes while some are due, and if one runs the run loop
/// again. Without a check for leaks, because the first run loop of a process leaves descriptors behind.
@Suite struct ConnectionOrderTests {
    private static let otherMode = RunLoop.Mode("other")

    /// Not started: the tests make its callbacks due.
    private let connection: NSURLConnection
    private let calls = EventRecorder<Int>()

    init() throws {
        connection = try #require(
            NSURLConnection(
                request: URLRequest(url: URL(fileURLWithPath: "/")), delegate: NoDelegate(), startImmediately: false))
    }

    /// Makes callbacks due, which record their numbers.
    private func perform(_ numbers: Int...) {
        for number in numbers { connection.perform { [calls] _, _ in calls.record(number) } }
    }

    /// Runs the body on a thread of its own, whose run loop no other test uses.
    private func onThread(_ body: @escaping @Sendable () -> Void) throws {
        let done = Signal("the end of the thread")
        Thread {
            body()
            done.fire()
        }.start()
        try done.wait()
    }

    /// Runs the current run loop until there have been so many callbacks, or the test fails.
    private func run(until count: Int, in mode: RunLoop.Mode = .default) {
        let end = Date(timeIntervalSinceNow: 10)
        while calls.count < count, end > Date() { _ = RunLoop.current.run(mode: mode, before: end) }
    }

    // S-101
    @Test("a run loop that a callback runs makes the next callbacks in their order") func nested() throws {
        defer { connection.cancel() }
        try onThread {
            connection.schedule(in: .current, forMode: .default)
            connection.perform { _, _ in
                perform(3)
                run(until: 3)
                calls.record(4)
            }
            perform(1, 2)
            run(until: 4)
        }
        #expect(calls.events == [1, 2, 3, 4])
    }

    // S-101
    @Test("a mode that is added makes the callbacks that were due before") func addedMode() throws {
        defer { connection.cancel() }
        try onThread {
            connection.schedule(in: .current, forMode: .default)
            perform(1, 2)
            connection.schedule(in: .current, forMode: Self.otherMode)
            perform(3)
            run(until: 3, in: Self.otherMode)
        }
        #expect(calls.events == [1, 2, 3])
    }

    // S-101
    @Test("without a mode, the callbacks that are due come on the queue of the process") func removedMode() throws {
        defer { connection.cancel() }
        try onThread {
            connection.schedule(in: .current, forMode: .default)
            perform(1, 2)
            connection.unschedule(from: .current, forMode: .default)
        }
        perform(3)
        #expect(try calls.waitFor(count: 3) == [1, 2, 3])
    }

    // S-101
    @Test("callbacks that are due move to a queue, and from there to another run loop") func queue() throws {
        defer { connection.cancel() }
        let queue = OperationQueue()
        try onThread {
            connection.schedule(in: .current, forMode: .default)
            perform(1, 2)
        }
        connection.setDelegateQueue(queue)
        perform(3)
        #expect(try calls.waitFor(count: 3) == [1, 2, 3])
        queue.waitUntilAllOperationsAreFinished()
        queue.isSuspended = true
        perform(4, 5)
        try onThread {
            connection.schedule(in: .current, forMode: .default)
            perform(6)
            run(until: 6)
        }
        #expect(calls.events == [1, 2, 3, 4, 5, 6])
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        #expect(calls.count == 6)
    }

    // S-101
    @Test("a callback at the place before has ended when the next one comes") func oneAtATime() throws {
        defer { connection.cancel() }
        let queue = OperationQueue()
        connection.setDelegateQueue(queue)
        let began = Signal("the first callback")
        let goesOn = Signal("its end")
        connection.perform { _, _ in
            began.fire()
            try? goesOn.wait()
            calls.record(1)
        }
        try began.wait()
        try onThread {
            connection.schedule(in: .current, forMode: .default)
            perform(2)
            // After the blocks that were enqueued before it.
            RunLoop.current.perform(inModes: [.default]) { goesOn.fire() }
            run(until: 2)
        }
        #expect(calls.events == [1, 2])
        queue.waitUntilAllOperationsAreFinished()
    }
}
