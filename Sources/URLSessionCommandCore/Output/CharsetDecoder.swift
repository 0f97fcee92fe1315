#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Converts text of a charset to UTF-8, in pieces, with iconv(3). Bytes that are no text become U+FFFD.
///
/// Unchecked: the descriptor is used by one thread at a time, that of the presenter.
final class CharsetDecoder: @unchecked Sendable {
    private let descriptor: iconv_t
    /// The start of a character whose end has not arrived.
    private var pending: [UInt8] = []

    private static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]
    /// The longest character of any charset, with its shift sequences, in bytes.
    private static let longestCharacter = 16

    /// Nil for UTF-8 and ASCII, and for charsets that the system does not know: their bytes are used as they are.
    init?(_ charset: String?) {
        guard var name = charset?.lowercased(), !["utf-8", "utf8", "us-ascii", "ascii"].contains(name),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        // As browsers do, ISO 8859-1 is read as its superset.
        if ["iso-8859-1", "iso8859-1", "latin1", "l1"].contains(name) { name = "windows-1252" }
        // iconv reports failure as -1.
        guard let opened = iconv_open("UTF-8", name), Int(bitPattern: opened) != -1 else { return nil }
        descriptor = opened
    }

    deinit { iconv_close(descriptor) }

    func add(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let input = pending + bytes
        pending = []
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: max(256, min(input.count * 2, 64 * 1024)))
        var position = 0
        while position < input.count {
            let (used, code) = convert(input[position...], through: &piece, to: &output)
            position += used
            switch code {
            case 0, E2BIG: continue
            case EINVAL where input.count - position < Self.longestCharacter:
                pending = Array(input[position...])
                return output
            default:
                output += Self.replacement
                position += 1
            }
        }
        return output
    }

    func finish() -> [UInt8] {
        defer { pending = [] }
        return pending.isEmpty ? [] : Self.replacement
    }

    /// Converts as much as fits into the piece. Returns the number of bytes that were used, and why it ended.
    private func convert(
        _ input: ArraySlice<UInt8>, through piece: inout [UInt8], to output: inout [UInt8]
    ) -> (used: Int, code: Int32) {
        var left = input.count
        var room = piece.count
        var code: Int32 = 0
        input.withUnsafeBytes { source in
            piece.withUnsafeMutableBytes { target in
                // iconv does not write to its input.
                var from = UnsafeMutableRawPointer(mutating: source.baseAddress)?.assumingMemoryBound(to: CChar.self)
                var to = target.baseAddress?.assumingMemoryBound(to: CChar.self)
                // iconv reports failure as -1.
                if iconv(descriptor, &from, &left, &to, &room) == -1 { code = errno }
            }
        }
        output += piece[..<(piece.count - room)]
        return (input.count - left, code)
    }

    /// The charset that a text names itself in its first bytes: by a byte order mark, in an XML declaration, or in
    /// `<meta charset>`. Nil if it names none.
    static func charset(in bytes: some Collection<UInt8>) -> String? {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return "utf-16" }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return "utf-8" }
        let start = String(decoding: bytes.prefix(1024), as: UTF8.self).lowercased()
        let isXML = start.hasPrefix("<?xml")
        guard start.hasPrefix("<"), let name = start.firstRange(of: isXML ? "encoding=" : "charset=") else {
            return nil
        }
        let value = start[name.upperBound...].drop { $0 == "\"" || $0 == "'" || $0 == " " }
        let text = value.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-_:".contains($0)) }
        return text.isEmpty ? nil : String(text)
    }
}
