/// Reads integers and names from a DNS message or a part of one (RFC 1035 §4.1). Methods return nil if the message is
/// truncated or malformed; the reader is not usable after that.
struct DNSReader {
    struct Name: Equatable {
        /// In lower case, without the final dot. Nil for the root, and for a name that is no host name: one with octets
        /// other than letters, digits, hyphens and underscores.
        let text: String?
        let isRoot: Bool
    }

    /// The whole message, because compression pointers count from its first byte (§4.1.4).
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

    /// A name that may be compressed.
    mutating func name() -> Name? { name(allowsPointers: true) }

    /// A name that must not be compressed (RFC 9460 §2.2).
    mutating func plainName() -> Name? { name(allowsPointers: false) }

    private mutating func name(allowsPointers: Bool) -> Name? {
        var text: [UInt8] = []
        var isHost = true
        var length = 1
        var position = offset
        // Each pointer must point before the previous one, so the loop ends. The number of pointers is bounded too,
        // otherwise many names could each traverse the whole message.
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
                guard allowsPointers, position < message.endIndex else { return nil }
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
