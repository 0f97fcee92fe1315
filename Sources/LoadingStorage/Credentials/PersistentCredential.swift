/// A password that lasts, and where it is good (AUTH-21). Never shown: neither printed nor by reflection.
package struct PersistentCredential: Sendable, Hashable {
    /// What a credential is for, as the public API names it.
    package struct Space: Sendable, Hashable {
        package var host: String
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
            self.host = host
            self.port = port
            self.protocolName = protocolName
            self.realm = realm
            self.authenticationMethod = authenticationMethod
            self.proxyType = proxyType
        }
    }

    /// A space has one credential of a user at most (AUTH-23).
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
    /// Whether it is the one that its space proposes.
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
