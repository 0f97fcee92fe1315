package import FoundationEssentials

/// A `data:` URL (RFC 2397), taken apart: the bytes that lie in an address, and what they are (MISC-16).
package struct DataURL: Sendable, Equatable {
    package var mediaType: MediaType
    package var data: Data

    /// The media type of a URL that names none. RFC 2397 says US-ASCII for its charset, which few authors mean, so no charset is
    /// reported.
    private static let standardType = MediaType(mimeType: "text/plain")

    /// Reads the text of an absolute URL; nil if it is no data URL, or one whose bytes cannot be decoded.
    package init?(_ text: String) {
        // A fragment is no part of the bytes.
        let url = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let colon = url.firstIndex(of: UInt8(ascii: ":")), String(url[..<colon])?.lowercased() == "data",
            let comma = url.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        // What separates is not percent-coded. A coded one belongs to a name or a value (RFC 2397 §3); in a media type it is
        // a mistake about which nothing is guessed, and so is a charset that is coded.
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

    /// What stands between two semicolons, decoded and without surrounding spaces: a media type, a parameter or a word.
    private struct Part {
        var name: String
        /// What follows the first "=".
        var value: String?
        private var isValueCoded = false

        /// Nil for what cannot be decoded.
        init?(_ text: Substring.UTF8View) {
            let sides = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = sides.first, let name = PercentEncoding.decode(first) else { return nil }
            self.name = Self.trimmed(name)
            guard sides.count > 1 else { return }
            guard let value = PercentEncoding.decode(sides[1]) else { return nil }
            self.value = Self.trimmed(value)
            isValueCoded = sides[1].contains(UInt8(ascii: "%"))
        }

        var isCharset: Bool { name.lowercased() == "charset" }
        var isCodedCharset: Bool { isCharset && isValueCoded }

        var isBase64: Bool { value == nil && name.lowercased() == "base64" }

        private static func trimmed(_ bytes: [UInt8]) -> String {
            var rest = bytes.drop { $0 == 0x20 }
            while rest.last == 0x20 { rest.removeLast() }
            return String(decoding: rest, as: UTF8.self)
        }
    }

    /// Parameters may come without a type: that is plain text then.
    private static func mediaType(_ parts: [Part]) -> MediaType {
        guard let first = parts.first, first.value == nil else { return standardType }
        let isBare = first.name.isEmpty && parts.count > 1
        let name = isBare ? "text/plain" : first.name
        guard var type = MediaType(contentType: name), type.mimeType.utf8.contains(UInt8(ascii: "/"))
        else { return standardType }
        let charset = parts.dropFirst().first { $0.isCharset }?.value
        type.setCharset(charset.map { $0.utf8.first == UInt8(ascii: "\"") ? FieldParameters.unquoted($0) : $0 })
        return type
    }

    /// White space does not count, and the padding may be left out.
    private static func decodeBase64(_ bytes: [UInt8]) -> Data? {
        var text = bytes.filter { $0 != 0x20 && !(0x09...0x0D).contains($0) }
        // With one digit more than whole groups there is no byte that it could belong to.
        if text.count % 4 > 1 { text += Array(repeating: UInt8(ascii: "="), count: 4 - text.count % 4) }
        return Data(base64Encoded: Data(text))
    }
}
