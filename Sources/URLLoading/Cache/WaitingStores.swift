internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics

/// The responses that wait to be stored on disk. Threads that change one key in memory may reach the disk in another
/// order: what memory has replaced or removed meanwhile is then not stored.
final class WaitingStores: @unchecked Sendable {
    // Sendable: `lock` guards the mutable state.

    private struct Store {
        var number: UInt64
        var time: Date
        var response: CachedURLResponse
    }

    private let lock = Lock()
    /// The last store of each key, until it is done or overtaken.
    private var stores: [String: Store] = [:]
    private var lastNumber: UInt64 = 0

    /// Notes the store of a response, at its change in memory. `take` follows, and the caller keeps the response until
    /// then: no program's code runs with the lock held.
    func add(_ key: CacheKey, _ response: CachedURLResponse, at time: Date) -> UInt64 {
        lock.withLock {
            lastNumber &+= 1
            stores[key.text] = Store(number: lastNumber, time: time, response: response)
            return lastNumber
        }
    }

    /// What will be stored for a key, if nothing else happens.
    func response(for key: CacheKey) -> CachedURLResponse? { lock.withLock { stores[key.text]?.response } }

    /// Ends the wait. Returns false if the key was changed since.
    func take(_ number: UInt64, of key: CacheKey) -> Bool {
        lock.withLock {
            guard stores[key.text]?.number == number else { return false }
            stores[key.text] = nil
            return true
        }
    }

    func remove(_ keys: [CacheKey]) {
        lock.withLock {
            if stores.isEmpty { return }
            for key in keys { stores[key.text] = nil }
        }
    }

    func removeAll() { lock.withLock { stores = [:] } }

    /// Removes the stores at or after that time.
    func removeAll(since time: Date) { lock.withLock { stores = stores.filter { $0.value.time < time } } }
}
