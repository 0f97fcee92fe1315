public import Foundation
internal import LoadingEvents
internal import LoadingTransport
internal import Synchronization

/// The superclass of ``URLSessionTask``; not for other use.
///
/// It has the types that are additions to Apple's API. Programs nest their own of the same names in the classes of
/// tasks: the type of a class has precedence over that of its superclass, but two of one class would be ambiguous.
open class _URLSessionTaskMembers: NSObject, @unchecked Sendable {
    // Sendable: it has no state.

    /// The state, the progress and the counters of a task at one moment.
    public struct Status: Hashable, Sendable {
        /// The state of the task.
        public var state: URLSessionTask.State
        /// The number of body bytes sent so far.
        public var countOfBytesSent: Int64
        /// The length of the request's body in bytes; −1 if unknown.
        public var countOfBytesExpectedToSend: Int64
        /// The number of body bytes received so far, after decoding.
        public var countOfBytesReceived: Int64
        /// The length of the response's body in bytes; −1 if unknown or content-coded.
        public var countOfBytesExpectedToReceive: Int64
        /// Whether the task has completed with an error.
        private let hasFailed: Bool
        private let showsOnlySent: Bool

        /// The fraction of the body bytes of both directions that have been sent and received, from 0 to 1, as in the
        /// task's ``URLSessionTask/progress``.
        ///
        /// It is 0 while a length is unknown, and 1 when the task has completed without an error. If a body takes
        /// longer to send, the fraction is that of the bytes sent, because the length of the response is unknown until
        /// then.
        public var fractionCompleted: Double {
            if state == .completed, !hasFailed { return 1 }
            if showsOnlySent {
                guard countOfBytesExpectedToSend > 0 else { return 0 }
                return min(1.0.nextDown, Double(countOfBytesSent) / Double(countOfBytesExpectedToSend))
            }
            guard countOfBytesExpectedToSend >= 0, countOfBytesExpectedToReceive >= 0 else { return 0 }
            // Sums of integers could overflow: the server chooses the length of the response.
            let expected = Double(countOfBytesExpectedToSend) + Double(countOfBytesExpectedToReceive)
            guard expected > 0 else { return 0 }
            return min(1, (Double(countOfBytesSent) + Double(countOfBytesReceived)) / expected)
        }

        init(of core: TaskCore) {
            (state, hasFailed) = core.locked { ($0.state, $0.error != nil) }
            showsOnlySent = core.showsOnlySent.load(ordering: .sequentiallyConsistent)
            countOfBytesSent = core.bytesSent.load(ordering: .sequentiallyConsistent)
            countOfBytesExpectedToSend = core.bytesExpectedToSend.load(ordering: .sequentiallyConsistent)
            countOfBytesReceived = core.bytesReceived.load(ordering: .sequentiallyConsistent)
            countOfBytesExpectedToReceive = core.bytesExpectedToReceive.load(ordering: .sequentiallyConsistent)
        }
    }

    /// The status of a task over time: ``URLSessionTask/statusUpdates``. Each iteration is independent.
    public struct StatusUpdates: AsyncSequence, Sendable {
        let core: TaskCore?

        /// The iterator, which does not retain the task.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let core: TaskCore?
            private var changes: AsyncStream<Void>.Iterator?
            private var last: Status?

            init(_ core: TaskCore?) { self.core = core }

            /// The next status; nil after that of the completed task, and when the reading task is cancelled.
            public mutating func next() async -> Status? {
                guard let core, last?.state != .completed else { return nil }
                // Before the first reading, so that no change is missed.
                if changes == nil { changes = core.observe().makeAsyncIterator() }
                repeat {
                    if last != nil, await changes?.next() == nil { return nil }
                    let status = Status(of: core)
                    if status != last {
                        last = status
                        return status
                    }
                } while true
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(core) }
    }
}

extension URLSessionTask {
    /// The present status of the task, and each change of it until the task has completed.
    ///
    /// On Apple platforms these values are observed by their keys, which Swift on Linux does not have. A reader that is
    /// slower than the task gets the newest status, not each one in between. The last status is that of the completed
    /// task; callbacks of its end may still come after it.
    ///
    /// ```swift
    /// for await status in task.statusUpdates {
    ///     print(status.state, status.fractionCompleted, status.countOfBytesReceived)
    /// }
    /// ```
    @_disfavoredOverload
    public var statusUpdates: StatusUpdates { StatusUpdates(core: core) }
}

/// What waits for changes of a task.
final class TaskObservers: Callout, @unchecked Sendable {
    // Sendable: the mutable state is guarded by the lock.

    private let lock = Lock()
    private var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
    private var nextKey = 0
    /// Whether a call is due that wakes the waiters.
    private var isDue = false

    func add() -> AsyncStream<Void> {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = lock.withLock {
            continuations[nextKey] = continuation
            defer { nextKey += 1 }
            return nextKey
        }
        // Released outside the lock.
        continuation.onTermination = { [weak self] _ in
            _ = self?.lock.withLock { self?.continuations.removeValue(forKey: key) }
        }
        return changes
    }

    /// Wakes the waiters, with the loop lent: an executor of the program is called, which may block. Without a loop
    /// that happens in this call, so not with a lock.
    func changed(on loop: EventLoop) {
        guard loop.isServed else { return callOut() }
        let mustCall = lock.withLock {
            defer { isDue = true }
            return !isDue
        }
        if mustCall { loop.callOut(self) }
    }

    func callOut() {
        let waiting = lock.withLock {
            isDue = false
            return continuations.values
        }
        for continuation in waiting { continuation.yield() }
    }
}

extension TaskCore {
    /// A stream with an element after each change of the state or a counter.
    func observe() -> AsyncStream<Void> {
        let new = TaskObservers()
        let observers = locked { values in
            let observers = values.observers ?? new
            values.observers = observers
            return observers
        }
        isObserved.store(true, ordering: .sequentiallyConsistent)
        return observers.add()
    }

    /// The state or a counter has changed.
    func statusChanged() {
        guard isObserved.load(ordering: .sequentiallyConsistent) else { return }
        locked { $0.observers }?.changed(on: loop)
    }
}
