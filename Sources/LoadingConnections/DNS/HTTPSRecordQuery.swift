package import LoadingSemantics
internal import LoadingTransport

/// What a name server is asked: the services of an origin of https.
package struct HTTPSRecordQuery: Hashable, Sendable {
    package let host: String
    package let port: UInt16

    package init(_ host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// RFC 9460 §9.1.
    package var name: String {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return port == 443 ? name : "_\(port)._https.\(name)"
    }

    /// Whether this is anything for DNS: no address, no name of this machine or of its own network, and none that is not
    /// to leave it (RFC 6761 §6.3 and §6.4, RFC 6762 §3, RFC 7686 §2). A name without a dot may get one from the search
    /// list of the system, which is for addresses alone.
    package var mayBeAsked: Bool { Self.isForNameServers(host) }

    static func isForNameServers(_ host: String) -> Bool {
        guard let name = HSTSHosts.name(host), !CookieDomain.isAddress(name), name.utf8.contains(UInt8(ascii: ".")),
            !NameResolver.isLocal(name), SocketAddress(literal: name, port: 0) == nil
        else { return false }
        return !local.contains { name.hasSuffix($0) }
    }

    private static let local = [".local", ".invalid", ".onion"]
}

/// What a name server said about the services of an origin, or why it said nothing.
package typealias HTTPSRecordAnswer = Result<HTTPSRecordSet, NameFailure>

/// The services of an origin, in the order of preference; maybe none.
package struct HTTPSRecordSet: Hashable, Sendable {
    package let records: [HTTPSRecord]
    /// How long that is to be believed, in seconds; nil if nothing says so.
    package let lifetime: UInt32?

    package init(_ records: [HTTPSRecord], lifetime: UInt32?) {
        self.records = records
        self.lifetime = lifetime
    }

    package static let none = HTTPSRecordSet([], lifetime: nil)
}
