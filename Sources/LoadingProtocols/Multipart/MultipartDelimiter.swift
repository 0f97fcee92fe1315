/// Finds delimiter lines in the bytes of a part, also across reads.
///
/// A delimiter is a line of two hyphens and the boundary, optional white space, and a line end; two more hyphens mark
/// the last one (RFC 2046 §5.1.1). The line end before it is part of it. Line ends are CRLF, or LF, which some cameras
/// send. Only bytes that may be part of a delimiter are held back: a little more than a boundary's length. A boundary
/// contains no line end, so the byte that ends a candidate is the first that can begin another.
struct MultipartDelimiter {
    enum Finding {
        /// Bytes that are no delimiter: the number at the front of the held bytes, then of the input.
        case text(held: Int, input: Int)
        /// A delimiter line; all of it is held or was consumed.
        case delimiter(isLast: Bool)
        case needsMore
    }

    private enum State {
        /// No candidate.
        case text
        /// After a CR.
        case carriageReturn
        /// The number of matching bytes of hyphens and boundary; 0 at the start of a line.
        case boundary(Int)
        /// After the boundary, possibly in white space.
        case padding(Int)
        /// After one hyphen.
        case hyphen
        /// After a CR that follows the boundary.
        case lineEnd
    }

    /// The most white space after a boundary.
    private static let maximumPadding = 64

    /// Two hyphens and the boundary.
    let line: [UInt8]
    private var state = State.boundary(0)
    /// The length of the current candidate.
    private(set) var heldCount = 0

    init(line: [UInt8]) {
        self.line = line
    }

    /// The largest number of bytes that are held back.
    static func capacity(for line: [UInt8]) -> Int { line.count + maximumPadding + 4 }

    /// Moves bytes from the front of `input` to `held` until they are known to be text or a delimiter.
    ///
    /// After `.text` the caller passes on those bytes, and drops them from the input.
    mutating func find(
        in input: inout UnsafeRawBufferPointer, holding held: UnsafeMutableRawBufferPointer
    ) -> Finding {
        while let octet = input.first {
            let next: State?
            switch state {
            case .text:
                let end = Self.endOfText(in: input)
                if end > 0 { return .text(held: 0, input: end) }
                next = octet == Octet.carriageReturn ? .carriageReturn : .boundary(0)
            case .carriageReturn:
                next = octet == Octet.lineFeed ? .boundary(0) : nil
            case .boundary(let count):
                // `count` is less than the line's length: after its last byte the padding begins.
                if octet != line[count] {
                    next = nil
                } else {
                    next = count + 1 == line.count ? .padding(0) : .boundary(count + 1)
                }
            case .padding(let count):
                if octet == Octet.lineFeed {
                    return taken(&input, isLast: false)
                } else if octet == Octet.carriageReturn {
                    next = .lineEnd
                } else if octet == Octet.hyphen, count == 0 {
                    next = .hyphen
                } else if Octet.isWhitespace(octet), count < Self.maximumPadding {
                    next = .padding(count + 1)
                } else {
                    next = nil
                }
            case .hyphen:
                if octet == Octet.hyphen { return taken(&input, isLast: true) }
                next = nil
            case .lineEnd:
                if octet == Octet.lineFeed { return taken(&input, isLast: false) }
                next = nil
            }
            guard let next, heldCount < held.count else {
                // No delimiter. This byte may begin another candidate, so it stays in the input.
                let count = heldCount
                heldCount = 0
                state = .text
                if count > 0 { return .text(held: count, input: 0) }
                continue
            }
            held[heldCount] = octet
            heldCount &+= 1
            input.dropPrefix(1)
            state = next
        }
        return .needsMore
    }

    /// Whether the bytes that are held at the end of the input are a delimiter without its line end.
    var isWholeBoundary: Bool {
        switch state {
        case .padding, .hyphen, .lineEnd: true
        case .text, .carriageReturn, .boundary: false
        }
    }

    private mutating func taken(_ input: inout UnsafeRawBufferPointer, isLast: Bool) -> Finding {
        input.dropPrefix(1)
        state = .boundary(0)
        heldCount = 0
        return .delimiter(isLast: isLast)
    }

    /// The first line end that may begin a delimiter, or the end of the input. The bytes after a line end are checked
    /// here, because images contain many line ends and would be delivered in small pieces.
    private static func endOfText(in input: UnsafeRawBufferPointer) -> Int {
        var start = 0
        while true {
            let index = input.endOfText(from: start, to: input.count)
            guard index < input.count else { return index }
            var next = index &+ 1
            if input[index] == Octet.carriageReturn, next < input.count, input[next] == Octet.lineFeed { next &+= 1 }
            switch input[index] {
            case Octet.nul:
                break
            case Octet.carriageReturn where next == index &+ 1 && next < input.count:
                break
            default:
                guard next < input.count else { return index }
                if input[next] == Octet.hyphen { return index }
            }
            start = next
        }
    }
}

extension Octet {
    static let hyphen: UInt8 = 0x2D
}
