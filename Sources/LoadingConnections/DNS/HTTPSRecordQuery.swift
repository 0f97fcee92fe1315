package import LoadingSemantics
internal import LoadingTransport

/// A query for the HTTPS records of an https origin.
package struct HTTPSRecordQuery: Hashable, Sendable {
    package let host: String
    package let port: UInt16

    package init(_ host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// The name to query (RFC 9460 §9.1).
    package var name: String {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return port == 443 ? name : "_\(port)._https.\(name)"
    }

    /// Whether DNS may be queried for this host. Excluded are addresses, names of this machine or of its own network,
    /// and names that must not reach DNS (RFC 6761 §6.3 and §6.4, RFC 6762 §3, RFC 7686 §2). A name without a dot is
    /// excluded too: the system's search list may complete it, but that applies to addresses only.
    package var mayBeAsked: Bool { Self.isForNameServers(host) }

    static func isForNameServers(_ host: String) -> Bool {
        guard let name = HSTSHosts.name(host), !CookieDomain.isAddress(name), name.utf8.contains(UInt8(ascii: ".")),
            !NameResolver.isLocal(name), SocketAddress(literal: name, port: 0) == nil
        else { return false }
        return !local.contains { name.hasSuffix($0) }
    }

    private static let local = [".local", ".invalid", ".onion"]
}

/// The HTTPS records of an origin, or why the query failed. No `Result`, for the same reason as `AddressAnswer`.
package enum HTTPSRecordAnswer: Hashable, Sendable {
    case success(HTTPSRecordSet)
    case failure(NameFailure)
}

/// The services of an origin, in the order of preference; may be empty.
package struct HTTPSRecordSet: Hashable, Sendable {
    package let records: [HTTPSRecord]
    /// How long the answer may be cached, in seconds; nil if the answer does not specify it.
    package let lifetime: UInt32?

    package init(_ records: [HTTPSRecord], lifetime: UInt32?) {
        self.records = records
        self.lifetime = lifetime
    }

    package static let none = HTTPSRecordSet([], lifetime: nil)
}
