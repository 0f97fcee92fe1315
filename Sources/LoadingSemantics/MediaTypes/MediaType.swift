/// What `Content-Type` says (RFC 9110 §8.3), as `URLResponse` shows it.
package struct MediaType: Sendable, Equatable {
    /// Lower-case, without parameters.
    package var mimeType: String
    /// The charset parameter in lower case, or nil.
    package var charset: String?

    package init(mimeType: String, charset: String? = nil) {
        self.mimeType = mimeType
        self.charset = charset
    }

    /// Reads a field value; nil if it names no type (MISC-10).
    ///
    /// A charset that is no token is none: it could name nothing, and has no business in a log or a header.
    package init?(contentType: String) {
        let value = FieldParameters(contentType)
        if value.head.isEmpty || value.head.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return nil }
        mimeType = value.head.lowercased()
        setCharset(value["charset"])
    }

    /// Sets the charset, unless it is no token.
    mutating func setCharset(_ name: String?) {
        guard let name = name?.lowercased(), !name.isEmpty, name.utf8.allSatisfy(ChallengeReader.isToken) else {
            return
        }
        charset = name
    }
}
