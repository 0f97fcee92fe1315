/// The status and the fields of an interim or final response.
package struct ResponseHead: Sendable, Equatable {
    /// 100 to 999.
    package var status: Int
    package var version: HTTPVersion
    /// Often empty: optional in HTTP/1.1, absent in HTTP/2.
    package var reason: String
    package var fields: HTTPFields
    /// The size on the wire, including framing.
    package var byteCount: Int

    package init(status: Int, version: HTTPVersion, reason: String = "", fields: HTTPFields, byteCount: Int) {
        self.status = status
        self.version = version
        self.reason = reason
        self.fields = fields
        self.byteCount = byteCount
    }
}
