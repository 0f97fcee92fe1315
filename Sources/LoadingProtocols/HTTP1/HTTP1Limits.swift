/// How much a server may make the parser hold or skip before the response counts as malformed.
package struct HTTP1Limits: Sendable, Equatable {
    /// Bytes of one head on the wire: status line, fields and empty line.
    package let maximumHeadLength: Int
    /// Fields in one head or one trailer section.
    package let maximumFieldCount: Int
    /// Interim (1xx) responses before the final one.
    package let maximumInformationalResponses: Int
    /// Bytes of the trailer section on the wire.
    package let maximumTrailerLength: Int
    /// Bytes of one line with a chunk's size and extensions, and of all such lines beyond what their chunks justify.
    package let maximumChunkLineLength: Int
    /// Bytes of empty lines before a status line (RFC 9112 §2.2 lets a recipient skip one or more of them).
    package let maximumLeadingLength: Int

    package init(
        maximumHeadLength: Int = 256 << 10, maximumFieldCount: Int = 2_000, maximumInformationalResponses: Int = 32,
        maximumTrailerLength: Int = 64 << 10, maximumChunkLineLength: Int = 16 << 10, maximumLeadingLength: Int = 64
    ) {
        // Field positions are 32 bits wide; a section can never outgrow them.
        self.maximumHeadLength = min(max(maximumHeadLength, 0), 1 << 30)
        self.maximumFieldCount = max(maximumFieldCount, 0)
        self.maximumInformationalResponses = max(maximumInformationalResponses, 0)
        // The empty line that ends every trailer section has room.
        self.maximumTrailerLength = min(max(maximumTrailerLength, 2), 1 << 30)
        self.maximumChunkLineLength = max(maximumChunkLineLength, 0)
        self.maximumLeadingLength = max(maximumLeadingLength, 0)
    }
}
