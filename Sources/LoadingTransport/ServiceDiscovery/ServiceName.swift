/// The name of a service instance (RFC 6763 §4.1).
package struct ServiceName: Hashable, Sendable {
    /// Any text of 1 to 63 bytes.
    package var instance: String
    /// Like `_http._tcp`, without a dot at the end.
    package var type: String
    /// Like `local`, without a dot at the end; empty for the default domain.
    package var domain: String

    /// A dot at the end of type or domain is removed.
    package init(instance: String, type: String, domain: String) {
        self.instance = instance
        self.type = Self.withoutFinalDot(type)
        self.domain = Self.withoutFinalDot(domain)
    }

    static func withoutFinalDot(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }

    /// Whether it can be a service. The daemon checks it more closely.
    var isValid: Bool {
        (1...63).contains(instance.utf8.count) && !instance.utf8.contains(0) && Self.isType(type)
            && Self.isDomain(domain)
    }

    /// The name of a domain, or nothing.
    static func isDomain(_ text: String) -> Bool { text.utf8.count <= 255 && !text.utf8.contains(0) }

    /// `_service._tcp` or `_service._udp`, after `_subtype._sub.` if it has one.
    static func isType(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == 2 || labels.count == 4, labels.allSatisfy({ (2...63).contains($0.utf8.count) }),
            let transport = labels.last, ["_tcp", "_udp"].contains(transport.lowercased()),
            labels[labels.count - 2].hasPrefix("_"), !text.utf8.contains(0)
        else { return false }
        return labels.count == 2 || labels[1].lowercased() == "_sub"
    }

    /// The type that is browsed for `_service._tcp,_subtype`, Apple's form of a subtype (RFC 6763 §7.1).
    package static func browsedType(_ text: String) -> String {
        let parts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        let type = withoutFinalDot(String(parts.first ?? ""))
        return parts.count == 2 ? "\(withoutFinalDot(String(parts[1])))._sub.\(type)" : type
    }
}

/// A service with what is needed to connect to it.
package struct ResolvedService: Hashable, Sendable {
    /// The host, without a dot at the end.
    package var host: String
    package var port: UInt16
    /// With the port.
    package var addresses: [SocketAddress]
    /// The strings of the TXT record.
    package var text: [[UInt8]]

    package init(host: String, port: UInt16, addresses: [SocketAddress], text: [[UInt8]]) {
        self.host = host
        self.port = port
        self.addresses = addresses
        self.text = text
    }
}
