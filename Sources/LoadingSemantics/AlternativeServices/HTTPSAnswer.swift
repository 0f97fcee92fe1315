/// What a name server says about the HTTPS records of a name (RFC 9460 §3).
package struct HTTPSAnswer: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// There is no record, or none of use.
        case none
        /// The records are those of another name.
        case alias(String)
        /// At least one, in the order of preference.
        case services([HTTPSRecord])
    }

    package let content: Content
    /// How long it is to be believed, in seconds; nil if nothing says so.
    package let lifetime: UInt32?

    package init(_ content: Content, lifetime: UInt32?) {
        self.content = content
        self.lifetime = lifetime
    }

    /// How many records are taken, and how many names one is led on to: nobody has as many.
    static let mostRecords = 32
    static let mostLinks = 8

    /// Reads a response; nil if it is none, if it is cut off, or if one of the records that matter is malformed: then the
    /// others are not to be used either.
    ///
    /// - Parameters:
    ///   - message: As it came.
    ///   - name: What was asked for, in lower case.
    package init?(_ message: [UInt8], about name: String) {
        var reader = DNSReader(message[...])
        guard reader.bytes(2) != nil, let flags = reader.number16(), let questions = reader.number16(),
            let answers = reader.number16(), reader.bytes(4) != nil
        else { return nil }
        // A response, to a question, whole, and without an error (RFC 1035 §4.1.1).
        guard flags & 0xFA0F == 0x8000 else { return nil }
        for _ in 0..<questions { guard reader.name() != nil, reader.bytes(4) != nil else { return nil } }
        guard let section = Section(&reader, count: Int(answers)) else { return nil }
        self.init(section, about: name)
    }

    private init?(_ section: Section, about name: String) {
        var name = name
        var lifetime: UInt32?
        for _ in 0..<Self.mostLinks {
            guard let link = section.links[name] else { break }
            lifetime = min(lifetime ?? link.lifetime, link.lifetime)
            name = link.target
        }
        var alias: Content?
        var services: [HTTPSRecord] = []
        for record in section.records where record.owner == name {
            guard let content = HTTPSRecord.content(record.data, owner: name) else { return nil }
            lifetime = min(lifetime ?? record.lifetime, record.lifetime)
            switch content {
            // There should be one alias at most, and beside it nothing else counts (RFC 9460 §2.4.1). One that leads
            // nowhere says that there is no such service (§2.5.1).
            case .alias(let target): alias = alias ?? target.map { .alias($0) } ?? Content.none
            case .service(let service): services.append(service)
            case .useless: break
            }
        }
        if let alias {
            content = alias
        } else if services.isEmpty {
            content = .none
        } else {
            // Those of the same priority stay in the order in which the server gave them, which it shuffles.
            let ranked = services.enumerated().sorted {
                ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset)
            }
            content = .services(ranked.map(\.element))
        }
        self.lifetime = lifetime
    }
}

extension HTTPSAnswer {
    /// The records of an answer that matter.
    private struct Section {
        struct Link {
            let target: String
            let lifetime: UInt32
        }
        struct Record {
            let owner: String
            let lifetime: UInt32
            let data: ArraySlice<UInt8>
        }

        /// By name: what it is another name of.
        var links: [String: Link] = [:]
        var records: [Record] = []

        /// Nil if the message ends before its records do.
        init?(_ reader: inout DNSReader, count: Int) {
            for _ in 0..<count {
                guard let owner = reader.name(), let type = reader.number16(), let kind = reader.number16(),
                    let time = reader.number32(), let length = reader.number16()
                else { return nil }
                let start = reader
                guard let data = reader.bytes(Int(length)) else { return nil }
                // Of the Internet, and of a name that a host can have.
                guard kind == 1, let owner = owner.text else { continue }
                // A number with the highest bit set is none (RFC 2181 §8).
                let lifetime = time >> 31 == 0 ? time : 0
                switch type {
                case 5 where links.count < HTTPSAnswer.mostRecords:
                    // Where the name stands matters, since it may point to others.
                    var position = start
                    guard let target = position.name(), position.offset == reader.offset else { return nil }
                    if let target = target.text, links[owner] == nil {
                        links[owner] = Link(target: target, lifetime: lifetime)
                    }
                case 65 where records.count < HTTPSAnswer.mostRecords:
                    records.append(Record(owner: owner, lifetime: lifetime, data: data))
                default: break
                }
            }
        }
    }
}
