internal import LoadingEvents

/// The machine's addresses as they were last seen by any of those who share what is good for one network alone.
package final class KnownNetwork: @unchecked Sendable {
    // Sendable because the addresses are guarded by `lock`.
    private let lock = Lock()
    private var addresses: LocalAddresses?

    package init() {}

    /// Keeps the addresses of now. Whether there were others before.
    func changes(to addresses: LocalAddresses) -> Bool {
        lock.withLock {
            defer { self.addresses = addresses }
            return self.addresses.map { $0 != addresses } ?? false
        }
    }
}
