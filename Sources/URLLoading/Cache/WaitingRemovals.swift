internal import LoadingEvents
internal import LoadingSemantics

/// The pending removals of a slow disk. They are merged into one operation, with a limit for the size of the keys.
final class WaitingRemovals: @unchecked Sendable {
    // Sendable: `lock` guards the mutable state.

    /// The keys of one operation.
    final class Batch: @unchecked Sendable {
        // Sendable: the lock of the removals guards the mutable state.
        fileprivate var keys: Set<CacheKey> = []
        fileprivate var size = 0
        fileprivate var isEverything = false
    }

    private static let mostBytes = 16 << 20

    private let lock = Lock()
    /// The batch that accepts more keys, if any.
    private var open: Batch?

    /// - Returns: A new batch to enqueue, or nil if the keys were added to a pending one.
    func add(_ keys: [CacheKey]) -> Batch? {
        lock.withLock {
            let batch = open ?? Batch()
            batch.add(keys, most: Self.mostBytes)
            defer { open = batch }
            return open == nil ? batch : nil
        }
    }

    /// Closes the batch: later removals are a new operation, after the stores enqueued meanwhile.
    func close() { lock.withLock { open = nil } }

    /// Closes a batch and returns its keys; nil to remove everything.
    func take(_ batch: Batch) -> Set<CacheKey>? {
        lock.withLock {
            if open === batch { open = nil }
            return batch.isEverything ? nil : batch.keys
        }
    }
}

extension WaitingRemovals.Batch {
    fileprivate func add(_ new: [CacheKey], most: Int) {
        if isEverything { return }
        for key in new where keys.insert(key).inserted { size += key.text.utf8.count + MemoryLayout<CacheKey>.stride }
        guard size > most else { return }
        keys = []
        isEverything = true
    }
}
