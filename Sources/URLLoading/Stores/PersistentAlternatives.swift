package import LoadingConnections
package import LoadingSemantics
package import LoadingStorage

/// The alternative services of origins on disk (CONN-8), for all sessions that are not ephemeral.
package final class PersistentAlternatives: AlternativeServicesStore, FlushedStore {
    static let shared = PersistentAlternatives(in: .applicationData)

    private let records: PersistentRecords<AlternativeServices>
    package let network = KnownNetwork()

    package init(in directory: StorageDirectory) { records = AlternativeServices().records(in: directory) }

    /// Reads the file, so that loops can then query without blocking.
    package func prepare() { records.read { _ in } }

    package func services(of origin: HostPort, at now: Int64) -> [AlternativeService] {
        records.readIfLoaded { $0.services(of: origin, at: now) } ?? []
    }

    package func note(_ fields: HTTPFields, from url: HTTPURL, at now: Int64) {
        change { [$0.note(fields, from: url, at: now)] }
    }

    package func remove(_ service: AlternativeService, of origin: HostPort) {
        change { [$0.remove(service, of: origin)] }
    }

    package func networkChanged(at now: Int64) { change { $0.networkChanged(at: now) } }

    /// Removes everything, also on disk, including entries of other processes.
    package func removeAll() {
        records.change { table, changes in
            table.removeAll()
            changes.append(.everythingRemoved)
        }
    }

    package func flush(_ done: @escaping @Sendable () -> Void) { records.flush(done) }

    private func change(_ body: (inout AlternativeServices) -> [AlternativeServicesOutcome]) {
        records.change { table, changes in changes += body(&table).flatMap(RecordChange.following) }
    }
}

extension RecordChange<AlternativeServicesRecord> {
    /// What the file has to follow.
    fileprivate static func following(_ outcome: AlternativeServicesOutcome) -> [Self] {
        switch outcome {
        case .stored(let record, let evicted):
            let gone = evicted.map { Self.removed($0) }
            // The file may contain an earlier entry of the other kind for that origin.
            return gone + [record.persistent.map { .stored($0) } ?? .removed(record.origin)]
        case .removed(let origin): return [.removed(origin)]
        case .refreshed, .nothing: return []
        }
    }
}

extension AlternativeServices: RecordMemory {
    func persistent(at now: Double) -> [AlternativeServicesRecord] { all(at: Int64(now)).compactMap(\.persistent) }

    mutating func replacePersistent(
        with records: [AlternativeServicesRecord], at now: Double
    ) -> [RecordChange<AlternativeServicesRecord>] {
        zip(records, replace(with: records, at: Int64(now))).flatMap {
            (record, outcome) -> [RecordChange<AlternativeServicesRecord>] in
            switch outcome {
            case .stored(record, evicted: []): []
            case .stored: RecordChange<AlternativeServicesRecord>.following(outcome)
            // Expired, or not an entry that a server can have set.
            case .refreshed, .removed, .nothing: [.removed(record.origin)]
            }
        }
    }
}
