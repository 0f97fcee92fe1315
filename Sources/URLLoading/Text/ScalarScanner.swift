/// Decodes UTF-8. Ill-formed sequences become U+FFFD as the Unicode Standard recommends (3.9, U+FFFD Substitution of
/// Maximal Subparts) and as `String` does.
@usableFromInline
package struct ScalarScanner: ByteScanner {
    private var buffer = ByteBuffer()
    /// The bits of the incomplete scalar.
    private var value: UInt32 = 0
    /// The number of missing bytes.
    private var missing = 0
    /// The valid range of the next byte. For the second byte it excludes surrogates, overlong forms and values above
    /// U+10FFFF.
    private var allowed: ClosedRange<UInt8> = Self.continuation

    private static let continuation: ClosedRange<UInt8> = 0x80...0xBF
    private static let replacement: Unicode.Scalar = "\u{FFFD}"

    package init() {}

    @usableFromInline
    package mutating func refill(_ bytes: [UInt8]) { buffer.refill(bytes) }

    @usableFromInline
    package mutating func refill(_ byte: UInt8) { buffer.refill(byte) }

    @usableFromInline
    package mutating func next() -> Unicode.Scalar? {
        while buffer.offset < buffer.bytes.count {
            let byte = buffer.bytes[buffer.offset]
            if missing == 0 {
                buffer.offset += 1
                if byte < 0x80 { return Unicode.Scalar(byte) }
                if !begin(byte) { return Self.replacement }
            } else if allowed.contains(byte) {
                buffer.offset += 1
                value = value << 6 | UInt32(byte & 0x3F)
                allowed = Self.continuation
                missing -= 1
                if missing == 0 { return Unicode.Scalar(value) ?? Self.replacement }
            } else {
                // The byte is processed again, as the first of a sequence.
                missing = 0
                return Self.replacement
            }
        }
        return nil
    }

    @usableFromInline
    package mutating func finish() -> Unicode.Scalar? {
        if missing == 0 { return nil }
        missing = 0
        return Self.replacement
    }

    /// False if the byte cannot begin a sequence.
    private mutating func begin(_ byte: UInt8) -> Bool {
        allowed = Self.continuation
        switch byte {
        case 0xC2...0xDF:
            missing = 1
            value = UInt32(byte & 0x1F)
        case 0xE0...0xEF:
            missing = 2
            value = UInt32(byte & 0x0F)
            if byte == 0xE0 { allowed = 0xA0...0xBF }
            if byte == 0xED { allowed = 0x80...0x9F }
        case 0xF0...0xF4:
            missing = 3
            value = UInt32(byte & 0x07)
            if byte == 0xF0 { allowed = 0x90...0xBF }
            if byte == 0xF4 { allowed = 0x80...0x8F }
        default:
            return false
        }
        return true
    }
}
