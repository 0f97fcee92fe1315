internal import FoundationEssentials
package import LoadingSemantics

/// Where else origins speak HTTP/3 (CONN-8).
package typealias AlternativeServicesArchive = RecordArchive<AlternativeServicesRecord>

extension AlternativeServicesRecord: ArchivedRecord {
    package static let table = "alternatives"
    package static let identityColumns = ["host", "port"]
    package static let contentColumns = ["services"]

    // Losing what was written last costs a slower start at most.
    package static let design = DatabaseDesign(
        name: "url-loading-alternative-services.sqlite", applicationID: 0x554C_4153,
        migrations: [makeTable(identityColumns, contentColumns)], durability: .none, isCheckedWhole: true)

    package static func values(of origin: HostPort) -> [DatabaseValue] {
        [.text(origin.host), .integer(Int64(origin.port))]
    }

    package var identity: HostPort { origin }
    package var isPersistent: Bool { true }

    /// Of each alternative its host, or nothing, and three numbers: port, end, and whether it persists.
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
