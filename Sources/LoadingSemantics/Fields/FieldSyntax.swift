internal import CLoadingOctets

/// Optional white space (OWS) in fields: spaces and tabs (RFC 9110 §5.6.3).
enum OptionalWhitespace {
    static func contains(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Removes white space at both ends.
    static func trimmed(_ bytes: some BidirectionalCollection<UInt8>) -> [UInt8] {
        let end = bytes.lastIndex { !contains($0) }.map(bytes.index(after:)) ?? bytes.startIndex
        return bytes[..<end].drop(while: contains).map { $0 }
    }

    /// The octets without white space at both ends.
    static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        var (start, end) = (0, bytes.count)
        while start < end, contains(bytes[start]) { start += 1 }
        while end > start, contains(bytes[end - 1]) { end -= 1 }
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
    }
}

/// The lower-case form of an ASCII letter; other octets are unchanged.
@inline(__always)
package func asciiLowercase(_ byte: UInt8) -> UInt8 {
    clo_lowercase(byte)
}

/// The upper-case form of an ASCII letter; other octets are unchanged.
@inline(__always)
func asciiUppercase(_ byte: UInt8) -> UInt8 {
    byte &- 0x61 < 26 ? byte & 0xDF : byte
}
