internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingTransport

/// Where a session's delegate calls and completion handlers run, one task's strictly one after the other.
///
/// Every caller gets what Apple documents, in the cheapest way that nobody can tell from the documented one:
///
/// - **A queue of the caller's**: each batch of calls is one operation on it, so the caller's own operations run in
///   between. On a serial queue one operation serves all tasks that have something to say; on a concurrent one each
///   task has its own.
/// - **No queue given**: calls run one after the other on the loop's thread, with the loop lent meanwhile (see
///   `EventLoop`). From the moment somebody asks for the session's `delegateQueue` they are operations on that queue.
final class DeliveryQueue: Callout, @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.

    private let loop: EventLoop
    private let lock = Lock()
    /// The caller's queue, or ours once somebody asked for it.
    private var operationQueue: OperationQueue?
    /// Nil where it has been taken: none is let go of with the lock held, for its end is the caller's code.
    @exclusivity(unchecked) private var due: [(any Delivery)?] = []
    @exclusivity(unchecked) private var dueHead = 0
    private var isRunning = false
    /// Ours was made while a call ran on the loop's thread: its first operation waits here until that call is done.
    private var gate: DispatchSemaphore?

    init(loop: EventLoop, operationQueue: OperationQueue?) {
        self.loop = loop
        self.operationQueue = operationQueue
    }

    /// The queue as the session shows it. Made when it is first asked for.
    var shown: OperationQueue {
        lock.lock()
        defer { lock.unlock() }
        if let operationQueue { return operationQueue }
        let queue = OperationQueue()
        queue.name = "URLSession delegate queue"
        queue.maxConcurrentOperationCount = 1
        if isRunning {
            // Nothing of the caller's may run beside the call that is being made now. A suspended queue would say the
            // same, but suspending is the caller's to do and undo.
            let gate = DispatchSemaphore(value: 0)
            self.gate = gate
            queue.addOperation(CallOperation { gate.wait() })
        }
        operationQueue = queue
        return queue
    }

    /// Has `delivery` called soon, from any thread. Not again before it was: whoever schedules keeps track of that.
    func schedule(_ delivery: any Delivery) {
        lock.lock()
        if let operationQueue, gate == nil, operationQueue.maxConcurrentOperationCount != 1 {
            lock.unlock()
            return operationQueue.addOperation(CallOperation { self.deliverAlone(delivery) })
        }
        due.append(delivery)
        let mustStart = !isRunning
        isRunning = true
        let queue = operationQueue
        lock.unlock()
        guard mustStart else { return }
        if let queue { addOperation(to: queue) } else { loop.callOut(self) }
    }

    /// Has `block` called as one of the session's calls.
    func schedule(_ block: @escaping @Sendable () -> Void) { schedule(BlockDelivery(block)) }

    private func addOperation(to queue: OperationQueue) {
        queue.addOperation(CallOperation { self.deliverDue() })
    }

    private func deliverAlone(_ delivery: any Delivery) {
        if delivery.deliver() { schedule(delivery) }
    }

    /// One operation's worth: what was due when it began, so that operations of the caller's get their turn.
    private func deliverDue() {
        lock.lock()
        var remaining = due.count - dueHead
        lock.unlock()
        while remaining > 0, let delivery = next() {
            remaining -= 1
            if delivery.deliver() { put(delivery) }
        }
        lock.lock()
        let queue = dueHead < due.count ? operationQueue : nil
        if queue == nil { isRunning = false }
        lock.unlock()
        if let queue { addOperation(to: queue) }
    }

    func callOut() {
        while let delivery = nextOrStop() {
            if delivery.deliver() { put(delivery) }
        }
    }

    private func next() -> (any Delivery)? {
        lock.lock()
        defer { lock.unlock() }
        return takeFirst()
    }

    private func takeFirst() -> (any Delivery)? {
        guard dueHead < due.count else { return nil }
        var first: (any Delivery)?
        swap(&first, &due[dueHead])
        dueHead += 1
        if dueHead == due.count {
            due.removeAll(keepingCapacity: due.count <= 1024)
            dueHead = 0
        } else if dueHead >= 1024 {
            due.removeFirst(dueHead)
            dueHead = 0
        }
        return first
    }

    /// The next one to be called on the loop's thread; nil when there is none or the rest is the queue's.
    private func nextOrStop() -> (any Delivery)? {
        lock.lock()
        guard let gate else {
            defer { lock.unlock() }
            if let first = takeFirst() { return first }
            isRunning = false
            return nil
        }
        self.gate = nil
        let queue = dueHead < due.count ? operationQueue : nil
        if queue == nil { isRunning = false }
        lock.unlock()
        if let queue { addOperation(to: queue) }
        gate.signal()
        return nil
    }

    private func put(_ delivery: any Delivery) {
        lock.lock()
        due.append(delivery)
        lock.unlock()
    }
}

private final class BlockDelivery: Delivery {
    private let block: @Sendable () -> Void

    init(_ block: @escaping @Sendable () -> Void) { self.block = block }

    func deliver() -> Bool {
        block()
        return false
    }
}

/// An operation that makes calls. Who cancels all operations of the queue, which is his, means his own: without these
/// calls no task of the session would ever end.
private final class CallOperation: Operation, @unchecked Sendable {
    // Sendable because its only property never changes.
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    override func main() { body() }

    override func cancel() {}
}
