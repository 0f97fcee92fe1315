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
///   task has its own. An operation makes the calls that were due when it was enqueued. What comes later waits for the next
///   operation, which is enqueued when this one has run: so no call overtakes an operation of the caller's that was enqueued
///   before its cause.
/// - **No queue given**: calls run one after the other on the loop's thread, with the loop lent meanwhile (see
///   `EventLoop`). From the moment somebody asks for the session's `delegateQueue` they are operations on that queue.
final class DeliveryQueue: Callout, @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`. That also keeps accesses apart, so exclusive access to what each
    // batch changes is not checked.

    private let loop: EventLoop
    let lock = ForkGuardedLock()
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
            queue.addOperation(GateOperation(gate))
        }
        operationQueue = queue
        return queue
    }

    /// Has `delivery` called soon, from any thread. Not again before it was: whoever schedules keeps track of that.
    func schedule(_ delivery: any Delivery) {
        if ForkedProcess.isCurrent { return WorkWithoutLoop.perform { while delivery.deliver(.all) {} } }
        lock.lock()
        if let operationQueue, gate == nil, operationQueue.maxConcurrentOperationCount != 1 {
            lock.unlock()
            delivery.seal()
            return operationQueue.addOperation(DeliveryOperation([delivery]) { self.ranAlone($0) })
        }
        due.append(delivery)
        let mustStart = !isRunning
        isRunning = true
        let queue = operationQueue
        lock.unlock()
        guard mustStart else { return }
        if let queue { return addOperation(to: queue) }
        if loop.isServed { loop.callOut(self) } else { WorkWithoutLoop.perform { self.callOut() } }
    }

    /// Has `block` called as one of the session's calls.
    func schedule(_ block: @escaping @Sendable () -> Void) { schedule(BlockDelivery(block)) }

    /// Enqueues an operation for all that is due. None is there already, so a delivery is in one operation at a time.
    private func addOperation(to queue: OperationQueue) {
        lock.lock()
        let batch = due[dueHead...].compactMap { $0 }
        due = []
        dueHead = 0
        lock.unlock()
        for delivery in batch { delivery.seal() }
        queue.addOperation(DeliveryOperation(batch) { self.ran($0) })
    }

    private func ranAlone(_ unfinished: [any Delivery]) {
        for delivery in unfinished { schedule(delivery) }
    }

    private func ran(_ unfinished: [any Delivery]) {
        lock.lock()
        // They were due before what came meanwhile.
        due.insert(contentsOf: unfinished, at: dueHead)
        let queue = dueHead < due.count ? operationQueue : nil
        if queue == nil { isRunning = false }
        lock.unlock()
        if let queue { addOperation(to: queue) }
    }

    func callOut() {
        while let delivery = nextOrStop() {
            if delivery.deliver(.all) { put(delivery) }
        }
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

    func seal() {}

    func deliver(_ extent: DeliveryExtent) -> Bool {
        block()
        return false
    }
}

/// An operation of the session's. `cancelAllOperations` is meant for the caller's own operations: without these no task of
/// the session would ever end.
private class SessionOperation: Operation, @unchecked Sendable {
    // Sendable as its superclass.
    override func cancel() {}
}

/// Makes what was sealed of some deliveries.
private final class DeliveryOperation: SessionOperation, @unchecked Sendable {
    // Sendable because what is mutable is touched by `main` alone.

    /// The first one last. Each is let go of when its calls have been made.
    private var deliveries: [any Delivery]
    private let then: @Sendable ([any Delivery]) -> Void

    /// - Parameter then: Gets those that have more to tell by now.
    init(_ deliveries: [any Delivery], then: @escaping @Sendable ([any Delivery]) -> Void) {
        self.deliveries = deliveries.reversed()
        self.then = then
    }

    override func main() {
        var unfinished: [any Delivery] = []
        while let delivery = deliveries.popLast() {
            if delivery.deliver(.sealed) { unfinished.append(delivery) }
        }
        then(unfinished)
    }
}

/// Keeps the queue until a call that is made elsewhere has returned.
private final class GateOperation: SessionOperation, @unchecked Sendable {
    // Sendable because its only property never changes.
    private let gate: DispatchSemaphore

    init(_ gate: DispatchSemaphore) { self.gate = gate }

    override func main() { gate.wait() }
}
