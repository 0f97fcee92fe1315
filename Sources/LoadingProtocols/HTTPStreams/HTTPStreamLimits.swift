/// Limits on what a server may cause over HTTP/2 or HTTP/3. Beyond them the response or the connection fails.
package struct HTTPStreamLimits: Sendable, Equatable {
    /// A header section that exceeds its limits this many times ends the connection, not only its stream: one byte on
    /// the wire may stand for thousands.
    static let sectionExcess = 4

    /// Bytes of the names and values of one header or trailer section, and of the block on the wire.
    package let maximumHeadLength: Int
    /// Fields in one header or trailer section.
    package let maximumFieldCount: Int
    /// Interim (1xx) responses before the final one.
    package let maximumInformationalResponses: Int
    /// HTTP/2: unsent acknowledgements of PING and SETTINGS.
    package let maximumUnsentAnswers: Int

    package init(
        maximumHeadLength: Int = 256 << 10, maximumFieldCount: Int = 2_000, maximumInformationalResponses: Int = 32,
        maximumUnsentAnswers: Int = 1_000
    ) {
        self.maximumHeadLength = min(max(maximumHeadLength, 0), 1 << 30)
        self.maximumFieldCount = max(maximumFieldCount, 0)
        self.maximumInformationalResponses = max(maximumInformationalResponses, 0)
        self.maximumUnsentAnswers = max(maximumUnsentAnswers, 1)
    }

    /// HTTP/2: HEADERS and CONTINUATION frames of one header block. Servers usually fill a frame with 16 KiB.
    package var maximumBlockFrameCount: Int { 8 + maximumHeadLength / 4096 }
}
