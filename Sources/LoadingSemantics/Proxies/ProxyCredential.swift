/// A user and password for a proxy, from the proxy settings. Descriptions do not reveal them.
package struct ProxyCredential: Sendable, Hashable {
    package let user: String
    package let password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

extension ProxyCredential: CustomStringConvertible, CustomReflectable {
    package var description: String { "a user and a password" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
