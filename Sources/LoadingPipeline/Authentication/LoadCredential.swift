/// A user name and a password, as far as the engine needs them.
package struct LoadCredential: Sendable, Equatable {
    /// In Unicode's form NFC, as `password`: servers compare bytes (RFC 7617 §2, RFC 7616 §4).
    package var user: String
    package var password: String
    /// Whether the session may use it again for other requests after it was accepted (AUTH-22).
    package var isKept: Bool
    /// The object by which the client and its store know the credential that answers one question.
    package var object: (any AnyObject & Sendable)?

    package init(user: String, password: String, isKept: Bool, object: (any AnyObject & Sendable)? = nil) {
        self.user = user
        self.password = password
        self.isKept = isKept
        self.object = object
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.user == b.user && a.password == b.password && a.isKept == b.isKept
    }
}
