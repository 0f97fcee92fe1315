/// The answer to a query for the HTTPS records of a name (RFC 9460 §3).
package struct HTTPSAnswer: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// There is no usable record.
        case none
        /// AliasMode: the records are those of another name.
        case alias(String)
        /// ServiceMode: at least one, in the order of preference.
        case services([HTTPSRecord])
    }

    package let content: Content
    /// The smallest TTL, in seconds; nil if the answer has no record.
    package let lifetime: UInt32?

    package init(_ content: Content, lifetime: UInt32?) {
        self.content = content
        self.lifetime = lifetime
    }

    /// Limits against hostile answers: records, and aliases to follow.
    static let maximumRecords = 32
    static let maximumAliases = 8

    /// Parses a DNS message. Returns nil if it is not a complete successful response, or if a relevant record is
    /// malformed, which makes all of them unusable (§2.2).
    ///
    /// - Parameters:
    ///   - message: The DNS message.
    ///   - name: The queried name, in lower case.
    package init?(_ message: [UInt8], about name: String) {
        var reader = DNSReader(message[...])
        guard reader.bytes(2) != nil, let flags = reader.number16(), let questions = reader.number16(),
            let answers = reader.number16(), reader.bytes(4) != nil
        else { return nil }
        // QR set, standard query, not truncated, RCODE 0 (RFC 1035 §4.1.1).
        guard flags & 0xFA0F == 0x8000 else { return nil }
        for _ in 0..<questions { guard reader.name() != nil, reader.bytes(4) != nil else { return nil } }
        guard let section = Section(&reader, count: Int(answers)) else { return nil }
        self.init(section, about: name)
    }

    private init?(_ section: Section, about name: String) {
        var name = name
        var lifetime: UInt32?
        for _ in 0..<Self.maximumAliases {
            guard let alias = section.aliases[name] else { break }
            lifetime = min(lifetime ?? alias.lifetime, alias.lifetime)
            name = alias.target
        }
        var alias: Content?
        var services: [HTTPSRecord] = []
        for record in section.records where record.owner == name {
            guard let content = HTTPSRecord.content(record.data, owner: name) else { return nil }
            lifetime = min(lifetime ?? record.lifetime, record.lifetime)
            switch content {
            // With an AliasMode record, ServiceMode records are ignored (RFC 9460 §2.4.1). The alias "." means that the
            // service does not exist (§2.5.1).
            case .alias(let target): alias = alias ?? target.map { .alias($0) } ?? Content.none
            case .service(let service): services.append(service)
            case .unusable: break
            }
        }
        if let alias {
            content = alias
        } else if services.isEmpty {
            content = .none
        } else {
            // The sort is stable: records of one priority stay in the order of the server, which shuffles them.
            let ranked = services.enumerated().sorted {
                ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset)
            }
            content = .services(ranked.map(\.element))
        }
        self.lifetime = lifetime
    }
}

extension HTTPSAnswer {
    /// The relevant records of the answer section.
    private struct Section {
        struct Alias {
            let target: String
            let lifetime: UInt32
        }
        struct Record {
            let owner: String
            let lifetime: UInt32
            let data: ArraySlice<UInt8>
        }

        /// CNAME records by owner name.
        var aliases: [String: Alias] = [:]
        var records: [Record] = []

        /// Returns nil if the message is truncated.
        init?(_ reader: inout DNSReader, count: Int) {
            for _ in 0..<count {
                guard let owner = reader.name(), let type = reader.number16(), let kind = reader.number16(),
                    let time = reader.number32(), let length = reader.number16()
                else { return nil }
                let start = reader
                guard let data = reader.bytes(Int(length)) else { return nil }
                // Class IN, and an owner that is a host name.
                guard kind == 1, let owner = owner.text else { continue }
                // A TTL with the highest bit set counts as 0 (RFC 2181 §8).
                let lifetime = time >> 31 == 0 ? time : 0
                switch type {
                case 5 where aliases.count < HTTPSAnswer.maximumRecords:
                    // Read within the message, because the name may be compressed.
                    var position = start
                    guard let target = position.name(), position.offset == reader.offset else { return nil }
                    if let target = target.text, aliases[owner] == nil {
                        aliases[owner] = Alias(target: target, lifetime: lifetime)
                    }
                case 65 where records.count < HTTPSAnswer.maximumRecords:
                    records.append(Record(owner: owner, lifetime: lifetime, data: data))
                default: break
                }
            }
        }
    }
}
