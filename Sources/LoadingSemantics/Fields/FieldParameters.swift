/// Parses field values of the form `head; name=value; name="value"` (RFC 9110 §5.6.6), leniently enough for the
/// `Content-Type` and `Content-Disposition` of real servers.
struct FieldParameters {
    /// The text before the first semicolon, trimmed.
    let head: String
    /// In order. Names are in lower case, values without quotes and escapes.
    let parameters: [(name: String, value: String)]

    /// The first parameter with that name, in lower case.
    subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    init(_ text: String) {
        var reader = Reader(bytes: Array(text.utf8))
        head = reader.head()
        var parameters: [(name: String, value: String)] = []
        while let next = reader.parameter() {
            if !next.name.isEmpty { parameters.append(next) }
        }
        self.parameters = parameters
    }

    /// The content of a quoted string that starts with a quotation mark. Text after its end is ignored.
    static func unquoted(_ text: String) -> String {
        var reader = Reader(bytes: Array(text.utf8))
        return reader.quoted()
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

        mutating func head() -> String {
            let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
            offset = end
            return Self.text(trimming: bytes[..<end])
        }

        /// Starts at a semicolon, or at the end, where it returns nil.
        mutating func parameter() -> (name: String, value: String)? {
            guard next != nil else { return nil }
            offset += 1
            let nameStart = offset
            while let byte = next, byte != UInt8(ascii: "="), byte != UInt8(ascii: ";") { offset += 1 }
            let name = Self.text(trimming: bytes[nameStart..<offset]).lowercased()
            guard next == UInt8(ascii: "=") else { return (name, "") }
            offset += 1
            while let byte = next, byte == 0x20 || byte == 0x09 { offset += 1 }
            if next == UInt8(ascii: "\"") { return (name, quoted()) }
            return (name, plain())
        }

        /// Reads a quoted string. Text between its end and the next semicolon is ignored.
        mutating func quoted() -> String {
            var value: [UInt8] = []
            offset += 1
            while let byte = next, byte != UInt8(ascii: "\"") {
                offset += 1
                if byte == UInt8(ascii: "\\"), let escaped = next {
                    value.append(escaped)
                    offset += 1
                } else {
                    value.append(byte)
                }
            }
            while next != nil, next != UInt8(ascii: ";") { offset += 1 }
            return String(decoding: value, as: UTF8.self)
        }

        /// Reads up to the next semicolon that is not escaped.
        private mutating func plain() -> String {
            var value: [UInt8] = []
            while let byte = next, byte != UInt8(ascii: ";") {
                offset += 1
                if byte == UInt8(ascii: "\\"), let escaped = next {
                    value.append(escaped)
                    offset += 1
                } else {
                    value.append(byte)
                }
            }
            return Self.text(trimming: value[...])
        }

        private static func text(trimming bytes: ArraySlice<UInt8>) -> String {
            var bytes = bytes
            while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
            while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
