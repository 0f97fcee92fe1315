/// Who the user is, as far as the engine needs it.
package struct LoadCredential: Sendable, Equatable {
    /// In Unicode's form NFC, as `password`: what servers compare has no other (RFC 7617 §2, RFC 7616 §4).
    package var user: String
    package var password: String
    /// Whether the session may use it again for other requests, once it was accepted (AUTH-22).
    package var isKept: Bool

    package init(user: String, password: String, isKept: Bool) {
        self.user = user
        self.password = password
        self.isKept = isKept
    }
}
