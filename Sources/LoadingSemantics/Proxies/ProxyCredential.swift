/// Who the user is to a proxy. Neither part shows in a description.
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
