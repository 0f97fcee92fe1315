/// A user name and a password, in the form that the engine uses.
package struct LoadCredential: Sendable, Equatable {
    /// In Unicode normalization form NFC, as is `password`: servers compare bytes (RFC 7617 §2, RFC 7616 §4).
    package var user: String
    package var password: String
    /// Whether the session may use it for other requests after it was accepted (AUTH-22).
    package var isKept: Bool
    /// The object that identifies this credential to the client and its store.
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
