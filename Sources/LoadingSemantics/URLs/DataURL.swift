package import FoundationEssentials

/// A parsed `data:` URL (RFC 2397, MISC-16).
package struct DataURL: Sendable, Equatable {
    package var mediaType: MediaType
    package var data: Data

    /// The media type of a URL without one. RFC 2397 implies US-ASCII, which authors rarely intend, so no charset is
    /// reported.
    private static let standardType = MediaType(mimeType: "text/plain")

    /// Parses an absolute URL. Returns nil if it is not a data URL, or its data cannot be decoded.
    package init?(_ text: String) {
        // A fragment is not part of the data.
        let url = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let colon = url.firstIndex(of: UInt8(ascii: ":")), String(url[..<colon])?.lowercased() == "data",
            let comma = url.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        // Separators are not percent-encoded. Encoded ones belong to a name or value (RFC 2397 §3). Encoded separators
        // in the media type and charsets with other encoded characters than quotation marks are treated as errors.
        var parts: [Part] = []
        for text in url[url.index(after: colon)..<comma].split(
            separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        {
            guard let part = Part(text),
                parts.isEmpty ? !part.name.utf8.contains(UInt8(ascii: ";")) : !part.isCodedCharset
            else { return nil }
            parts.append(part)
        }
        guard let bytes = PercentEncoding.decode(url[url.index(after: comma)...]) else { return nil }
        if parts.count > 1, parts.last?.isBase64 == true {
            parts.removeLast()
            guard let decoded = Self.decodeBase64(bytes) else { return nil }
            data = decoded
        } else {
            data = Data(bytes)
        }
        mediaType = Self.mediaType(parts)
    }

    /// The trimmed and decoded text between two semicolons: a media type, a parameter or a word.
    private struct Part {
        var name: String
        /// The text after the first "=".
        var value: String?
        private var isValueCoded = false

        /// Returns nil if the text cannot be decoded.
        init?(_ text: Substring.UTF8View) {
            let sides = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = sides.first, let name = PercentEncoding.decode(first) else { return nil }
            self.name = Self.trimmed(name)
            guard sides.count > 1 else { return }
            guard let value = PercentEncoding.decode(sides[1]) else { return nil }
            self.value = Self.trimmed(value)
            isValueCoded = Self.unquoted(sides[1]).contains(UInt8(ascii: "%"))
        }

        var isCharset: Bool { name.lowercased() == "charset" }
        var isCodedCharset: Bool { isCharset && isValueCoded }

        var isBase64: Bool { value == nil && name.lowercased() == "base64" }

        /// Without encoded quotation marks around it: a URL cannot have others, and `URL(string:)` encodes them.
        private static func unquoted(_ text: Substring.UTF8View) -> Substring.UTF8View {
            let mark = "%22".utf8
            guard text.count >= 2 * mark.count, text.starts(with: mark), text.suffix(mark.count).elementsEqual(mark)
            else { return text }
            return text.dropFirst(mark.count).dropLast(mark.count)
        }

        private static func trimmed(_ bytes: [UInt8]) -> String {
            var rest = bytes.drop { $0 == 0x20 }
            while rest.last == 0x20 { rest.removeLast() }
            return String(decoding: rest, as: UTF8.self)
        }
    }

    /// Parameters without a media type belong to text/plain.
    private static func mediaType(_ parts: [Part]) -> MediaType {
        guard let first = parts.first, first.value == nil else { return standardType }
        let isBare = first.name.isEmpty && parts.count > 1
        let name = isBare ? "text/plain" : first.name
        guard var type = MediaType(contentType: name), isWellFormed(type.mimeType) else { return standardType }
        let charset = parts.dropFirst().first { $0.isCharset }?.value
        type.setCharset(charset.map { $0.utf8.first == UInt8(ascii: "\"") ? FieldParameters.unquoted($0) : $0 })
        return type
    }

    /// Whether it consists of two tokens with a slash between them (RFC 9110 §8.3.1).
    private static func isWellFormed(_ mimeType: String) -> Bool {
        let sides = mimeType.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return sides.count == 2 && sides.allSatisfy { !$0.isEmpty && $0.allSatisfy(ChallengeReader.isToken) }
    }

    /// Forgiving base64 of the Infra Standard: white space is ignored, and padding is optional, but none may be wrong.
    private static func decodeBase64(_ bytes: [UInt8]) -> Data? {
        let padding = UInt8(ascii: "=")
        var text = bytes.filter { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0C && $0 != 0x0D }
        if text.count % 4 == 0 {
            for _ in 0..<2 where text.last == padding { text.removeLast() }
        }
        // A single surplus digit encodes no byte. `Data` would ignore most of the wrong padding.
        guard text.count % 4 != 1, !text.contains(padding) else { return nil }
        if text.count % 4 > 1 { text += Array(repeating: padding, count: 4 - text.count % 4) }
        return Data(base64Encoded: Data(text))
    }
}
