/// How much a server may make the parser hold.
package struct MultipartLimits: Sendable, Equatable {
    /// Bytes of one part's head on the wire, empty line included.
    package let maximumHeadLength: Int
    /// Fields in one part's head.
    package let maximumFieldCount: Int

    package init(maximumHeadLength: Int = 64 << 10, maximumFieldCount: Int = 500) {
        self.maximumHeadLength = min(max(maximumHeadLength, 2), 1 << 30)
        self.maximumFieldCount = max(maximumFieldCount, 0)
    }
}
