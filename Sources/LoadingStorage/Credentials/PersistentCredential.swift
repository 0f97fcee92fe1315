/// A persistent credential with its protection space (AUTH-21). Descriptions and mirrors do not reveal it.
package struct PersistentCredential: Sendable, Hashable {
    /// The protection space, with the values of the public API.
    package struct Space: Sendable, Hashable {
        /// In lower case.
        package let host: String
        package var port: Int
        package var protocolName: String?
        package var realm: String?
        package var authenticationMethod: String?
        /// Nil for a server.
        package var proxyType: String?

        package init(
            host: String, port: Int, protocolName: String?, realm: String?, authenticationMethod: String?,
            proxyType: String? = nil
        ) {
            // Hosts compare case-insensitively (RFC 3986 §3.2.2), and files and keyrings compare bytes.
            self.host = host.lowercased()
            self.port = port
            self.protocolName = protocolName
            self.realm = realm
            self.authenticationMethod = authenticationMethod
            self.proxyType = proxyType
        }
    }

    /// A protection space has at most one credential per user (AUTH-23).
    package struct Identity: Sendable, Hashable {
        package var space: Space
        package var user: String

        package init(space: Space, user: String) {
            self.space = space
            self.user = user
        }
    }

    package var space: Space
    package var user: String
    package var password: String
    /// Whether it is the default credential of its space.
    package var isDefault: Bool

    package init(space: Space, user: String, password: String, isDefault: Bool = false) {
        self.space = space
        self.user = user
        self.password = password
        self.isDefault = isDefault
    }
}

extension PersistentCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a credential for \(space.host):\(space.port)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["space": space]) }
}

extension PersistentCredential.Identity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a user of \(space.host):\(space.port)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["space": space]) }
}
