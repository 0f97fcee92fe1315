package import LoadingSemantics

/// HSTS hosts (TLS-7).
package typealias TransportSecurityArchive = RecordArchive<HSTSRecord>

extension HSTSRecord: ArchivedRecord {
    package static let table = "hosts"
    package static let identityColumns = ["host"]
    package static let contentColumns = ["includes_subdomains", "expires"]

    package static let schema = DatabaseSchema(
        name: "url-loading-transport-security.sqlite", applicationID: 0x554C_5453,
        migrations: [makeTable(identityColumns, contentColumns)], durability: .full, checksIntegrity: true)

    package static func values(of host: String) -> [DatabaseValue] { [.text(host)] }

    package var identity: String { host }
    package var isPersistent: Bool { true }
    package var content: [DatabaseValue] { [DatabaseValue(includesSubdomains), .integer(expires)] }

    package init?(row: [DatabaseValue]) {
        guard row.count == 3, let host = row[0].text, let includesSubdomains = row[1].flag, let expires = row[2].integer
        else { return nil }
        self.init(host: host, expires: expires, includesSubdomains: includesSubdomains)
    }
}
