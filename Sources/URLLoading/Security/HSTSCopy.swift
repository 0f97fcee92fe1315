package import LoadingPipeline
internal import LoadingSemantics
package import LoadingStorage

/// The hosts that want secure connections only, on disk (TLS-7).
///
/// They are read when the first session is made that is not ephemeral, by the thread that makes it, if there are any: from
/// then on loads ask on their loop. What other processes learn and forget is known from the next start on.
package final class HSTSCopy: Sendable {
    static let shared = HSTSCopy(in: .applicationData)

    private let records: LastingRecords<Hosts>

    /// What the file is to have.
    private struct Hosts: RecordMemory {
        var all: [String: TransportSecurityHost] = [:]

        var lasting: [TransportSecurityHost] { Array(all.values) }

        mutating func replaceLasting(with records: [TransportSecurityHost]) -> [RecordChange<TransportSecurityHost>] {
            all = Dictionary(records.map { ($0.host, $0) }) { $1 }
            return []
        }
    }

    package init(in directory: StorageDirectory) { records = LastingRecords(Hosts(), in: directory) }

    /// Gives the store, which nobody uses yet, what there is, and has the file follow it from then on.
    package func follow(_ store: HSTSStore) {
        fill(store)
        store.onChange { [self] change in note(change) }
    }

    /// Calls when the file has all there is to have, or cannot have it.
    package func flush(_ done: @escaping @Sendable () -> Void) { records.flush(done) }

    private func fill(_ store: HSTSStore) {
        let known = records.read { Array($0.all.values) }
        let outcomes = store.insert(known.map { HSTSRecord($0) })
        for (host, outcome) in zip(known, outcomes) {
            switch outcome {
            case .stored(_, let evicted): note(.remove(evicted))
            case .refreshed: break
            // It is over, or nothing that a server can have said.
            case .removed, .nothing, .refused: note(.remove([host.host]))
            }
        }
    }

    private func note(_ change: HSTSChange) {
        records.change { hosts, changes in
            switch change {
            case .put(let record):
                let host = TransportSecurityHost(record)
                hosts.all[host.host] = host
                changes.append(.stored(host))
            case .remove(let names):
                for name in names where hosts.all.removeValue(forKey: name) != nil { changes.append(.removed(name)) }
            case .removeAll:
                hosts.all = [:]
                changes.append(.everythingRemoved)
            }
        }
    }
}

extension TransportSecurityHost {
    fileprivate init(_ record: HSTSRecord) {
        self.init(
            host: record.host, includesSubdomains: record.includesSubdomains, expires: Double(record.expires))
    }
}

extension HSTSRecord {
    fileprivate init(_ host: TransportSecurityHost) {
        self.init(
            host: host.host, expires: Int64(exactly: host.expires.rounded(.down)) ?? 0,
            includesSubdomains: host.includesSubdomains)
    }
}
