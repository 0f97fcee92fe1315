package import LoadingSemantics

/// A request as a stream begins with it.
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
    /// Whether the observer is asked for a body.
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
