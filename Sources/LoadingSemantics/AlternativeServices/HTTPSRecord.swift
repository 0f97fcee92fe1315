/// A service that an HTTPS record of DNS tells of (RFC 9460 §2, §7, §9).
package struct HTTPSRecord: Sendable, Hashable {
    /// The smallest is preferred; never 0.
    package let priority: UInt16
    /// The name of the server, in lower-case ASCII; the record's own where it says so.
    package let target: String
    /// Of ALPN.
    package let protocols: [[UInt8]]
    /// Whether HTTP/1.1, which nobody names, is spoken too.
    package let hasDefaultProtocol: Bool
    /// Nil for the origin's own.
    package let port: UInt16?
    /// To connect to before the server's addresses are known, and not instead of them. 4 and 16 bytes each.
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

    /// Whether HTTP/3 is spoken there.
    package var speaksHTTP3: Bool { protocols.contains { $0.elementsEqual("h3".utf8) } }

    package func hostPort(for origin: HostPort) -> HostPort { HostPort(target, port ?? origin.port) }
}

extension HTTPSRecord {
    /// What stands in a record.
    enum Content: Equatable {
        case alias(String?)
        case service(HTTPSRecord)
        /// The record needs what nobody here understands, or names no server that a connection could go to.
        case useless
    }

    /// How many of the protocols and of the hints of a record are kept: nobody has as many.
    static let mostValues = 16

    /// Reads the data of a record; nil if it is malformed, and then all records of the name are (§2.2, §2.4.1).
    ///
    /// - Parameter owner: The name of the record.
    static func content(_ data: ArraySlice<UInt8>, owner: String) -> Content? {
        var reader = DNSReader(data)
        guard let priority = reader.number16(), let target = reader.plainName() else { return nil }
        // An alias has no parameters, and if it has some they do not matter (§2.4.2).
        if priority == 0 { return .alias(target.isRoot ? nil : target.text) }
        var parameters = ServiceParameters()
        guard parameters.read(&reader) else { return nil }
        guard parameters.isUnderstood, let name = target.isRoot ? owner : target.text else { return .useless }
        return .service(
            HTTPSRecord(
                priority: priority, target: name, protocols: parameters.protocols,
                hasDefaultProtocol: parameters.hasDefaultProtocol, port: parameters.port,
                ipv4Hints: parameters.ipv4Hints, ipv6Hints: parameters.ipv6Hints))
    }
}
