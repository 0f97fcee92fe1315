/// Builds HTTP/2 frames (RFC 9113), with fields as literals without indexing (RFC 7541 §6.2.2).
package enum HTTP2Frames {
    package static func frame(_ type: UInt8, flags: UInt8 = 0, stream: Int64 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8)]
            + [UInt8(truncatingIfNeeded: length), type, flags] + octets(UInt32(truncatingIfNeeded: stream)) + payload
    }

    package static func octets(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    // MARK: Frames

    package static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(4, values.flatMap { [UInt8($0.0 >> 8), UInt8(truncatingIfNeeded: $0.0)] + octets($0.1) })
    }

    package static let settingsAnswer = frame(4, flags: 1)

    package static func head(
        _ stream: Int64, _ status: Int, _ fields: [(String, String)] = [], ends: Bool = false
    ) -> [UInt8] {
        headers(stream, block([(":status", "\(status)")] + fields), ends: ends)
    }

    package static func headers(_ stream: Int64, _ block: [UInt8], ends: Bool = false, whole: Bool = true) -> [UInt8] {
        frame(1, flags: (ends ? 1 : 0) | (whole ? 4 : 0), stream: stream, block)
    }

    package static func continuation(_ stream: Int64, _ block: [UInt8], whole: Bool = true) -> [UInt8] {
        frame(9, flags: whole ? 4 : 0, stream: stream, block)
    }

    package static func data(_ stream: Int64, _ text: String, ends: Bool = false) -> [UInt8] {
        data(stream, Array(text.utf8), ends: ends)
    }

    package static func data(_ stream: Int64, _ bytes: [UInt8], ends: Bool = false) -> [UInt8] {
        frame(0, flags: ends ? 1 : 0, stream: stream, bytes)
    }

    package static func reset(_ stream: Int64, _ code: UInt32) -> [UInt8] { frame(3, stream: stream, octets(code)) }

    package static func ping(_ payload: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], answer: Bool = false) -> [UInt8] {
        frame(6, flags: answer ? 1 : 0, payload)
    }

    package static func goAway(_ lastStream: Int64, _ code: UInt32 = 0, _ text: String = "") -> [UInt8] {
        frame(7, octets(UInt32(lastStream)) + octets(code) + Array(text.utf8))
    }

    package static func windowUpdate(_ stream: Int64, _ count: UInt32) -> [UInt8] {
        frame(8, stream: stream, octets(count))
    }

    // MARK: Fields

    package static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { field(Array($0.0.utf8), Array($0.1.utf8)) }
    }

    package static func field(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        [0x00] + integer(name.count) + name + integer(value.count) + value
    }

    /// A literal field with incremental indexing.
    package static func indexedField(_ name: String, _ value: String) -> [UInt8] {
        [0x40] + integer(name.utf8.count) + Array(name.utf8) + integer(value.utf8.count) + Array(value.utf8)
    }

    /// An integer with a 7-bit prefix.
    private static func integer(_ value: Int) -> [UInt8] {
        if value < 127 { return [UInt8(value)] }
        var bytes: [UInt8] = [127]
        var rest = value - 127
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 0x80)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }
}
