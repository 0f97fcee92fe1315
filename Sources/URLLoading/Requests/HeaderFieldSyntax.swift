internal import LoadingSemantics

/// Whether two field names are equal, ignoring ASCII case (RFC 9110 §5.1).
func isSameFieldName(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return withBytes(of: left) { left in
        withBytes(of: right) { right in
            for index in left.indices where asciiLowercase(left[index]) != asciiLowercase(right[index]) { return false }
            return true
        }
    }
}

/// The name in lower case, or nil if it is not ASCII, which no field name is.
func lowercaseFieldName(_ name: String) -> String? {
    var name = name
    return name.withUTF8 { bytes in
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(unsafeUninitializedCapacity: bytes.count) { text in
            for index in bytes.indices { text[index] = asciiLowercase(bytes[index]) }
            return bytes.count
        }
    }
}

/// Whether `name` is a token (RFC 9110 §5.6.2). Other names could inject header fields.
func isFieldName(_ name: String) -> Bool {
    withBytes(of: name) { bytes in
        if bytes.isEmpty { return false }
        for byte in bytes where !isTokenCharacter(byte) { return false }
        return true
    }
}

/// A bit set of the token characters: letters, digits and !#$%&'*+-.^_`|~
@inline(__always)
private func isTokenCharacter(_ byte: UInt8) -> Bool {
    let low: UInt64 = 0x03FF_6CFA_0000_0000
    let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
    if byte >= 0x80 { return false }
    return (byte < 0x40 ? low >> UInt64(byte) : high >> UInt64(byte & 0x3F)) & 1 == 1
}

/// Whether `value` is a valid field value: no NUL, and line breaks only as line folding (CRLF followed by space or
/// tab).
func isFieldValue(_ value: String) -> Bool {
    withBytes(of: value) { bytes in
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case 0x00, 0x0A: return false
            case 0x0D:
                guard index + 2 < bytes.count, bytes[index + 1] == 0x0A,
                    bytes[index + 2] == 0x20 || bytes[index + 2] == 0x09
                else { return false }
                index += 3
            default: index += 1
            }
        }
        return true
    }
}

/// Calls `body` with the contiguous UTF-8 bytes of a string, which is faster than its UTF-8 view.
@inline(__always)
private func withBytes(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
    var text = text
    return text.withUTF8(body)
}

/// `value` with each fold replaced by one space: a sender must not generate line folding (RFC 9112 §5.2).
func unfoldedFieldValue(_ value: String) -> String {
    guard value.utf8.contains(0x0D) else { return value }
    var result: [UInt8] = []
    var isFolding = false
    for byte in value.utf8 {
        switch byte {
        case 0x0D: isFolding = true
        case 0x0A: break
        case 0x20, 0x09:
            result.append(isFolding ? 0x20 : byte)
            isFolding = false
        default: result.append(byte)
        }
    }
    return String(decoding: result, as: UTF8.self)
}
