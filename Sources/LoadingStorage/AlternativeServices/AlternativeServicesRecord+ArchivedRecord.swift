internal import FoundationEssentials
package import LoadingSemantics

/// The alternative services of origins (CONN-8).
package typealias AlternativeServicesArchive = RecordArchive<AlternativeServicesRecord>

extension AlternativeServicesRecord: ArchivedRecord {
    package static let table = "alternatives"
    package static let identityColumns = ["host", "port"]
    package static let contentColumns = ["services"]

    // Losing the last changes costs at most a slower start.
    package static let schema = DatabaseSchema(
        name: "url-loading-alternative-services.sqlite", applicationID: 0x554C_4153,
        migrations: [makeTable(identityColumns, contentColumns)], durability: .none, checksIntegrity: true)

    package static func values(of origin: HostPort) -> [DatabaseValue] {
        [.text(origin.host), .integer(Int64(origin.port))]
    }

    package var identity: HostPort { origin }
    package var isPersistent: Bool { true }

    /// For each alternative: its host or an empty string, and "port expiry persists".
    package var content: [DatabaseValue] {
        let pairs = entries.map { entry in
            (entry.service.host ?? "", "\(entry.service.port) \(entry.expires) \(entry.service.persists ? 1 : 0)")
        }
        return [.blob(TextPairs.data(pairs))]
    }

    package init?(row: [DatabaseValue]) {
        guard row.count == 3, let host = row[0].text, let port = row[1].integer.flatMap(UInt16.init(exactly:)),
            let pairs = row[2].blob.flatMap(TextPairs.pairs)
        else { return nil }
        var entries: [Entry] = []
        for (host, text) in pairs {
            let numbers = text.split(separator: " ").map { Int64($0) }
            guard numbers.count == 3, let port = numbers[0].flatMap(UInt16.init(exactly:)), let expires = numbers[1],
                let persists = numbers[2]
            else { return nil }
            let service = AlternativeService(host: host.isEmpty ? nil : host, port: port, persists: persists != 0)
            entries.append(Entry(service, expires: expires))
        }
        self.init(origin: HostPort(host, port), entries: entries)
    }
}
