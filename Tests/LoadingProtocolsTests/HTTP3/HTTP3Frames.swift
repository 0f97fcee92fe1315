/// What a server says on its streams, octet by octet.
enum HTTP3Frames {
    /// A number in QUIC's form, in as few octets as it needs.
    static func number(_ value: UInt64) -> [UInt8] {
        switch value {
        case ..<64: [UInt8(value)]
        case ..<16_384: [0x40 | UInt8(value >> 8), UInt8(value & 0xFF)]
        case ..<1_073_741_824:
            [0x80 | UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
        default: [0xC0 | UInt8(value >> 56)] + (0..<7).map { UInt8(value >> (48 - 8 * $0) & 0xFF) }
        }
    }

    static func frame(_ type: UInt64, _ payload: [UInt8] = []) -> [UInt8] {
        number(type) + number(UInt64(payload.count)) + payload
    }

    static func data(_ text: String) -> [UInt8] { frame(0, Array(text.utf8)) }
    static func data(_ bytes: [UInt8]) -> [UInt8] { frame(0, bytes) }

    static func settings(_ settings: [(UInt64, UInt64)] = []) -> [UInt8] {
        frame(4, settings.flatMap { number($0.0) + number($0.1) })
    }

    /// The type of the control stream, and the settings.
    static func control(_ entries: [(UInt64, UInt64)] = []) -> [UInt8] { [0] + settings(entries) }
    static func goAway(_ id: UInt64) -> [UInt8] { frame(7, number(id)) }

    /// A section of literal fields that needs no table.
    static func section(_ fields: [(String, String)]) -> [UInt8] {
        var octets: [UInt8] = [0, 0]
        for (name, value) in fields {
            octets += text(name, bits: 3, with: 0x20)
            octets += text(value, bits: 7, with: 0)
        }
        return octets
    }

    private static func text(_ text: String, bits: Int, with first: UInt8) -> [UInt8] {
        integer(UInt64(text.utf8.count), bits: bits, with: first) + Array(text.utf8)
    }

    static func headers(_ fields: [(String, String)]) -> [UInt8] { frame(1, section(fields)) }
    static func head(_ status: Int, _ fields: [(String, String)] = []) -> [UInt8] {
        headers([(":status", "\(status)")] + fields)
    }

    /// A number in the form of field compression, with a prefix of so many bits.
    static func integer(_ value: UInt64, bits: Int, with first: UInt8) -> [UInt8] {
        let most = UInt64(1) << bits - 1
        if value < most { return [first | UInt8(value)] }
        var octets = [first | UInt8(most)]
        var rest = value - most
        while rest >= 128 {
            octets.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return octets + [UInt8(rest)]
    }

    // MARK: The dynamic table

    /// On the encoder stream: the table may have so many bytes.
    static func capacity(_ count: UInt64) -> [UInt8] { integer(count, bits: 5, with: 0x20) }

    static func insertion(_ name: String, _ value: String) -> [UInt8] {
        text(name, bits: 5, with: 0x40) + text(value, bits: 7, with: 0)
    }

    /// A section that needs `insertions` entries, of a table of 4 KiB, and begins with a status.
    static func sectionNeeding(_ insertions: UInt64, indices: [UInt64]) -> [UInt8] {
        // 4,096 bytes are 128 entries at the most, and the number goes round at twice that.
        var octets = integer(insertions % 256 + 1, bits: 8, with: 0)
        octets += [0, 0xD9]
        for index in indices { octets += integer(index, bits: 6, with: 0x80) }
        return octets
    }
}
