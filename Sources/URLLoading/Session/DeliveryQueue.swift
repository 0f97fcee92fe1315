internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// Runs a session's delegate callbacks and completion handlers, those of one task strictly in order.
///
/// Behaves as Apple documents, with the least overhead:
///
/// - **With a queue of the program**: each batch of callbacks is one operation, so the program's operations run in
///   between. On a serial queue one operation serves all tasks with events; on a concurrent queue each task has its own
///   operation. An operation makes the callbacks that were due when it was enqueued. Later ones wait for the next
///   operation, which is enqueued when this one has run. So no callback overtakes an operation that the program
///   enqueued before the callback's cause.
/// - **Without a queue**: callbacks run one at a time on the loop's thread, with the loop lent (see `EventLoop`). After
///   the first access of `delegateQueue` they are operations on that queue.
final class DeliveryQueue: Callout, @unchecked Sendable {
    // Sendable: `lock` guards all mutable state. It also separates accesses, so exclusive access to what each batch
    // changes is not checked.

    private let loop: EventLoop
    let lock = ForkGuardedLock()
    /// The program's queue, or our own after the first access of `delegateQueue`.
    private var operationQueue: OperationQueue?
    /// Entries are not released under the lock, because a deinit may run the program's code.
    @exclusivity(unchecked) private var due = FIFOQueue<any Delivery>()
    private var isRunning = false
    /// Set if our queue was created during a callback on the loop's thread. The queue's first operation waits for its
    /// end.
    private var gate: DispatchSemaphore?
    /// Whether there is one, for a look without the lock. If that comes late, one more delivery is made before the
    /// queue may begin.
    private let hasGate = Atomic(false)

    init(loop: EventLoop, operationQueue: OperationQueue?) {
        self.loop = loop
        self.operationQueue = operationQueue
    }

    /// The value of `delegateQueue`. Created on first access.
    var shown: OperationQueue {
        lock.lock()
        defer { lock.unlock() }
        if let operationQueue { return operationQueue }
        let queue = OperationQueue()
        queue.name = "URLSession delegate queue"
        queue.maxConcurrentOperationCount = 1
        if isRunning {
            // The program's operations must not run during the current callback. Suspending the queue instead would
            // interfere with the program's use of `isSuspended`.
            let gate = DispatchSemaphore(value: 0)
            self.gate = gate
            hasGate.store(true, ordering: .relaxed)
            queue.addOperation(GateOperation(gate))
        }
        operationQueue = queue
        return queue
    }

    /// Schedules a delivery, from any thread. Must not be called again before the delivery has run.
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

    /// Schedules a block as a callback of the session.
    func schedule(_ block: @escaping @Sendable () -> Void) { schedule(BlockDelivery(block)) }

    /// Enqueues an operation for all due deliveries. There is at most one such operation, so a delivery is in one
    /// operation at a time.
    private func addOperation(to queue: OperationQueue) {
        lock.lock()
        let batch = due.popAll()
        lock.unlock()
        for delivery in batch { delivery.seal() }
        queue.addOperation(DeliveryOperation(batch) { self.ran($0) })
    }

    private func ranAlone(_ unfinished: [any Delivery]) {
        for delivery in unfinished { schedule(delivery) }
    }

    private func ran(_ unfinished: [any Delivery]) {
        lock.lock()
        // Unfinished deliveries precede those scheduled meanwhile.
        due.prepend(unfinished)
        let queue = due.isEmpty ? nil : operationQueue
        if queue == nil { isRunning = false }
        lock.unlock()
        if let queue { addOperation(to: queue) }
    }

    func callOut() {
        var batch = FIFOQueue<any Delivery>()
        while takeDue(&batch) {
            while let delivery = batch.popFirst() {
                if delivery.deliver(.all) {
                    lock.lock()
                    due.append(delivery)
                    lock.unlock()
                }
                if hasGate.load(ordering: .relaxed) { putBack(&batch) }
            }
        }
    }

    /// Takes all due deliveries for the loop's thread. False if there are none or the rest is for the queue.
    private func takeDue(_ batch: inout FIFOQueue<any Delivery>) -> Bool {
        lock.lock()
        guard let gate else {
            defer { lock.unlock() }
            isRunning = !due.isEmpty
            swap(&due, &batch)
            return isRunning
        }
        self.gate = nil
        hasGate.store(false, ordering: .relaxed)
        let queue = due.isEmpty ? nil : operationQueue
        if queue == nil { isRunning = false }
        lock.unlock()
        if let queue { addOperation(to: queue) }
        gate.signal()
        return false
    }

    /// What was taken and not delivered is due again, before what came meanwhile.
    private func putBack(_ batch: inout FIFOQueue<any Delivery>) {
        let rest = batch.popAll()
        lock.lock()
        due.prepend(rest)
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

extension OperationQueue {
    /// Makes a callback of a connection, although the program may cancel the operations of its queue.
    func addCallback(_ block: @escaping @Sendable () -> Void) {
        addOperation(DeliveryOperation([BlockDelivery(block)]) { _ in })
    }
}

/// An operation of a session or a connection. It ignores `cancelAllOperations`, because otherwise their loads would
/// never end.
private class SessionOperation: Operation, @unchecked Sendable {
    // Sendable: as the superclass.
    override func cancel() {}
}

/// Makes the sealed callbacks of deliveries.
private final class DeliveryOperation: SessionOperation, @unchecked Sendable {
    // Sendable: only `main` uses the mutable state.

    /// In reverse order. Each one is released after its callbacks.
    private var deliveries: [any Delivery]
    private let then: @Sendable ([any Delivery]) -> Void

    /// - Parameter then: Gets the deliveries with further events.
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

/// Blocks the queue until a callback on another thread has returned.
private final class GateOperation: SessionOperation, @unchecked Sendable {
    // Sendable: immutable.
    private let gate: DispatchSemaphore

    init(_ gate: DispatchSemaphore) { self.gate = gate }

    override func main() { gate.wait() }
}

/// A source of callbacks of a session: a task with events, or a block.
protocol Delivery: AnyObject, Sendable {
    /// Fixes the events for the next `deliver(.sealed)`: the current ones, without later ones.
    func seal()

    /// Makes callbacks. True if there are more, which need another turn.
    func deliver(_ extent: DeliveryExtent) -> Bool
}

/// Which events a delivery includes.
enum DeliveryExtent {
    /// The events before its operation was enqueued.
    case sealed
    /// All current events.
    case all
}
