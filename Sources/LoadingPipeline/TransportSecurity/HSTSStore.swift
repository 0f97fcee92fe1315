internal import Glibc
internal import LoadingEvents
package import LoadingSemantics
internal import Synchronization

/// The hosts that require secure connections, shared by the sessions that use this store (RFC 6797, TLS-7). May be used
/// from any thread.
///
/// Loads call the store on their loop, so a call waits only for a lock, which is held for a table lookup. The records
/// are in memory. A persistent copy passes its records to `insert` before the first session is used, and receives each
/// change by `onChange`. If the records cannot be read by then, the copy calls `awaitRecords` and later `complete`.
package final class HSTSStore: @unchecked Sendable {
    // Sendable because mutable state is guarded by `lock`.

    private let suffixes: PublicSuffixes
    private let preload: HSTSPreload
    private let clock: @Sendable () -> Int64
    /// Whether the store has no learned hosts. A lookup then takes no lock.
    private let isEmpty = Atomic(true)
    private let lock = Lock()
    private var hosts: HSTSHosts
    private var follower: (@Sendable (HSTSChange) -> Void)?
    /// Changes that are not reported to the follower yet.
    private var unreported: [HSTSChange] = []
    /// Whether a thread is reporting changes.
    private var isReporting = false
    /// Whether the records of earlier processes are still pending. If they are not, this check takes no lock.
    private let isAwaiting = Atomic(false)
    /// The hosts removed until then; nil when no records are pending.
    private var removed: RemovedHosts?
    private var onLookup: (@Sendable () -> Void)?
    /// Looks for changes of other processes.
    private var lookForChanges: (@Sendable () -> Void)?
    /// The time of the last lookup.
    private let lastLookup = Atomic<Int64>(.min)

    private struct RemovedHosts {
        static let mostHosts = 10_000

        var hosts: Set<String> = []
        var isEverything = false

        mutating func add(_ host: String) { if hosts.count < Self.mostHosts { hosts.insert(host) } }
    }

    /// - Parameter clock: Seconds since 1970; replaces the machine's clock.
    package init(
        suffixes: PublicSuffixes, preload: HSTSPreload = .topLevelDomains,
        clock: (@Sendable () -> Int64)? = nil
    ) {
        self.suffixes = suffixes
        self.preload = preload
        self.clock = clock ?? { Int64(time(nil)) }
        // The preload table is looked up without the lock.
        hosts = HSTSHosts(suffixes: suffixes, preload: HSTSPreload())
    }

    // MARK: For loads

    /// Whether a host requires secure connections.
    ///
    /// - Parameter host: In the form of `HTTPURL`.
    package func covers(_ host: String) -> Bool {
        if CookieDomain.isAddress(host) { return false }
        if preload.covers(host) { return true }
        if isAwaiting.load(ordering: .relaxed) { lock.withLock { onLookup }?() }
        if isEmpty.load(ordering: .acquiring) { return false }
        let now = clock()
        if lastLookup.load(ordering: .relaxed) != now {
            lastLookup.store(now, ordering: .relaxed)
            lock.withLock { lookForChanges }?()
        }
        return lock.withLock { hosts.covers(host, at: now) }
    }

    /// Applies a response's policy at once: the next request may be checked in the same turn.
    ///
    /// - Parameters:
    ///   - fields: The fields of a response with any status.
    ///   - isTrusted: Whether the default evaluation trusts the server of the connection, and the program did not
    ///     override a certificate error.
    @discardableResult
    package func note(_ fields: HTTPFields, from url: HTTPURL, isTrusted: Bool) -> HSTSOutcome {
        let now = clock()
        return change { hosts in
            let outcome = hosts.note(fields, from: url, isTrusted: isTrusted, at: now)
            if removed != nil, let host = outcome.removedHost(fields, url.host) {
                removed?.add(host)
                return (outcome, [.remove([host])])
            }
            return (outcome, HSTSChange.changes(of: outcome))
        }
    }

    // MARK: For persistent copies

    /// The learned records that are still valid, in no order.
    package var records: [HSTSRecord] {
        let now = clock()
        return lock.withLock { hosts.all(at: now) }
    }

    /// Inserts records from a copy, which is untrusted, in place of the known records of their hosts. Returns the
    /// outcome of each. The follower is not notified.
    @discardableResult
    package func insert(_ records: [HSTSRecord]) -> [HSTSOutcome] {
        suffixes.waitUntilLoaded(for: records.map(\.host))
        let now = clock()
        return change { hosts in (records.map { hosts.insert($0, at: now) }, []) }
    }

    /// Sets a function that looks for changes of other processes. It is called on a loop at lookups, if there are
    /// hosts, at most once a second.
    package func watch(_ lookForChanges: @escaping @Sendable () -> Void) {
        lock.withLock { self.lookForChanges = lookForChanges }
    }

    /// Removes hosts that another process has removed from the copy. The follower is not notified.
    package func forget(_ names: [String]) {
        change { hosts in
            for name in names { _ = hosts.remove(name) }
            return ((), [])
        }
    }

    /// Announces that the records of earlier processes are pending.
    ///
    /// - Parameter onLookup: Called on a loop at each lookup until the records have arrived.
    package func awaitRecords(_ onLookup: @escaping @Sendable () -> Void) {
        lock.withLock {
            removed = RemovedHosts()
            self.onLookup = onLookup
        }
        isAwaiting.store(true, ordering: .relaxed)
    }

    /// Whether the records are still pending.
    package var isAwaitingRecords: Bool { isAwaiting.load(ordering: .relaxed) }

    /// Inserts the pending records, except for hosts that have a record by now or were removed meanwhile. Returns the
    /// outcomes of the inserted records. The follower is not notified. Inserts nothing if no records are pending.
    @discardableResult
    package func complete(with records: [HSTSRecord]) -> [(HSTSRecord, HSTSOutcome)] {
        // Done before taking the lock, because loops wait for the lock.
        suffixes.waitUntilLoaded(for: records.map(\.host))
        let now = clock()
        // Released outside the lock.
        var callback: (@Sendable () -> Void)?
        defer { withExtendedLifetime(callback) {} }
        return change { hosts in
            guard let removed else { return ([], []) }
            isAwaiting.store(false, ordering: .relaxed)
            self.removed = nil
            swap(&callback, &onLookup)
            if removed.isEverything { return ([], []) }
            let known = removed.hosts.union(hosts.all(at: now).map(\.host))
            return (records.filter { !known.contains($0.host) }.map { ($0, hosts.insert($0, at: now)) }, [])
        }
    }

    /// Sets the follower, which receives each change from now on, in order and one at a time. The call comes on the
    /// thread that made the change or on another that reports changes. No lock is held. The follower must not block for
    /// long, because the thread may be a loop's.
    package func onChange(_ follower: (@Sendable (HSTSChange) -> Void)?) {
        // Released outside the lock.
        let before = lock.withLock {
            defer { self.follower = follower }
            return self.follower
        }
        _ = before
    }

    /// Removes all learned records (S-89).
    package func removeAll() {
        change { hosts in
            hosts.removeAll()
            removed?.isEverything = true
            return ((), [.removeAll])
        }
    }

    // MARK: Implementation

    private func change<Outcome>(_ body: (inout HSTSHosts) -> (Outcome, [HSTSChange])) -> Outcome {
        lock.lock()
        let (outcome, changes) = body(&hosts)
        isEmpty.store(hosts.count == 0, ordering: .releasing)
        var mustReport = false
        if follower != nil, !changes.isEmpty {
            unreported += changes
            mustReport = !isReporting
            isReporting = true
        }
        lock.unlock()
        if mustReport { reportChanges() }
        return outcome
    }

    /// Reports changes until none are left. Changes that other threads make meanwhile are reported here too,
    /// afterwards.
    private func reportChanges() {
        while true {
            lock.lock()
            let (changes, follower) = (unreported, follower)
            unreported = []
            if changes.isEmpty { isReporting = false }
            lock.unlock()
            if changes.isEmpty { return }
            for change in changes { follower?(change) }
        }
    }
}

extension HSTSOutcome {
    /// The host that the fields ask to remove, whether it has a record or not.
    fileprivate func removedHost(_ fields: HTTPFields, _ host: String) -> String? {
        switch self {
        case .removed(let host): host
        case .nothing where fields.contains("Strict-Transport-Security"): HSTSHosts.name(host)
        case .nothing, .stored, .refreshed, .refused: nil
        }
    }
}

/// A change of an `HSTSStore` that a copy of its hosts has to apply.
package enum HSTSChange: Sendable, Equatable {
    /// The record replaces an earlier one of the host.
    case put(HSTSRecord)
    /// The hosts have no record any more.
    case remove([String])
    case removeAll
}

extension HSTSChange {
    /// The changes of an outcome, in order.
    static func changes(of outcome: HSTSOutcome) -> [HSTSChange] {
        switch outcome {
        case .stored(let record, let evicted): evicted.isEmpty ? [.put(record)] : [.remove(evicted), .put(record)]
        case .removed(let host): [.remove([host])]
        case .refreshed, .nothing, .refused: []
        }
    }
}
