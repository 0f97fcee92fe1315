extension HTTPSRecord {
    /// The HTTP/3 endpoint that the records select; nil if there is none (RFC 9460 §3).
    ///
    /// The smallest priority with a usable record decides. If no record of that priority has HTTP/3, records of larger
    /// priority are not used for it. Within one priority, records with HTTP/3 come first.
    ///
    /// - Parameters:
    ///   - records: In the order in which they are tried.
    ///   - isUsable: Whether HTTP/3 may be tried at an endpoint. Others are skipped.
    package static func http3(
        among records: [HTTPSRecord], of origin: HostPort, isUsable: (AlternativeService) -> Bool
    ) -> AlternativeService? {
        var best: (priority: UInt16, service: AlternativeService?)?
        for record in records where record.supportsKnownProtocol {
            if let best, best.priority < record.priority || best.priority == record.priority && best.service != nil {
                continue
            }
            guard record.supportsHTTP3 else {
                if best?.priority != record.priority { best = (record.priority, nil) }
                continue
            }
            let service = record.service(of: origin)
            if service.isAllowed(for: origin), isUsable(service) { best = (record.priority, service) }
        }
        return best?.service
    }

    /// Whether the endpoint offers a protocol that this client supports (§7.1.2).
    private var supportsKnownProtocol: Bool {
        hasDefaultProtocol || protocols.contains { name in Self.known.contains { name.elementsEqual($0.utf8) } }
    }

    private static let known = ["h3", "h2", "http/1.1"]

    private func service(of origin: HostPort) -> AlternativeService {
        // A host may have a final dot; the name in a record has none.
        let own = origin.host.hasSuffix(".") ? origin.host.dropLast() : origin.host[...]
        return AlternativeService(host: target == own ? nil : target, port: port ?? origin.port)
    }
}
