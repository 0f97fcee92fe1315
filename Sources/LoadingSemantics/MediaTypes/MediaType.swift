/// The value of `Content-Type` (RFC 9110 §8.3), as `URLResponse` shows it.
package struct MediaType: Sendable, Equatable {
    /// In lower case, without parameters.
    package var mimeType: String
    /// The `charset` parameter in lower case, or nil.
    package var charset: String?

    package init(mimeType: String, charset: String? = nil) {
        self.mimeType = mimeType
        self.charset = charset
    }

    /// Parses a field value. Returns nil if it has no type (MISC-10).
    ///
    /// A charset that is not a token is ignored, so that it cannot inject text into logs or fields.
    package init?(contentType: String) {
        let value = FieldParameters(contentType)
        if value.head.isEmpty || value.head.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return nil }
        mimeType = value.head.lowercased()
        setCharset(value["charset"])
    }

    /// Sets the charset if it is a token.
    mutating func setCharset(_ name: String?) {
        guard let name = name?.lowercased(), !name.isEmpty, name.utf8.allSatisfy(ChallengeReader.isToken) else {
            return
        }
        charset = name
    }
}

/// The boundary of a multipart body (RFC 2046 §5.1.1).
package enum MultipartBoundary {
    /// RFC 2046 allows 70 characters; some servers send longer ones.
    package static let maximumLength = 256

    /// The boundary of a `Content-Type`. Nil if the type is not multipart, or has no usable boundary.
    package static func find(in contentType: String) -> [UInt8]? {
        let value = FieldParameters(contentType)
        guard value.head.lowercased().hasPrefix("multipart/"), let boundary = value["boundary"].map({ Array($0.utf8) }),
            !boundary.isEmpty, boundary.count <= maximumLength,
            // A boundary cannot contain line breaks, and trailing white space is indistinguishable from padding.
            boundary.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), boundary.last != 0x20
        else { return nil }
        return boundary
    }
}
