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
    package init?(contentType: String) {
        let value = FieldParameters(contentType)
        if value.head.isEmpty { return nil }
        mimeType = value.head.lowercased()
        let charset = value["charset"]?.lowercased()
        self.charset = charset?.isEmpty == true ? nil : charset
    }
}
