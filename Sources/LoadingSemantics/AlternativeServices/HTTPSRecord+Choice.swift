extension HTTPSRecord {
    /// Where to speak HTTP/3, by the records of an origin; nil if nowhere (RFC 9460 §3).
    ///
    /// The smallest priority goes first, of those that can be used at all. A server whose first choice is a position without
    /// HTTP/3 is not asked over it elsewhere; among places that it likes as well as each other, those with HTTP/3 go first.
    ///
    /// - Parameters:
    ///   - records: In the order in which they are to be looked at.
    ///   - isUsable: Whether a position may be tried over QUIC. What says no here is passed over.
    package static func http3(
        among records: [HTTPSRecord], of origin: HostPort, isUsable: (AlternativeService) -> Bool
    ) -> AlternativeService? {
        var best: (priority: UInt16, service: AlternativeService?)?
        for record in records where record.speaksAnythingKnown {
            if let best, best.priority < record.priority || best.priority == record.priority && best.service != nil {
                continue
            }
            guard record.speaksHTTP3 else {
                if best?.priority != record.priority { best = (record.priority, nil) }
                continue
            }
            let service = record.service(of: origin)
            if service.isAllowed(for: origin), isUsable(service) { best = (record.priority, service) }
        }
        return best?.service
    }

    /// Whether any version is spoken there that is spoken here (§7.1.2).
    private var speaksAnythingKnown: Bool {
        hasDefaultProtocol || protocols.contains { name in Self.known.contains { name.elementsEqual($0.utf8) } }
    }

    private static let known = ["h3", "h2", "http/1.1"]

    private func service(of origin: HostPort) -> AlternativeService {
        // A name may be written with the dot of the root; what stands in a record is without.
        let own = origin.host.hasSuffix(".") ? origin.host.dropLast() : origin.host[...]
        return AlternativeService(host: target == own ? nil : target, port: port ?? origin.port)
    }
}
