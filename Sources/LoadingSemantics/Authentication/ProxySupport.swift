extension HTTPFields {
    /// Whether a forwarding proxy declares session-based authentication: it does not send requests of other users over
    /// an authenticated connection (RFC 4559 §6).
    package var supportsSessionBasedAuthentication: Bool {
        values("Proxy-Support").contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains {
                OptionalWhitespace.trimmed($0).map(asciiLowercase) == Array("session-based-authentication".utf8)
            }
        }
    }
}
