internal import LoadingSemantics

/// A head or a trailer section that is gathered line by line, wherever the reads have cut it.
///
/// A line ends with CRLF or LF. A CR that no LF follows makes the section invalid (RFC 9112 §2.2): another reader may
/// take it for the end of a line, and what follows for a field or a body of its own (CONN-28). Nothing else of a line
/// is judged before it is whole, so the same bytes give the same fields and the same error however they arrive. Control
/// characters other than CR, LF and NUL stay in a value as they are (RFC 9110 §5.5 allows it, and servers do send
/// them).
struct HTTP1FieldSection {
    enum Progress {
        case line
        case needsMore
        case tooLong
        /// The line has a CR that no LF follows.
        case bareCarriageReturn
    }

    private(set) var bytes: [UInt8] = []
    private(set) var positions: [HTTPFields.Position] = []
    /// Length on the wire, which folds make longer than `bytes`.
    private(set) var byteCount = 0
    /// The line in work: `bytes[lineStart..<lineEnd]`, without its end once it is whole.
    private var lineStart = 0
    private(set) var lineEnd = 0
    private var endsWithCarriageReturn = false

    var isEmpty: Bool { byteCount == 0 }

    /// Moves octets of the current line from `input` here, with the line's end and no further.
    ///
    /// After `.line`, `finishLine` has to be called before the next line is taken.
    mutating func takeLine(_ input: inout UnsafeRawBufferPointer, limit: Int) -> Progress {
        guard let first = input.first else { return .needsMore }
        if endsWithCarriageReturn {
            guard first == Octet.lineFeed else { return .bareCarriageReturn }
            take(1, from: &input)
            return byteCount > limit ? .tooLong : .line
        }
        // One octet over the limit is enough to detect it.
        let end = min(input.count, limit &- byteCount &+ 1)
        var index = input.endOfText(from: 0, to: end)
        while index < end, input[index] == Octet.nul { index = input.endOfText(from: index &+ 1, to: end) }
        lineEnd = bytes.count &+ index
        guard index < end else {
            take(end, from: &input)
            return byteCount > limit ? .tooLong : .needsMore
        }
        let isCarriageReturn = input[index] == Octet.carriageReturn
        take(index &+ 1, from: &input)
        if byteCount > limit { return .tooLong }
        guard isCarriageReturn else { return .line }
        endsWithCarriageReturn = true
        guard let next = input.first else { return .needsMore }
        guard next == Octet.lineFeed else { return .bareCarriageReturn }
        take(1, from: &input)
        return byteCount > limit ? .tooLong : .line
    }

    /// Ends the line in work; the next octet taken begins another.
    mutating func finishLine() {
        endsWithCarriageReturn = false
        lineStart = bytes.count
        lineEnd = lineStart
    }

    /// Reads the whole line in work as a field, or as more of the field before. False: it is empty, the section ends.
    mutating func takeField(maximumCount: Int) throws(HTTP1ParseError) -> Bool {
        defer { finishLine() }
        guard lineStart < lineEnd else { return false }
        if Octet.isWhitespace(bytes[lineStart]) {
            try unfold()
            return true
        }
        guard positions.count < maximumCount else { throw .tooManyFields }
        positions.append(
            try bytes.withOctets { bytes throws(HTTP1ParseError) in
                try Self.position(in: bytes, from: lineStart, to: lineEnd)
            })
        return true
    }

    /// Cuts a field line; `start..<end` lies inside `bytes`.
    private static func position(
        in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
    ) throws(HTTP1ParseError) -> HTTPFields.Position {
        let nameEnd = bytes.endOfToken(from: start, to: end)
        guard nameEnd < end, bytes[nameEnd] == Octet.colon else {
            throw bytes[start..<end].contains(Octet.colon) ? .malformedFieldName : .missingColon
        }
        guard nameEnd > start else { throw .malformedFieldName }
        guard bytes.endOfText(from: nameEnd, to: end) == end else { throw .nulInHead }
        let valueStart = bytes.endOfWhitespace(from: nameEnd &+ 1, to: end)
        let valueEnd = bytes.startOfTrailingWhitespace(from: valueStart, to: end)
        return HTTPFields.Position(
            nameStart: start, nameLength: nameEnd &- start,
            valueStart: valueStart, valueLength: valueEnd &- valueStart)
    }

    /// Appends the continuation line in work to the last value, with one space for the fold (RFC 9112 §5.2).
    ///
    /// The bytes move to the left over the line end and the whitespace they replace, so there is always room.
    private mutating func unfold() throws(HTTP1ParseError) {
        guard var last = positions.popLast() else { throw .foldBeforeFirstField }
        let (start, end) = try bytes.withOctets { bytes throws(HTTP1ParseError) in
            guard bytes.endOfText(from: lineStart, to: lineEnd) == lineEnd else { throw .nulInHead }
            let start = bytes.endOfWhitespace(from: lineStart, to: lineEnd)
            return (start, bytes.startOfTrailingWhitespace(from: start, to: lineEnd))
        }
        var valueEnd = Int(last.valueStart) &+ Int(last.valueLength)
        if start < end {
            if last.valueLength > 0 {
                bytes[valueEnd] = Octet.space
                valueEnd &+= 1
            }
            for index in start..<end {
                bytes[valueEnd] = bytes[index]
                valueEnd &+= 1
            }
            last.valueLength = UInt32(truncatingIfNeeded: valueEnd &- Int(last.valueStart))
        }
        bytes.removeLast(bytes.count &- valueEnd)
        positions.append(last)
    }

    @inline(__always)
    private mutating func take(_ count: Int, from input: inout UnsafeRawBufferPointer) {
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: input[..<count]))
        byteCount &+= count
        input.dropPrefix(count)
    }

    /// Gives the fields away; their positions lie in `bytes`.
    consuming func fields() -> HTTPFields { HTTPFields(bytes: bytes, positions: positions) }
}
