/// Looks for delimiter lines in the bytes of a part, wherever the reads have cut them.
///
/// A delimiter is a line of two hyphens and the boundary, white space that is ignored, and a line end; two more hyphens
/// make it the last one (RFC 2046 §5.1.1). The line end before it belongs to it. Line ends are CRLF, or LF as some
/// cameras send. Only bytes that may turn out to be a delimiter are held back, a boundary's length and little more; and
/// as a boundary has no line end in it, whatever breaks a candidate is the first byte that can begin another.
struct MultipartDelimiter {
    enum Finding {
        /// Bytes that are no delimiter: so many from the front of the held ones, then of the input.
        case text(held: Int, input: Int)
        /// A delimiter line, all of which is held or was just taken.
        case delimiter(isLast: Bool)
        case needsMore
    }

    private enum State {
        /// No candidate.
        case text
        /// After a CR.
        case carriageReturn
        /// At the start of a line, or so many bytes into hyphens and boundary.
        case boundary(Int)
        /// Behind the boundary, perhaps in white space.
        case padding(Int)
        /// Behind one hyphen.
        case hyphen
        /// After a CR that follows the boundary.
        case lineEnd
    }

    /// Longer padding is no padding.
    private static let maximumPadding = 64

    /// Two hyphens and the boundary.
    let line: [UInt8]
    private var state = State.boundary(0)
    /// Length of the candidate in work.
    private(set) var heldCount = 0

    init(line: [UInt8]) {
        self.line = line
    }

    /// The most that is ever held back.
    static func capacity(for line: [UInt8]) -> Int { line.count + maximumPadding + 4 }

    /// Takes bytes from the front of `input` into `held`, until something is known about them.
    ///
    /// After `.text` the bytes it tells of are the caller's to pass on, and to drop from the input.
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
                // `count` is below the line's length: the last byte leads on to the padding.
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
                // No candidate. What breaks it may begin another, so it stays in the input.
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

    /// Whether what is held when the input ends is a delimiter but for its line end.
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

    /// The first line end that may begin a delimiter, as far as the input tells, or the end.
    ///
    /// Pictures are full of line ends; to look at what follows them keeps their bytes in one piece.
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
