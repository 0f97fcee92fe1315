internal import LoadingEvents
internal import LoadingSemantics

/// The keys whose responses wait to be removed from a disk that takes its time: however often somebody removes, one order for
/// all of them, and no more keys than so many bytes.
final class WaitingRemovals: @unchecked Sendable {
    // Sendable because what varies is guarded by `lock`.

    /// Those of one order.
    final class Batch: @unchecked Sendable {
        // Sendable because what varies is guarded by the lock of the removals.
        fileprivate var keys: Set<CacheKey> = []
        fileprivate var size = 0
        fileprivate var isEverything = false
    }

    private static let mostBytes = 16 << 20

    private let lock = Lock()
    /// The batch that takes more keys, if there is one.
    private var open: Batch?

    /// - Returns: A batch that is to be ordered, or nil if the keys have gone to one that was ordered before.
    func add(_ keys: [CacheKey]) -> Batch? {
        lock.withLock {
            let batch = open ?? Batch()
            batch.add(keys, most: Self.mostBytes)
            defer { open = batch }
            return open == nil ? batch : nil
        }
    }

    /// What is removed from now on has an order of its own: what was ordered to be stored comes before it.
    func close() { lock.withLock { open = nil } }

    /// The keys of a batch, which takes no more; nil if everything is to be removed.
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
