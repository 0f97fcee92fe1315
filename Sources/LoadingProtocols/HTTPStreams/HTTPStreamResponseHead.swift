package import LoadingSemantics

/// The header section of one response, interim or final.
package struct HTTPStreamResponseHead: Sendable, Equatable {
    /// Three digits, 100 to 999.
    package var status: Int
    /// Without the pseudo-header fields; names are in lower case.
    package var fields: HTTPFields
    /// Length on the wire: the compressed fields, and the heads of their frames.
    package var byteCount: Int

    package init(status: Int, fields: HTTPFields, byteCount: Int) {
        self.status = status
        self.fields = fields
        self.byteCount = byteCount
    }
}
