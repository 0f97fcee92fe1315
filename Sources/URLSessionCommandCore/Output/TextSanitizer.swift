/// Makes text from a server safe to print on a terminal.
///
/// Escape sequences can move the cursor, change the title or even insert input, and bidirectional controls can disguise
/// text. They are displayed as visible text. Line feeds, tabs and CRLF are kept. Characters that are split across two
/// pieces are reassembled.
package struct TextSanitizer: Sendable {
    private let isUTF8: Bool
    private var pending: [UInt8] = []

    package init(isUTF8: Bool = true) {
        self.isUTF8 = isUTF8
    }

    package static func clean(_ text: String, isUTF8: Bool = true) -> String {
        var sanitizer = TextSanitizer(isUTF8: isUTF8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            // The text is part of a line, so line breaks and tabs are escaped too.
            byte == 10 || byte == 13 || byte == 9
                ? sanitizer.emitControl(byte, to: &output) : sanitizer.add(byte, to: &output)
        }
        sanitizer.finish(to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    package mutating func add(_ byte: UInt8, to output: inout [UInt8]) {
        if pending.isEmpty, byte >= 0x20, byte < 0x7F {
            output.append(byte)
            return
        }
        if let first = pending.first {
            if first == 13 {
                pending.removeAll(keepingCapacity: true)
                if byte == 10 {
                    output += [13, 10]
                    return
                }
                emitControl(13, to: &output)
            } else if isContinuation(byte, after: pending) {
                pending.append(byte)
                if pending.count == Self.length(of: first) { emitCharacter(to: &output) }
                return
            } else {
                emitInvalid(to: &output)
            }
        }
        start(byte, to: &output)
    }

    package mutating func finish(to output: inout [UInt8]) {
        guard let first = pending.first else { return }
        if first == 13 {
            pending.removeAll()
            output.append(13)
        } else {
            emitInvalid(to: &output)
        }
    }

    private mutating func start(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case 9, 10, 0x20..<0x7F: output.append(byte)
        case 13: pending.append(13)
        case 0..<0x20, 0x7F: emitControl(byte, to: &output)
        default:
            if Self.length(of: byte) > 1 {
                pending.append(byte)
            } else {
                emitReplacement(to: &output)
            }
        }
    }

    /// The length of the UTF-8 sequence that this byte begins; 1 for invalid bytes.
    private static func length(of byte: UInt8) -> Int {
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
    }

    /// Table 3-7 of the Unicode standard: overlong forms, surrogates and values above U+10FFFF are invalid.
    private func isContinuation(_ byte: UInt8, after bytes: [UInt8]) -> Bool {
        guard bytes.count == 1 else { return byte & 0xC0 == 0x80 }
        switch bytes[0] {
        case 0xE0: return (0xA0...0xBF).contains(byte)
        case 0xED: return (0x80...0x9F).contains(byte)
        case 0xF0: return (0x90...0xBF).contains(byte)
        case 0xF4: return (0x80...0x8F).contains(byte)
        default: return byte & 0xC0 == 0x80
        }
    }

    private mutating func emitCharacter(to output: inout [UInt8]) {
        var value = UInt32(pending[0]) & (0x7F >> UInt32(pending.count))
        for byte in pending.dropFirst() { value = value << 6 | UInt32(byte & 0x3F) }
        if Self.isDangerous(value) {
            output += Array("<U+\(Self.hexadecimal(value))>".utf8)
        } else if isUTF8 {
            output += pending
        } else {
            emitReplacement(to: &output)
        }
        pending.removeAll(keepingCapacity: true)
    }

    private mutating func emitInvalid(to output: inout [UInt8]) {
        pending.removeAll(keepingCapacity: true)
        emitReplacement(to: &output)
    }

    private func emitReplacement(to output: inout [UInt8]) {
        output += isUTF8 ? [0xEF, 0xBF, 0xBD] : [UInt8(ascii: "?")]
    }

    private func emitControl(_ byte: UInt8, to output: inout [UInt8]) {
        output += [UInt8(ascii: "^"), byte ^ 0x40]
    }

    /// C1 controls, line and paragraph separators, and bidirectional controls.
    private static func isDangerous(_ value: UInt32) -> Bool {
        switch value {
        case 0x80...0x9F, 0x200E, 0x200F, 0x061C, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
