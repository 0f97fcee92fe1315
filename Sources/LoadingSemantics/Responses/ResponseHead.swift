/// The status and the fields of one response, interim or final.
package struct ResponseHead: Sendable, Equatable {
    /// Three digits, 100 to 999.
    package var status: Int
    package var version: HTTPVersion
    /// Often empty: servers may leave it out, and HTTP/2 has none.
    package var reason: String
    package var fields: HTTPFields
    /// Length on the wire, with all that frames it.
    package var byteCount: Int

    package init(status: Int, version: HTTPVersion, reason: String = "", fields: HTTPFields, byteCount: Int) {
        self.status = status
        self.version = version
        self.reason = reason
        self.fields = fields
        self.byteCount = byteCount
    }
}
