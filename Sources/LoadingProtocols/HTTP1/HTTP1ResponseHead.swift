package import LoadingSemantics

/// The status line and the header section of one response, interim or final.
package struct HTTP1ResponseHead: Sendable, Equatable {
    /// Three digits, 100 to 999.
    package var status: Int
    /// 0 or 1; a later minor version counts as 1.
    package var minorVersion: Int
    /// Often empty: servers may leave it out.
    package var reason: String
    package var fields: HTTPFields
    /// Length on the wire, with the empty line.
    package var byteCount: Int

    package init(status: Int, minorVersion: Int, reason: String, fields: HTTPFields, byteCount: Int) {
        self.status = status
        self.minorVersion = minorVersion
        self.reason = reason
        self.fields = fields
        self.byteCount = byteCount
    }
}
