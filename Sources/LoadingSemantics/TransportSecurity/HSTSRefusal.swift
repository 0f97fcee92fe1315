/// Why a response's wish for secure connections is not heard.
package enum HSTSRefusal: Error, Sendable, Equatable, CaseIterable {
    /// It came over a connection that anyone can write to (RFC 6797 §8.1).
    case insecure
    /// It came over a secure connection with which something was wrong (§8.1).
    case untrusted
    /// The host is an IP address (§8.1.1).
    case address
    /// The host is no name that a record could be made for.
    case badName
    /// The field is not well-formed (§6.1).
    case malformed
}
