/// Several `Set-Cookie` fields combined into one value, as in a dictionary of fields (COOK-10).
package enum CombinedSetCookies {
    /// Splits at commas that precede a cookie: a token and "=". Commas in dates and comments are kept. After ", " an
    /// empty token also splits: such a field is no cookie, but must not become part of the previous one.
    package static func split(_ joined: String) -> [Substring] {
        let bytes = joined.utf8
        var fields: [Substring] = []
        var start = bytes.startIndex
        var position = start
        while let comma = bytes[position...].firstIndex(of: UInt8(ascii: ",")) {
            position = bytes.index(after: comma)
            if startsCookie(bytes[position...]) {
                fields.append(joined[start..<comma])
                start = position
            }
        }
        fields.append(joined[start...])
        return fields
    }

    private static func startsCookie(_ text: Substring.UTF8View) -> Bool {
        let trimmed = text.drop(while: isBlank)
        guard
            let end = trimmed.firstIndex(where: {
                $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";")
            }), trimmed[end] == UInt8(ascii: "=")
        else { return false }
        var name = trimmed[..<end]
        while let last = name.last, isBlank(last) { name.removeLast() }
        return name.isEmpty ? trimmed.startIndex > text.startIndex : name.allSatisfy(ChallengeReader.isToken)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}
