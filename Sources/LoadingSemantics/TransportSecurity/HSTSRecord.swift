/// An HSTS host (RFC 6797 §5.3).
package struct HSTSRecord: Sendable, Hashable {
    /// In lower-case ASCII, without a final dot.
    package var host: String
    /// In seconds since 1970. The record is invalid from that second on.
    package var expires: Int64
    package var includesSubdomains: Bool

    package init(host: String, expires: Int64, includesSubdomains: Bool) {
        self.host = host
        self.expires = expires
        self.includesSubdomains = includesSubdomains
    }

    package func isExpired(at now: Int64) -> Bool { expires <= now }
}
