/// A host that has asked to be spoken to over TLS alone (RFC 6797, TLS-7).
package struct TransportSecurityHost: Sendable, Hashable {
    /// In lower-case ASCII.
    package var host: String
    package var includesSubdomains: Bool
    /// Seconds since 1970.
    package var expires: Double

    package init(host: String, includesSubdomains: Bool, expires: Double) {
        self.host = host
        self.includesSubdomains = includesSubdomains
        self.expires = expires
    }
}

package typealias TransportSecurityArchive = RecordArchive<TransportSecurityHost>

extension TransportSecurityHost: ArchivedRecord {
    package static let table = "hosts"
    package static let identityColumns = ["host"]
    package static let contentColumns = ["includes_subdomains", "expires"]

    package static let design = DatabaseDesign(
        name: "url-loading-transport-security.sqlite", applicationID: 0x554C_5453,
        migrations: [makeTable(identityColumns, contentColumns)], durability: .full, isCheckedWhole: true)

    package static func values(of host: String) -> [DatabaseValue] { [.text(host)] }

    package var identity: String { host }
    package var isLasting: Bool { true }
    package var content: [DatabaseValue] { [DatabaseValue(includesSubdomains), DatabaseValue(expires)] }

    package init?(row: [DatabaseValue]) {
        guard row.count == 3, let host = row[0].text, let includesSubdomains = row[1].flag, let expires = row[2].real
        else { return nil }
        self.init(host: host, includesSubdomains: includesSubdomains, expires: expires)
    }
}
