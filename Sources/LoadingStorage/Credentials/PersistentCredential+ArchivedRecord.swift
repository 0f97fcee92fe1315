/// The persistent credentials of users without a keyring.
package typealias CredentialArchive = RecordArchive<PersistentCredential>

extension PersistentCredential: ArchivedRecord {
    package static let table = "credentials"
    /// AUTH-23
    package static let isSecret = true
    package static let identityColumns = [
        "host", "port", "protocol", "realm", "authentication_method", "proxy_type", "user",
    ]
    package static let contentColumns = ["password", "is_default"]

    package static let schema = DatabaseSchema(
        name: "url-loading-credentials.sqlite", applicationID: 0x554C_4352,
        migrations: [makeTable(identityColumns, contentColumns)], durability: .full, checksIntegrity: true)

    package static func values(of identity: Identity) -> [DatabaseValue] {
        let space = identity.space
        return [
            .text(space.host), .integer(Int64(space.port)), .key(space.protocolName), .key(space.realm),
            .key(space.authenticationMethod), .key(space.proxyType), .text(identity.user),
        ]
    }

    package var identity: Identity { Identity(space: space, user: user) }
    package var isPersistent: Bool { true }
    package var content: [DatabaseValue] { [.text(password), DatabaseValue(isDefault)] }

    package init?(row: [DatabaseValue]) {
        guard row.count == 9, let host = row[0].text, let port = row[1].integer.flatMap({ Int(exactly: $0) }),
            let user = row[6].text, let password = row[7].text, let isDefault = row[8].flag
        else { return nil }
        self.init(
            space: Space(
                host: host, port: port, protocolName: row[2].text, realm: row[3].text,
                authenticationMethod: row[4].text, proxyType: row[5].text),
            user: user, password: password, isDefault: isDefault)
    }
}
