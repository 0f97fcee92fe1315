extension HTTPFields {
    /// Whether the proxy that has loaded a response itself says that it sends nobody else's requests over the connection that a
    /// user proves to be his (RFC 4559 §6).
    package var supportsSessionBasedAuthentication: Bool {
        values("Proxy-Support").contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains {
                OptionalWhitespace.trimmed($0).map(asciiLowercase) == Array("session-based-authentication".utf8)
            }
        }
    }
}
