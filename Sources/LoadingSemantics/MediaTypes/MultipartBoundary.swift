/// What separates the parts of a multipart body (RFC 2046 §5.1.1).
package enum MultipartBoundary {
    /// RFC 2046 allows 70; a few more do no harm.
    package static let maximumLength = 256

    /// The boundary that a `Content-Type` names, or nil if it is no multipart type or has no boundary of use.
    package static func find(in contentType: String) -> [UInt8]? {
        let value = FieldParameters(contentType)
        guard value.head.lowercased().hasPrefix("multipart/"), let boundary = value["boundary"].map({ Array($0.utf8) }),
            !boundary.isEmpty, boundary.count <= maximumLength,
            // A line end within it would never be found, and white space at its end is not told from padding.
            boundary.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), boundary.last != 0x20
        else { return nil }
        return boundary
    }
}
