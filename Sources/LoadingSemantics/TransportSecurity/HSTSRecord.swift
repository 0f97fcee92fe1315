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

/// The change that a response made to the hosts, for a copy on disk to follow.
package enum HSTSOutcome: Sendable, Equatable {
    /// The record is stored, and replaces that of its host. The `evicted` hosts were removed to make room.
    case stored(HSTSRecord, evicted: [String])
    /// Only the expiry changed, by too little to be worth a write. Hosts repeat the field in every response.
    case refreshed(HSTSRecord)
    /// `max-age=0`: the host was removed.
    case removed(String)
    /// There was no field, or `max-age=0` of an unknown host.
    case nothing
    case refused(HSTSRefusal)
}

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
