internal import LoadingSemantics

/// Whether two field names are one (RFC 9110 §5.1: ASCII case does not matter).
func isSameFieldName(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return zip(left.utf8, right.utf8).allSatisfy { asciiLowercase($0) == asciiLowercase($1) }
}

/// Whether `name` is a token (RFC 9110 §5.6.2). Anything else would change the meaning of the message it is put in.
func isFieldName(_ name: String) -> Bool {
    !name.isEmpty
        && name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C,
                0x7E:
                true
            default: false
            }
        }
}

/// Whether `value` can stand in a header section: no NUL, and a line break only as a fold, that is CRLF followed by a
/// space or a tab with more text after it.
func isFieldValue(_ value: String) -> Bool {
    var bytes = value.utf8.makeIterator()
    while let byte = bytes.next() {
        switch byte {
        case 0x00, 0x0A: return false
        case 0x0D:
            guard bytes.next() == 0x0A, let blank = bytes.next(), blank == 0x20 || blank == 0x09 else { return false }
        default: break
        }
    }
    return true
}

/// `value` with each fold turned into one space, which is all it means (RFC 9112 §5.2); a sender must not fold.
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
