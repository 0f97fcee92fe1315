package import LoadingPipeline
internal import LoadingSemantics
package import LoadingStorage

/// The hosts that want secure connections only, on disk (TLS-7).
///
/// They are read when the first session is made that is not ephemeral, by the thread that makes it, if there are any: from
/// then on loads ask on their loop. If they cannot be read then, it is tried again while loads ask, and the store gets them
/// as soon as they can. What other processes learn and forget is known from the next start on.
package final class HSTSCopy: FlushedStore {
    static let shared = HSTSCopy(in: .applicationData)

    private let records: PersistentRecords<Hosts>

    /// What the file is to have.
    private struct Hosts: RecordMemory {
        var all: [String: HSTSRecord] = [:]

        func persistent(at now: Double) -> [HSTSRecord] { Array(all.values) }

        mutating func replaceLasting(with records: [HSTSRecord], at now: Double) -> [RecordChange<HSTSRecord>] {
            all = Dictionary(records.map { ($0.host, $0) }) { $1 }
            return []
        }
    }

    package init(in directory: StorageDirectory) { records = PersistentRecords(Hosts(), in: directory) }

    init(
        checkInterval: Int = TimeLimits.standard.storeCheck,
        keeper: @escaping @Sendable () -> any RecordStore<HSTSRecord>
    ) {
        records = PersistentRecords(Hosts(), checkInterval: checkInterval, unlessEmpty: { true }, keeper: keeper)
    }

    /// Gives the store, which nobody uses yet, what there is, and has the file follow it from then on.
    package func follow(_ store: HSTSStore) {
        let known = all
        forgetRefused(zip(known, store.insert(known)))
        if !records.isAllKnown {
            records.onNews { [weak self, weak store] in
                if let self, let store { forgetRefused(store.complete(with: all)) }
            }
            // To ask for them is to look for them.
            store.awaitRecords { [records] in _ = records.isLoaded }
        }
        store.onChange { [self] change in note(change) }
    }

    private var all: [HSTSRecord] { records.read { Array($0.all.values) } }

    /// Calls when the file has all there is to have, or cannot have it.
    package func flush(_ done: @escaping @Sendable () -> Void) { records.flush(done) }

    private func forgetRefused(_ outcomes: some Sequence<(HSTSRecord, HSTSOutcome)>) {
        for (record, outcome) in outcomes {
            switch outcome {
            case .stored(_, let evicted): note(.remove(evicted))
            case .refreshed: break
            // It is over, or nothing that a server can have said.
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
                // Who is not known here may be known to the file.
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
