/// Optional white space (OWS) in fields: spaces and tabs (RFC 9110 §5.6.3).
enum OptionalWhitespace {
    static func contains(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Removes white space at both ends.
    static func trimmed(_ bytes: some BidirectionalCollection<UInt8>) -> [UInt8] {
        let end = bytes.lastIndex { !contains($0) }.map(bytes.index(after:)) ?? bytes.startIndex
        return bytes[..<end].drop(while: contains).map { $0 }
    }
}
