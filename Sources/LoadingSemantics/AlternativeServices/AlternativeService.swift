/// Where else an origin speaks HTTP/3 (RFC 7838 §2). The server there still has to prove that it is the origin.
package struct AlternativeService: Sendable, Hashable {
    /// As in `HostPort`; nil for the origin's own.
    package let host: String?
    package let port: UInt16
    /// Whether it is meant to be good in other networks too (§3.1).
    package let persists: Bool

    package init(host: String? = nil, port: UInt16, persists: Bool = false) {
        self.host = host
        self.port = port
        self.persists = persists
    }

    package func hostPort(for origin: HostPort) -> HostPort { HostPort(host ?? origin.host, port) }

    /// Whether that is the origin's own position.
    package func isOwn(of origin: HostPort) -> Bool { hostPort(for: origin) == origin }

    /// Whether the origin may be reached there.
    func isAllowed(for origin: HostPort) -> Bool { !BlockedPorts.contains(port) || isOwn(of: origin) }

    func hasSameHostPort(as other: AlternativeService) -> Bool { host == other.host && port == other.port }

    /// The host of an `Alt-Svc` field or of a record: a name, or an address, of version 6 in brackets. Nil if it is none.
    static func host(_ text: String) -> String? {
        guard text.utf8.first == UInt8(ascii: "[") else { return HSTSHosts.name(text) }
        guard text.utf8.last == UInt8(ascii: "]") else { return nil }
        let address = String(text.dropFirst().dropLast())
        return address.utf8.contains(UInt8(ascii: ":")) && IPAddressRange.bytes(address) != nil ? address : nil
    }
}
