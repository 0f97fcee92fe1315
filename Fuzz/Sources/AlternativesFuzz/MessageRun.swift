import LoadingSemantics

/// A message of a name server, and the promises about what is read of it.
enum MessageRun {
    static func read(_ message: [UInt8]) {
        let name = "a.example"
        guard let answer = HTTPSAnswer(message, about: name) else { return }
        precondition(HTTPSAnswer(message + [0, 1], about: name) == answer, "what follows the records matters")
        var flagged = message
        flagged[2] |= 0x02
        precondition(HTTPSAnswer(flagged, about: name) == nil, "half an answer is believed")
        precondition(answer.lifetime ?? 0 <= 0x7FFF_FFFF, "a lifetime out of range")
        switch answer.content {
        case .none: break
        case .alias(let target): check(target)
        case .services(let records):
            precondition((1...32).contains(records.count), "none, or too many")
            precondition(zip(records, records.dropFirst()).allSatisfy { $0.priority <= $1.priority }, "out of order")
            for record in records { check(record) }
        }
        precondition(answer.content == .none || answer.lifetime != nil, "no lifetime")
    }

    private static func check(_ record: HTTPSRecord) {
        precondition(record.priority > 0, "an alias is no service")
        check(record.target)
        precondition(record.port != 0, "no port")
        precondition(record.protocols.count <= 16 && !record.protocols.contains([]), "protocols without a name")
        precondition(record.hasDefaultProtocol || !record.protocols.isEmpty, "no protocol at all")
        precondition(record.ipv4Hints.count <= 16 && record.ipv4Hints.allSatisfy { $0.count == 4 }, "no addresses")
        precondition(record.ipv6Hints.count <= 16 && record.ipv6Hints.allSatisfy { $0.count == 16 }, "no addresses")
    }

    private static func check(_ name: String) {
        precondition((1...253).contains(name.utf8.count), "too long, or nothing")
        let isName = name.utf8.allSatisfy {
            $0 == 0x2D || $0 == 0x2E || $0 == 0x5F || $0 &- 0x30 < 10 || $0 &- 0x61 < 26
        }
        precondition(isName && !name.hasPrefix(".") && !name.hasSuffix(".") && !name.contains(".."), "no name")
    }
}
