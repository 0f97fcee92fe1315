internal import LoadingEvents
package import LoadingPipeline
internal import LoadingSemantics
package import LoadingStorage

/// The HSTS hosts on disk (TLS-7).
///
/// The file is read on the thread that creates the first session that is not ephemeral, because loads query the store
/// on their loop. If reading fails, it is repeated while loads query the store. Changes of other processes are read
/// while loads query a store that has hosts.
package final class HSTSCopy: FlushedStore {
    static let shared = HSTSCopy(in: .applicationData)

    private let records: PersistentRecords<Hosts>
    private let seen = Seen()

    /// The records at the last look for changes of other processes.
    private final class Seen: @unchecked Sendable {
        // Sendable because `records` is guarded by `lock`.
        private let lock = Lock()
        private var records: [String: HSTSRecord] = [:]

        /// Returns the records before, by host.
        func replace(with new: [HSTSRecord]) -> [String: HSTSRecord] {
            let new = Dictionary(new.map { ($0.host, $0) }) { $1 }
            return lock.withLock {
                defer { records = new }
                return records
            }
        }
    }

    /// The desired contents of the file.
    private struct Hosts: RecordMemory {
        var all: [String: HSTSRecord] = [:]

        func persistent(at now: Double) -> [HSTSRecord] { Array(all.values) }

        mutating func replacePersistent(with records: [HSTSRecord], at now: Double) -> [RecordChange<HSTSRecord>] {
            all = Dictionary(records.map { ($0.host, $0) }) { $1 }
            return []
        }
    }

    package init(in directory: StorageDirectory) { records = Hosts().records(in: directory) }

    init(
        checkInterval: Int = TimeLimits.standard.storeCheck,
        recordStore: @escaping @Sendable () -> any RecordStore<HSTSRecord>
    ) {
        records = Hosts().records(checkInterval: checkInterval, unlessEmpty: { true }, recordStore: recordStore)
    }

    /// Inserts the hosts of the file into `store`, which must not be in use yet, and writes later changes of it to the
    /// file.
    package func follow(_ store: HSTSStore) {
        let known = all
        _ = seen.replace(with: known)
        forgetRefused(zip(known, store.insert(known)))
        records.onExternalChange { [weak self, weak store] in
            if let self, let store { adoptChanges(in: store) }
        }
        // `isLoaded` starts a look at the file, or another attempt to read it.
        store.watch { [records] in _ = records.isLoaded }
        if !records.isAllKnown { store.awaitRecords { [records] in _ = records.isLoaded } }
        store.onChange { [self] change in note(change) }
    }

    /// Applies what other processes have changed.
    private func adoptChanges(in store: HSTSStore) {
        let records = all
        let before = seen.replace(with: records)
        if store.isAwaitingRecords { return forgetRefused(store.complete(with: records)) }
        let hosts = Set(records.map(\.host))
        store.forget(before.keys.filter { !hosts.contains($0) })
        let changed = records.filter { before[$0.host] != $0 }
        forgetRefused(zip(changed, store.insert(changed)))
    }

    private var all: [HSTSRecord] { records.read { Array($0.all.values) } }

    /// Calls `done` when all changes have been written or writing has failed.
    package func flush(_ done: @escaping @Sendable () -> Void) { records.flush(done) }

    private func forgetRefused(_ outcomes: some Sequence<(HSTSRecord, HSTSOutcome)>) {
        for (record, outcome) in outcomes {
            switch outcome {
            case .stored(_, let evicted): note(.remove(evicted))
            case .refreshed: break
            // Expired, or not a record that a server can have set.
            case .removed, .nothing, .refused: note(.remove([record.host]))
            }
        }
    }

    private func note(_ change: HSTSChange) {
        records.change { hosts, changes in
            switch change {
            case .put(let record):
                hosts.all[record.host] = record
                changes.append(.stored(record))
            case .remove(let names):
                // The file may contain hosts that are not in memory.
                for name in names {
                    hosts.all[name] = nil
                    changes.append(.removed(name))
                }
            case .removeAll:
                hosts.all = [:]
                changes.append(.everythingRemoved)
            }
        }
    }
}

extension HSTSStore {
    /// The persistent store of the shared session and of all sessions whose configuration is not ephemeral.
    static let shared: HSTSStore = {
        let store = HSTSStore(suffixes: .system)
        HSTSCopy.shared.follow(store)
        return store
    }()

    /// A store in memory, for one ephemeral configuration.
    convenience init() { self.init(suffixes: .system) }
}
