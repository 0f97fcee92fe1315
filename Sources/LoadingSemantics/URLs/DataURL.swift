package import FoundationEssentials

/// A `data:` URL (RFC 2397), taken apart: the bytes that lie in an address, and what they are (MISC-16).
package struct DataURL: Sendable, Equatable {
    package var mediaType: MediaType
    package var data: Data

    /// What an address that says nothing has.
    private static let standardType = MediaType(mimeType: "text/plain", charset: "us-ascii")

    /// Reads the text of an absolute URL; nil if it is no data URL, or one whose bytes cannot be decoded.
    package init?(_ text: String) {
        // A fragment is no part of the bytes.
        let url = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard let colon = url.firstIndex(of: UInt8(ascii: ":")), String(url[..<colon])?.lowercased() == "data",
            let comma = url.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        guard let head = PercentEncoding.decode(url[url.index(after: colon)..<comma]),
            let bytes = PercentEncoding.decode(url[url.index(after: comma)...])
        else { return nil }
        var type = String(decoding: head, as: UTF8.self)
        let isBase64 = Self.removeBase64(from: &type)
        if isBase64 {
            guard let decoded = Self.decodeBase64(bytes) else { return nil }
            data = decoded
        } else {
            data = Data(bytes)
        }
        mediaType = Self.mediaType(type)
    }

    /// Takes the word that says so off the end, in any case.
    private static func removeBase64(from type: inout String) -> Bool {
        guard let semicolon = type.utf8.lastIndex(of: UInt8(ascii: ";")) else { return false }
        let word = type[type.index(after: semicolon)...].drop { $0 == " " }
        guard word.lowercased().trimmingEnd == "base64" else { return false }
        type = String(type[..<semicolon])
        return true
    }

    /// Parameters may come without a type: that is plain text then.
    private static func mediaType(_ text: String) -> MediaType {
        let isBare = text.utf8.first == UInt8(ascii: ";")
        guard let type = MediaType(contentType: isBare ? "text/plain" + text : text),
            type.mimeType.utf8.contains(UInt8(ascii: "/"))
        else { return standardType }
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

extension String {
    fileprivate var trimmingEnd: Substring {
        var rest = self[...]
        while rest.last == " " { rest.removeLast() }
        return rest
    }
}
