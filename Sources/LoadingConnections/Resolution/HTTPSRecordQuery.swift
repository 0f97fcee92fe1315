internal import LoadingSemantics
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
