/// Reads numbers and names from a message of DNS (RFC 1035 §4.1), or from a piece of one. Nil means that the message ends
/// too soon, or is not well-formed; what is read after that does not matter.
struct DNSReader {
    struct Name: Equatable {
        /// In lower case, without the dot at the end. Nil for the root, and for a name that no host has: with octets that
        /// are neither letters, digits, hyphens nor underscores.
        let text: String?
        let isRoot: Bool
    }

    /// The whole message: positions in it count from its first byte (§4.1.4).
    private let message: ArraySlice<UInt8>
    private(set) var offset: Int

    init(_ message: ArraySlice<UInt8>) {
        self.message = message
        offset = message.startIndex
    }

    var isAtEnd: Bool { offset == message.endIndex }

    mutating func number8() -> UInt8? {
        guard offset < message.endIndex else { return nil }
        defer { offset += 1 }
        return message[offset]
    }

    mutating func number16() -> UInt16? { bytes(2)?.reduce(0) { $0 << 8 | UInt16($1) } }

    mutating func number32() -> UInt32? { bytes(4)?.reduce(0) { $0 << 8 | UInt32($1) } }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= message.endIndex - offset else { return nil }
        defer { offset += count }
        return message[offset..<(offset + count)]
    }

    /// A name that may end with a pointer to another.
    mutating func name() -> Name? { name(mayPoint: true) }

    /// A name that may not (RFC 9460 §2.2).
    mutating func plainName() -> Name? { name(mayPoint: false) }

    private mutating func name(mayPoint: Bool) -> Name? {
        var text: [UInt8] = []
        var isHost = true
        var length = 1
        var position = offset
        // Each pointer leads to before where the last one has led to, so there is an end; and there are no more of them
        // than a name has labels, or each of many names could lead through the whole message.
        var limit = offset
        var pointers = 0
        var end: Int?
        while true {
            guard position < message.endIndex else { return nil }
            let count = Int(message[position])
            position += 1
            switch count >> 6 {
            case 0:
                guard count <= message.endIndex - position else { return nil }
                if count == 0 {
                    offset = end ?? position
                    let isRoot = length == 1
                    return Name(
                        text: isHost && !isRoot ? String(decoding: text, as: UTF8.self) : nil, isRoot: isRoot)
                }
                length += count + 1
                guard length <= 255 else { return nil }
                if !text.isEmpty { text.append(UInt8(ascii: ".")) }
                for byte in message[position..<(position + count)] {
                    isHost = isHost && Self.isOfHost(byte)
                    text.append(asciiLowercase(byte))
                }
                position += count
            case 3:
                guard mayPoint, position < message.endIndex else { return nil }
                let target = message.startIndex + ((count & 63) << 8 | Int(message[position]))
                pointers += 1
                guard target < limit, pointers < 128 else { return nil }
                end = end ?? position + 1
                limit = target
                position = target
            default: return nil
            }
        }
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
