/// An HTTP/3 endpoint other than the origin's own (RFC 7838 §2). The server there must still authenticate as the
/// origin.
package struct AlternativeService: Sendable, Hashable {
    /// In the form of `HostPort.host`; nil means the origin's host.
    package let host: String?
    package let port: UInt16
    /// Whether the alternative stays valid after a change of network (§3.1, `persist`).
    package let persists: Bool

    package init(host: String? = nil, port: UInt16, persists: Bool = false) {
        self.host = host
        self.port = port
        self.persists = persists
    }

    package func hostPort(for origin: HostPort) -> HostPort { HostPort(host ?? origin.host, port) }

    /// Whether the endpoint is the origin's own host and port.
    package func isOwn(of origin: HostPort) -> Bool { hostPort(for: origin) == origin }

    /// False for a blocked port, unless the endpoint is the origin's own.
    func isAllowed(for origin: HostPort) -> Bool { !BlockedPorts.contains(port) || isOwn(of: origin) }

    func hasSameHostPort(as other: AlternativeService) -> Bool { host == other.host && port == other.port }

    /// Parses the host of an `Alt-Svc` field or of an HTTPS record: a name, an IPv4 address, or an IPv6 address in
    /// brackets. Returns nil for anything else.
    static func host(_ text: String) -> String? {
        guard text.utf8.first == UInt8(ascii: "[") else { return HSTSHosts.name(text) }
        guard text.utf8.last == UInt8(ascii: "]") else { return nil }
        let address = String(text.dropFirst().dropLast())
        return address.utf8.contains(UInt8(ascii: ":")) && IPAddressRange.bytes(address) != nil ? address : nil
    }
}
