import Foundation
import TestSupport

/// A suspended queue that signals its first operation.
final class SuspendedQueue: OperationQueue, @unchecked Sendable {
    // Sendable as its superclass; the signal guards itself.
    let hasOperation = Signal("an operation")

    init(width: Int) {
        super.init()
        maxConcurrentOperationCount = width
        isSuspended = true
    }

    override func addOperation(_ operation: Operation) {
        super.addOperation(operation)
        hasOperation.fire()
    }
}
