/// The line before a chunk: its size in hexadecimal and extensions, which are skipped (RFC 9112 §7.1).
struct HTTP1ChunkLine {
    private enum Part {
        case size
        case afterSize
        case extensions
        case lineFeed
    }

    private var part = Part.size
    private var size: Int64 = 0
    /// Octets that were taken.
    private(set) var length = 0

    /// Takes octets of the line from the front; the chunk's size once the line is whole.
    ///
    /// The line ends with CRLF or LF. A CR elsewhere is refused: two readers of such a line may disagree.
    mutating func take(_ input: inout UnsafeRawBufferPointer, limit: Int) throws(HTTP1ParseError) -> Int64? {
        var index = 0
        defer { input.dropPrefix(index) }
        while index < input.count {
            let octet = input[index]
            index &+= 1
            length &+= 1
            if length > limit { throw .chunkLineTooLong }
            switch (part, octet) {
            case (.size, _):
                if let digit = Self.hexadecimal(octet) {
                    if size > Int64.max &>> 4 { throw .chunkSizeOverflow }
                    size = size &<< 4 | digit
                    continue
                }
                if length == 1 { throw .malformedChunkSize }
                fallthrough
            case (.afterSize, _):
                switch octet {
                case Octet.lineFeed: return size
                case Octet.carriageReturn: part = .lineFeed
                case Octet.semicolon: part = .extensions
                case Octet.space, Octet.tab: part = .afterSize
                default: throw .malformedChunkSize
                }
            case (.extensions, Octet.lineFeed), (.lineFeed, Octet.lineFeed):
                return size
            case (.extensions, Octet.carriageReturn):
                part = .lineFeed
            case (.extensions, _):
                continue
            case (.lineFeed, _):
                throw .malformedChunkSize
            }
        }
        return nil
    }

    @inline(__always)
    private static func hexadecimal(_ octet: UInt8) -> Int64? {
        if octet &- 0x30 < 10 { return Int64(octet &- 0x30) }
        let letter = (octet | 0x20) &- 0x61
        return letter < 6 ? Int64(letter &+ 10) : nil
    }
}
