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
