internal import Glibc
internal import LoadingEvents
package import LoadingSemantics
internal import Synchronization

/// The hosts that want secure connections only, as the sessions know them that share this (RFC 6797, TLS-7). May be used
/// from any thread.
///
/// All that can be waited for here is a lock, held for a look into a table: loads ask on their loop. What is known lives in
/// memory. Whoever keeps a copy elsewhere gives its records to `insert`, before the first session is used, and hears of
/// each change by `onChange`. If it cannot be read then, it says so by `awaitRecords` and gives them to `complete`.
package final class HSTSStore: @unchecked Sendable {
    // Sendable because what is mutable is guarded by `lock`.

    private let suffixes: PublicSuffixes
    private let preload: HSTSPreload
    private let clock: @Sendable () -> Int64
    /// Whether the store has hosts. Without hosts a lookup takes no lock.
    private let isEmpty = Atomic(true)
    private let lock = Lock()
    private var hosts: HSTSHosts
    private var follower: (@Sendable (HSTSChange) -> Void)?
    /// Changes that the follower has not heard of yet.
    private var untold: [HSTSChange] = []
    /// Whether a thread is telling it.
    private var isTelling = false
    /// Whether the records of earlier processes are still to come. Once they are here, a lookup takes no lock.
    private let isAwaiting = Atomic(false)
    /// What was forgotten until then; nil when nothing is to come.
    private var forgotten: Forgotten?
    private var whenAsked: (@Sendable () -> Void)?

    private struct Forgotten {
        static let mostHosts = 10_000

        var hosts: Set<String> = []
        var isEverything = false

        mutating func add(_ host: String) { if hosts.count < Self.mostHosts { hosts.insert(host) } }
    }

    /// - Parameter clock: Seconds since 1970, in place of the machine's.
    package init(
        suffixes: PublicSuffixes, preload: HSTSPreload = .topLevelDomains,
        clock: (@Sendable () -> Int64)? = nil
    ) {
        self.suffixes = suffixes
        self.preload = preload
        self.clock = clock ?? { Int64(time(nil)) }
        // The table of those that were known before is looked up without the lock.
        hosts = HSTSHosts(suffixes: suffixes, preload: HSTSPreload())
    }

    // MARK: For loads

    /// Whether a host is spoken to over secure connections only.
    ///
    /// - Parameter host: As in `HTTPURL`.
    package func covers(_ host: String) -> Bool {
        if CookieDomain.isAddress(host) { return false }
        if preload.covers(host) { return true }
        if isAwaiting.load(ordering: .relaxed) { lock.withLock { whenAsked }?() }
        if isEmpty.load(ordering: .acquiring) { return false }
        let now = clock()
        return lock.withLock { hosts.covers(host, at: now) }
    }

    /// Does what a response says, at once: what it leads to may be asked about in the same turn.
    ///
    /// - Parameters:
    ///   - fields: Of any response, whatever its status.
    ///   - isTrusted: Whether nothing was wrong with the connection: the default evaluation trusts the server, and it was
    ///     not a decision of the program to continue in spite of an error.
    @discardableResult
    package func note(_ fields: HTTPFields, from url: HTTPURL, isTrusted: Bool) -> HSTSOutcome {
        let now = clock()
        return change { hosts in
            let outcome = hosts.note(fields, from: url, isTrusted: isTrusted, at: now)
            if forgotten != nil, let host = outcome.forgottenHost(fields, url.host) {
                forgotten?.add(host)
                return (outcome, [.remove([host])])
            }
            return (outcome, HSTSChange.changes(of: outcome))
        }
    }

    // MARK: For copies

    /// What has been learnt and is still so, in no order.
    package var records: [HSTSRecord] {
        let now = clock()
        return lock.withLock { hosts.all(at: now) }
    }

    /// Takes records from a copy, which may be anybody's work, in place of what is known of their hosts. Tells what became
    /// of each; the follower does not hear of it.
    @discardableResult
    package func insert(_ records: [HSTSRecord]) -> [HSTSOutcome] {
        suffixes.waitUntilLoaded(for: records.lazy.map(\.host))
        let now = clock()
        return change { hosts in (records.map { hosts.insert($0, at: now) }, []) }
    }

    /// Says that what was known before is still to come.
    ///
    /// - Parameter whenAsked: Is called at each question until it has come, on a loop.
    package func awaitRecords(_ whenAsked: @escaping @Sendable () -> Void) {
        lock.withLock {
            forgotten = Forgotten()
            self.whenAsked = whenAsked
        }
        isAwaiting.store(true, ordering: .relaxed)
    }

    /// Whether they are still to come.
    package var isAwaitingRecords: Bool { isAwaiting.load(ordering: .relaxed) }

    /// Takes records that were awaited, but for hosts that are known by now, or were forgotten meanwhile. Tells what became
    /// of those that are taken; the follower does not hear of it. Takes none if none are awaited.
    @discardableResult
    package func complete(with records: [HSTSRecord]) -> [(HSTSRecord, HSTSOutcome)] {
        // Before the lock, for which loops wait.
        suffixes.waitUntilLoaded(for: records.lazy.map(\.host))
        let now = clock()
        // Let go of outside the lock.
        var asked: (@Sendable () -> Void)?
        defer { withExtendedLifetime(asked) {} }
        return change { hosts in
            guard let forgotten else { return ([], []) }
            isAwaiting.store(false, ordering: .relaxed)
            self.forgotten = nil
            swap(&asked, &whenAsked)
            if forgotten.isEverything { return ([], []) }
            let known = forgotten.hosts.union(hosts.all(at: now).map(\.host))
            return (records.filter { !known.contains($0.host) }.map { ($0, hosts.insert($0, at: now)) }, [])
        }
    }

    /// Who is told of each change from now on, in order and one at a time, on the thread that made it or another that does.
    /// No lock is held meanwhile. It must not wait long: that may be a loop's thread.
    package func onChange(_ follower: (@Sendable (HSTSChange) -> Void)?) {
        // Let go of outside the lock.
        let before = lock.withLock {
            defer { self.follower = follower }
            return self.follower
        }
        _ = before
    }

    /// Forgets all that has been learnt (S-89).
    package func removeAll() {
        change { hosts in
            hosts.removeAll()
            forgotten?.isEverything = true
            return ((), [.removeAll])
        }
    }

    // MARK: Inside

    private func change<Outcome>(_ body: (inout HSTSHosts) -> (Outcome, [HSTSChange])) -> Outcome {
        lock.lock()
        let (outcome, changes) = body(&hosts)
        isEmpty.store(hosts.count == 0, ordering: .releasing)
        var mustTell = false
        if follower != nil, !changes.isEmpty {
            untold += changes
            mustTell = !isTelling
            isTelling = true
        }
        lock.unlock()
        if mustTell { tell() }
        return outcome
    }

    /// Tells what there is to tell until there is no more. What other threads change meanwhile is told here too, after that.
    private func tell() {
        while true {
            lock.lock()
            let (changes, follower) = (untold, follower)
            untold = []
            if changes.isEmpty { isTelling = false }
            lock.unlock()
            if changes.isEmpty { return }
            for change in changes { follower?(change) }
        }
    }
}

extension HSTSOutcome {
    /// The host that wants to be forgotten, be it known or not.
    fileprivate func forgottenHost(_ fields: HTTPFields, _ host: String) -> String? {
        switch self {
        case .removed(let host): host
        case .nothing where fields.contains("Strict-Transport-Security"): HSTSHosts.name(host)
        case .nothing, .stored, .refreshed, .refused: nil
        }
    }
}
