/// The host and port of a server: of an origin, of an alternative, or of a proxy.
package struct HostPort: Sendable, Hashable {
    /// As in `HTTPURL`: lower-case ASCII, addresses without brackets.
    package let host: String
    package let port: UInt16

    package init(_ host: String, _ port: UInt16) {
        self.host = host
        self.port = port
    }
}

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

/// The "bad ports" of the Fetch Standard: ports of services that could misinterpret an HTTP request.
///
/// The caller chooses the port of an origin, so that is always allowed. The port of an alternative comes from a server
/// or from DNS, which must not be able to direct requests to other services.
enum BlockedPorts {
    private static let all: Set<UInt16> = [
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
        531,
        532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
        5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    ]

    static func contains(_ port: UInt16) -> Bool { all.contains(port) }
}
