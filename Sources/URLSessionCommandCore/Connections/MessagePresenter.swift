/// Formats received messages for output: lines and dumps for a reader, otherwise lines and exact bytes.
package struct MessagePresenter: Sendable {
    /// The number of bytes of a binary message that are shown to a reader.
    private static let dumpedBytes = 64

    private let style: TextStyle
    private let isFormatted: Bool
    private let isUTF8: Bool

    /// - Parameter isFormatted: Whether the output is for a reader.
    package init(isFormatted: Bool, style: TextStyle, isUTF8: Bool) {
        self.isFormatted = isFormatted
        self.style = style
        self.isUTF8 = isUTF8
    }

    /// The text and a line feed.
    package func text(_ text: String) -> [UInt8] {
        guard isFormatted else { return Array(text.utf8) + [10] }
        var sanitizer = TextSanitizer(isUTF8: isUTF8)
        var output: [UInt8] = []
        for byte in text.utf8 { sanitizer.add(byte, to: &output) }
        sanitizer.finish(to: &output)
        return output + [10]
    }

    /// The bytes alone, or a summary with a dump of the first of them.
    package func binary(_ bytes: some Collection<UInt8>) -> [UInt8] {
        guard isFormatted else { return Array(bytes) }
        var lines = [style.apply(.bold, "binary, \(Quantity.count(bytes.count, "byte"))")]
        lines += HexDump.lines(bytes, limit: Self.dumpedBytes).map { "  " + style.apply(.dim, $0) }
        let rest = bytes.count - Self.dumpedBytes
        if rest > 0 { lines.append("  and \(Quantity.count(rest, "byte")) more; -o FILE keeps all") }
        return lines.flatMap { Array($0.utf8) + [10] }
    }
}
