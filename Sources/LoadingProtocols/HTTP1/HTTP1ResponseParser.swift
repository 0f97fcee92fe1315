internal import LoadingSemantics

/// Reads the responses of one HTTP/1.1 connection, one after the other. Owns no socket and no clock.
///
/// The caller's loop: `begin` when a request is made; on each read, `next` until it gives nil or the exchange ends;
/// when the peer ends the connection, `inputEnded`. While `directBodyCapacity` is above zero the caller may read so
/// many bytes past the parser and report them with `tookDirectBody`. Between two exchanges nothing is consumed, so
/// input that is left over then came unasked, and the connection must not be used again.
package struct HTTP1ResponseParser {
    private enum State {
        case idle
        case head
        case known(Int64)
        case chunkLine(HTTP1ChunkLine)
        case chunk(Int64)
        /// After a chunk's data; true once the CR is there.
        case chunkEnd(Bool)
        case trailers
        case untilClose
        /// All is read and `.end` is due.
        case ending
        case failed(HTTP1ParseError)
    }

    private let limits: HTTP1Limits
    private var state = State.idle {
        didSet {
            directBodyCapacity =
                switch state {
                case .known(let length), .chunk(let length): Int(clamping: length)
                case .untilClose: .max
                default: 0
                }
        }
    }
    private var kind = HTTP1RequestKind.other
    private var mayReuse = false
    private var informationalCount = 0
    /// Bytes of the heads of 104 responses (upload progress).
    private var progressLength = 0
    private var leadingLength = 0
    /// Bytes of chunk lines beyond what the chunks justify.
    private var chunkOverhead = 0
    /// A head or trailer section that did not come in one piece.
    private var section = HTTP1FieldSection()
    /// The status line of the head in `section`, once whole.
    private var statusLine: HTTP1StatusLine?

    /// Whether any byte of this exchange's response has been seen. As long as none has, a connection that was reused
    /// and breaks may simply have been stale (CONN-10).
    package private(set) var hasStarted = false

    package init(limits: HTTP1Limits = HTTP1Limits()) {
        self.limits = limits
    }

    /// Starts an exchange: on a fresh parser, or after `.end`.
    package mutating func begin(_ request: HTTP1RequestKind) {
        kind = request
        state = .head
        hasStarted = false
        informationalCount = 0
        progressLength = 0
        leadingLength = 0
        section = HTTP1FieldSection()
        statusLine = nil
    }

    /// The next event from the front of `input`; nil when all of it is used up and more is needed.
    ///
    /// After `.end` or `.switchedProtocol` it gives nil and leaves `input` alone until `begin`.
    package mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTP1ParseError) -> HTTP1ResponseEvent? {
        while true {
            switch state {
            case .head:
                return try failing { parser throws(HTTP1ParseError) in try parser.nextHead(&input) }
            case .known(let length):
                guard let body = takeBody(&input, atMost: length) else { return nil }
                let rest = length &- Int64(body.count)
                state = rest == 0 ? .ending : .known(rest)
                return .body(body)
            case .chunk(let length):
                guard let body = takeBody(&input, atMost: length) else { return nil }
                let rest = length &- Int64(body.count)
                state = rest == 0 ? .chunkEnd(false) : .chunk(rest)
                return .body(body)
            case .untilClose:
                guard let body = takeBody(&input, atMost: .max) else { return nil }
                return .body(body)
            case .chunkLine, .chunkEnd, .trailers:
                guard try failing({ parser throws(HTTP1ParseError) in try parser.stepOverChunkFraming(&input) })
                else { return nil }
            case .ending:
                return takeEnd()
            case .idle:
                return nil
            case .failed(let error):
                throw error
            }
        }
    }

    /// The peer has ended the connection and all input has been through `next`: `.end` for a body that ends this way,
    /// nil between exchanges, an error otherwise.
    ///
    /// Whether the transport ended in order (a TLS close_notify, say) is for the caller to judge.
    package mutating func inputEnded() throws(HTTP1ParseError) -> HTTP1ResponseEvent? {
        switch state {
        case .idle: return nil
        case .untilClose, .ending:
            mayReuse = false
            return takeEnd()
        case .failed(let error): throw error
        case .head: throw fail(hasStarted ? .endOfInputInHead : .endOfInputBeforeResponse)
        case .known, .chunkLine, .chunk, .chunkEnd, .trailers: throw fail(.endOfInputInBody)
        }
    }

    /// How many of the next bytes are body and nothing else, whatever they are: the rest of a known length or of a
    /// chunk, `Int.max` until close, else 0. Stored, because the caller reads it before each read, and a computed
    /// property would copy the parser for that.
    package private(set) var directBodyCapacity = 0

    /// The caller has itself read `count` body bytes, at most `directBodyCapacity`. `.end` when the message is whole.
    package mutating func tookDirectBody(_ count: Int) -> HTTP1ResponseEvent? {
        switch state {
        case .known(let length):
            let rest = length &- min(Int64(max(count, 0)), length)
            guard rest > 0 else { return takeEnd() }
            state = .known(rest)
        case .chunk(let length):
            let rest = length &- min(Int64(max(count, 0)), length)
            state = rest == 0 ? .chunkEnd(false) : .chunk(rest)
        default:
            break
        }
        return nil
    }

    // MARK: Heads

    private mutating func nextHead(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTP1ParseError) -> HTTP1ResponseEvent? {
        guard !input.isEmpty else { return nil }
        hasStarted = true
        if section.isEmpty {
            try skipEmptyLines(&input)
            if input.isEmpty { return nil }
            if let head = HTTP1PlainHead(input, limits: limits) {
                let bytes = input.part(from: 0, count: head.byteCount)
                let framing = HTTP1Framing(bytes, head.positions)
                let fields = HTTPFields(bytes: [UInt8](bytes), positions: head.positions)
                let reason = head.statusLine.reason(in: bytes)
                input.dropPrefix(head.byteCount)
                return try headEvent(head.statusLine, reason, fields, framing, byteCount: head.byteCount)
            }
        }
        return try nextGatheredHead(&input)
    }

    private mutating func skipEmptyLines(_ input: inout UnsafeRawBufferPointer) throws(HTTP1ParseError) {
        while let length = Self.lengthOfEmptyLine(input) {
            try countEmptyLine(length)
            input.dropPrefix(length)
        }
    }

    /// Nil too for a CR at the end of the input: `section` keeps it until it is known what follows.
    @inline(__always)
    private static func lengthOfEmptyLine(_ input: UnsafeRawBufferPointer) -> Int? {
        guard let first = input.first else { return nil }
        if first == Octet.lineFeed { return 1 }
        guard first == Octet.carriageReturn, input.count > 1, input[1] == Octet.lineFeed else { return nil }
        return 2
    }

    private mutating func countEmptyLine(_ length: Int) throws(HTTP1ParseError) {
        leadingLength &+= length
        if leadingLength > limits.maximumLeadingLength { throw .tooManyLeadingEmptyLines }
    }

    @inline(never)
    private mutating func nextGatheredHead(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTP1ParseError) -> HTTP1ResponseEvent? {
        while true {
            let progress = section.takeLine(&input, limit: limits.maximumHeadLength)
            guard let line = statusLine else {
                let end = section.lineEnd
                let problem = section.bytes.withUnsafeBytes { HTTP1StatusLine.problem(inPrefix: $0, end: end) }
                if let problem { throw problem }
                switch progress {
                case .needsMore: return nil
                case .tooLong: throw .headTooLong
                case .bareCarriageReturn: throw .bareCarriageReturn
                case .line: break
                }
                if section.lineEnd == 0 {
                    // An empty line that was cut between CR and LF.
                    try countEmptyLine(section.byteCount)
                    section = HTTP1FieldSection()
                    return try nextHead(&input)
                }
                statusLine = try section.bytes.withOctets { bytes throws(HTTP1ParseError) in
                    try HTTP1StatusLine(bytes, end: section.lineEnd)
                }
                section.finishLine()
                continue
            }
            switch progress {
            case .needsMore: return nil
            case .tooLong: throw .headTooLong
            case .bareCarriageReturn: throw .bareCarriageReturn
            case .line: break
            }
            if try section.takeField(maximumCount: limits.maximumFieldCount) { continue }
            let whole = section
            section = HTTP1FieldSection()
            statusLine = nil
            let (framing, reason) = whole.bytes.withUnsafeBytes {
                (HTTP1Framing($0, whole.positions), line.reason(in: $0))
            }
            return try headEvent(line, reason, whole.fields(), framing, byteCount: whole.byteCount)
        }
    }

    /// Decides what follows a head, and reports the head.
    private mutating func headEvent(
        _ line: HTTP1StatusLine, _ reason: String, _ fields: HTTPFields, _ framing: HTTP1Framing, byteCount: Int
    ) throws(HTTP1ParseError) -> HTTP1ResponseEvent {
        let head = ResponseHead(
            status: line.status, version: line.minorVersion == 0 ? .http10 : .http11, reason: reason, fields: fields,
            byteCount: byteCount)
        switch line.status {
        case 101:
            guard kind == .upgrade else { throw .unexpectedProtocolSwitch }
            state = .idle
            return .switchedProtocol(head)
        case ..<200:
            if line.status == 104 {
                // Each one is reported (RES-14), up to a limit.
                progressLength &+= byteCount
            } else {
                informationalCount &+= 1
            }
            guard informationalCount <= limits.maximumInformationalResponses,
                progressLength >> 4 <= limits.maximumHeadLength
            else { throw .tooManyInformationalResponses }
            leadingLength = 0
            return .informational(head)
        case ..<300 where kind == .connect:
            state = .idle
            return .switchedProtocol(head)
        default:
            break
        }
        mayReuse = framing.keepsConnection(minorVersion: line.minorVersion)
        if kind == .head || line.status == 204 || line.status == 304 {
            state = .ending
            return .head(head, .none)
        }
        let (length, lengthAllowsReuse) = try framing.bodyLength(minorVersion: line.minorVersion)
        mayReuse = mayReuse && lengthAllowsReuse
        switch length {
        case .none, .known(0): state = .ending
        case .known(let count): state = .known(count)
        case .chunked:
            chunkOverhead = 0
            state = .chunkLine(HTTP1ChunkLine())
        case .untilClose: state = .untilClose
        }
        return .head(head, length)
    }

    // MARK: Bodies

    @inline(__always)
    private func takeBody(_ input: inout UnsafeRawBufferPointer, atMost length: Int64) -> UnsafeRawBufferPointer? {
        if input.isEmpty { return nil }
        let body = input.part(from: 0, count: min(input.count, Int(clamping: length)))
        input.dropPrefix(body.count)
        return body
    }

    /// Consumes what lies between the data of two chunks, or after the last. False: more input is needed.
    private mutating func stepOverChunkFraming(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTP1ParseError) -> Bool {
        switch state {
        case .chunkLine(var line):
            guard let size = try line.take(&input, limit: limits.maximumChunkLineLength) else {
                state = .chunkLine(line)
                return false
            }
            try countChunkLine(line.length, before: size)
            state = size == 0 ? .trailers : .chunk(size)
        case .chunkEnd(let hasCarriageReturn):
            guard let octet = input.first else { return false }
            input.dropPrefix(1)
            if octet == Octet.lineFeed {
                state = .chunkLine(HTTP1ChunkLine())
            } else if octet == Octet.carriageReturn, !hasCarriageReturn {
                state = .chunkEnd(true)
            } else {
                throw .missingChunkEnd
            }
        case .trailers:
            // Nearly always there is none, and the line end lies in the same read.
            if section.isEmpty, input.count > 1, input[0] == Octet.carriageReturn, input[1] == Octet.lineFeed {
                input.dropPrefix(2)
                state = .ending
                return true
            }
            switch section.takeLine(&input, limit: limits.maximumTrailerLength) {
            case .needsMore: return false
            case .tooLong: throw .trailerTooLong
            case .bareCarriageReturn: throw .bareCarriageReturn
            case .line: break
            }
            if try !section.takeField(maximumCount: limits.maximumFieldCount) { state = .ending }
        default:
            break
        }
        return true
    }

    /// A line may have sixteen bytes, and twice those of its chunk. Long extensions of tiny chunks would make a small
    /// body cost as much as a large one.
    private mutating func countChunkLine(_ length: Int, before size: Int64) throws(HTTP1ParseError) {
        let limit = limits.maximumChunkLineLength
        let justified = 16 &+ 2 &* Int(clamping: min(size, Int64(limit)))
        chunkOverhead = max(0, chunkOverhead &+ length &- justified)
        if chunkOverhead > limit { throw .chunkLineTooLong }
    }

    private mutating func takeEnd() -> HTTP1ResponseEvent {
        state = .idle
        if section.isEmpty { return .end(HTTP1End(mayReuse: mayReuse)) }
        let trailers = section
        section = HTTP1FieldSection()
        return .end(HTTP1End(trailers: trailers.positions.isEmpty ? nil : trailers.fields(), mayReuse: mayReuse))
    }

    // MARK: Errors

    /// Keeps an error, which the parser returns from now on.
    private mutating func fail(_ error: HTTP1ParseError) -> HTTP1ParseError {
        state = .failed(error)
        section = HTTP1FieldSection()
        statusLine = nil
        return error
    }

    @inline(__always)
    private mutating func failing<Result>(
        _ step: (inout HTTP1ResponseParser) throws(HTTP1ParseError) -> Result
    ) throws(HTTP1ParseError) -> Result {
        do {
            return try step(&self)
        } catch {
            throw fail(error)
        }
    }
}

/// What the parser has to know of a request to find the end of its response.
package enum HTTP1RequestKind: Sendable, Equatable {
    /// HEAD: the response never has a body.
    case head
    /// CONNECT: a 2xx turns the connection into a tunnel.
    case connect
    /// The request carries `Upgrade`: 101 hands the connection over.
    case upgrade
    case other
}
