/// Builds a DNS response.
struct DNSPacket {
    var bytes: [UInt8]

    init(_ question: String = "a.example", answers: Int, flags: UInt16 = 0x8180) {
        bytes = [0x12, 0x34] + Self.number(flags) + Self.number(1) + Self.number(UInt16(answers)) + [0, 0, 0, 0]
        bytes += Self.name(question) + Self.number(65) + [0, 1]
    }

    /// A record. By default, its owner is the queried name.
    func record(
        _ data: [UInt8], owner: [UInt8] = [0xC0, 12], type: UInt16 = 65, kind: UInt16 = 1, lifetime: UInt32 = 300
    ) -> DNSPacket {
        var packet = self
        packet.bytes += owner + Self.number(type) + Self.number(kind)
        packet.bytes += Self.number(UInt16(lifetime >> 16)) + Self.number(UInt16(lifetime & 0xFFFF))
        packet.bytes += Self.number(UInt16(data.count)) + data
        return packet
    }

    static func number(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

    static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + $0.utf8 } + [0]
    }

    /// The data of an HTTPS record.
    static func https(_ priority: UInt16, _ target: String, _ parameters: (UInt16, [UInt8])...) -> [UInt8] {
        number(priority) + name(target)
            + parameters.flatMap { number($0.0) + number(UInt16($0.1.count)) + $0.1 }
    }

    static let h3: [UInt8] = [2] + "h3".utf8
    static let h2: [UInt8] = [2] + "h2".utf8
}
