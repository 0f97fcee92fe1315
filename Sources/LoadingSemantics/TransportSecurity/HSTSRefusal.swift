/// Why a `Strict-Transport-Security` field is ignored.
package enum HSTSRefusal: Error, Sendable, Equatable, CaseIterable {
    /// It was received over an insecure connection (RFC 6797 §8.1).
    case insecure
    /// It was received over a secure connection with an error (§8.1).
    case untrusted
    /// The host is an IP address (§8.1.1).
    case address
    /// The host is not a valid host name.
    case badName
    /// The field is malformed (§6.1).
    case malformed
}
