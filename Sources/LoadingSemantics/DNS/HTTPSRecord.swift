/// A ServiceMode HTTPS record (RFC 9460 §2, §7, §9).
package struct HTTPSRecord: Sendable, Hashable {
    /// The smallest is preferred. Never 0, which means AliasMode.
    package let priority: UInt16
    /// The TargetName, in lower-case ASCII; the owner name where the record has ".".
    package let target: String
    /// ALPN protocol identifiers.
    package let protocols: [[UInt8]]
    /// Whether HTTP/1.1 is offered, which is the default protocol and is not in `protocols`.
    package let hasDefaultProtocol: Bool
    /// Nil means the origin's port.
    package let port: UInt16?
    /// Addresses to connect to before the A and AAAA records arrive (§7.3). 4 and 16 bytes each.
    package let ipv4Hints: [[UInt8]]
    package let ipv6Hints: [[UInt8]]

    package init(
        priority: UInt16, target: String, protocols: [[UInt8]] = [], hasDefaultProtocol: Bool = true,
        port: UInt16? = nil, ipv4Hints: [[UInt8]] = [], ipv6Hints: [[UInt8]] = []
    ) {
        self.priority = priority
        self.target = target
        self.protocols = protocols
        self.hasDefaultProtocol = hasDefaultProtocol
        self.port = port
        self.ipv4Hints = ipv4Hints
        self.ipv6Hints = ipv6Hints
    }

    /// Whether the endpoint offers HTTP/3.
    package var supportsHTTP3: Bool { protocols.contains { $0.elementsEqual("h3".utf8) } }

    package func hostPort(for origin: HostPort) -> HostPort { HostPort(target, port ?? origin.port) }
}

extension HTTPSRecord {
    /// The content of an HTTPS record.
    enum Content: Equatable {
        case alias(String?)
        case service(HTTPSRecord)
        /// The record has an unknown mandatory parameter, or no usable target or port.
        case unusable
    }

    /// The number of protocols and of address hints that are kept.
    static let maximumValues = 16

    /// Parses RDATA. Returns nil if it is malformed, which makes all records of the name unusable (§2.2, §2.4.1).
    ///
    /// - Parameter owner: The owner name of the record.
    static func content(_ data: ArraySlice<UInt8>, owner: String) -> Content? {
        var reader = DNSReader(data)
        guard let priority = reader.number16(), let target = reader.plainName() else { return nil }
        // Parameters in AliasMode are ignored (§2.4.2).
        if priority == 0 { return .alias(target.isRoot ? nil : target.text) }
        var parameters = ServiceParameters()
        guard parameters.read(&reader) else { return nil }
        guard parameters.isUnderstood, let name = target.isRoot ? owner : target.text else { return .unusable }
        return .service(
            HTTPSRecord(
                priority: priority, target: name, protocols: parameters.protocols,
                hasDefaultProtocol: parameters.hasDefaultProtocol, port: parameters.port,
                ipv4Hints: parameters.ipv4Hints, ipv6Hints: parameters.ipv6Hints))
    }
}
