/// How much a server may make a session hold or do before the response, or the connection, counts as broken.
package struct HTTP2Limits: Sendable, Equatable {
    /// Bytes of the names and values of one header or trailer section, and of the block on the wire.
    package let maximumHeadLength: Int
    /// Fields in one header or trailer section.
    package let maximumFieldCount: Int
    /// Interim (1xx) responses before the final one.
    package let maximumInformationalResponses: Int
    /// Answers to PING and SETTINGS that wait to be sent.
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

    /// HEADERS and CONTINUATION frames of one block. A server fills them, with 16 KiB as a rule.
    package var maximumBlockFrameCount: Int { 8 + maximumHeadLength / 4096 }
}
