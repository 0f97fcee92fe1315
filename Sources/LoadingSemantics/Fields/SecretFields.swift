/// Header fields with credentials, whose values must not be logged.
package enum SecretFields {
    /// Substrings of the names of such fields, standard and custom ones.
    private static let marks = [
        "assertion", "auth", "bearer", "cookie", "credential", "csrf", "dpop", "hmac", "jwt", "key", "mfa", "otp",
        "passc", "passp", "passw", "pwd", "saml", "secret", "sessid", "session", "signature", "ticket", "token", "xsrf",
    ]
    /// Whole names. Most are too short to be substrings. A script in a browser cannot set fields of a WebSocket's
    /// request, so tokens are often sent as a subprotocol.
    private static let names: Set<String> = [
        "pass", "pin", "pw", "sid", "x-pass", "x-pin", "x-pw", "x-sid", "sec-websocket-protocol",
    ]

    package static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains(name) || marks.contains { name.contains($0) }
    }

    /// The value as descriptions show it.
    package static func shown(_ value: String, of name: String) -> String { isSecret(name) ? "(hidden)" : value }
}
