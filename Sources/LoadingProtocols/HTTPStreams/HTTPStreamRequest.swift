package import LoadingSemantics

/// The request of a stream.
package struct HTTPStreamRequest: Sendable, Equatable {
    package var method: String
    package var scheme: String
    /// `Host` among the fields if nil. The field itself is never sent.
    package var authority: String?
    /// Without a query; "/" if empty. "*" is for OPTIONS.
    package var path: String
    package var query: String?
    /// The protocol of an extended CONNECT (RFC 8441), which has a scheme and a path as well.
    package var connectProtocol: String?
    package var fields: HTTPFields
    /// Fields that come after the others; two blocks save the caller from joining them.
    package var additional: HTTPFields
    /// Whether the observer provides a body.
    package var hasBody: Bool
    /// What `content-length` announces. Without a body and without this, methods that are meant to carry one say 0.
    package var contentLength: Int64?

    package init(
        method: String, scheme: String, authority: String? = nil, path: String, query: String? = nil,
        connectProtocol: String? = nil, fields: HTTPFields, additional: HTTPFields = HTTPFields(),
        hasBody: Bool = false, contentLength: Int64? = nil
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
        self.connectProtocol = connectProtocol
        self.fields = fields
        self.additional = additional
        self.hasBody = hasBody
        self.contentLength = contentLength
    }
}

/// The answer to a stream that may send more of a request's body.
package enum HTTPStreamBodyRead: Sendable, Equatable {
    /// So many bytes were written into the buffer; after the last of them the request is whole. None, and not the last,
    /// means the same as `later`.
    case bytes(Int, isLast: Bool)
    /// None now, until `resumeBody(of:)` of the session is called.
    case later
    /// The body has failed. The stream is reset.
    case failed
}

/// Why a request was not accepted. Nothing of it was or will be sent.
package enum HTTPStreamRequestError: Error, Equatable, Sendable {
    /// Not a token.
    case invalidMethod
    /// The scheme, the authority or the path is empty or has an invalid character.
    case invalidTarget
    /// Not a token.
    case invalidFieldName
    /// Contains CR, LF or NUL.
    case invalidFieldValue
    case missingHost
    case severalHosts
    case negativeBodyLength
    /// A field, or all fields together, are longer than the implementation can send.
    case headTooLong
    /// The connection accepts no more requests: it is going away, has failed, or has no stream number left.
    case notAllowed
}
