package import LoadingSemantics

/// The cookies of one store (COOK-19), without session cookies.
package typealias CookieArchive = RecordArchive<Cookie>

extension Cookie: ArchivedRecord {
    package static let table = "cookies"
    package static let identityColumns = ["name", "path", "domain", "is_host_only", "partition"]
    package static let contentColumns = [
        "value", "is_secure", "is_http_only", "same_site", "expires", "created", "ports", "annotations",
    ]

    package static let schema = DatabaseSchema(
        name: "url-loading-cookies.sqlite", applicationID: 0x554C_434B,
        migrations: [makeTable(identityColumns, contentColumns)], durability: .full, checksIntegrity: true)

    package static func values(of identity: CookieIdentity) -> [DatabaseValue] {
        [
            .text(identity.name), .text(identity.path), .text(identity.domain), DatabaseValue(identity.isHostOnly),
            .key(identity.partition),
        ]
    }

    package var isPersistent: Bool { expires != nil }

    package var content: [DatabaseValue] {
        [
            .text(value), DatabaseValue(isSecure), DatabaseValue(isHTTPOnly), .integer(Int64(sameSite.rawValue)),
            DatabaseValue(expires), DatabaseValue(created),
            DatabaseValue(ports.map { $0.map(String.init).joined(separator: ",") }),
            annotations.isEmpty
                ? .null : .blob(TextPairs.data(annotations.sorted { $0.key < $1.key }.map { ($0, $1) })),
        ]
    }

    package init?(row: [DatabaseValue]) {
        guard row.count == 13, let name = row[0].text, let path = row[1].text, let domain = row[2].text,
            let isHostOnly = row[3].flag, let value = row[5].text, let isSecure = row[6].flag,
            let isHTTPOnly = row[7].flag, let sameSite = row[8].integer.flatMap({ UInt8(exactly: $0) }),
            let sameSite = CookieSameSite(rawValue: sameSite), let expires = row[9].real, let created = row[10].real
        else { return nil }
        self.init(
            name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, created: created)
        partition = row[4].text
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.expires = expires
        if let text = row[11].text { ports = text.split(separator: ",").compactMap { UInt16($0) } }
        if let data = row[12].blob {
            guard let pairs = TextPairs.pairs(data) else { return nil }
            annotations = Dictionary(pairs) { $1 }
        }
    }
}
