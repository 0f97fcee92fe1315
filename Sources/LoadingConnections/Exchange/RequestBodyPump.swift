internal import FoundationEssentials
internal import LoadingSemantics
internal import LoadingTransport

/// The state of one request body that is being sent. A value without a socket: a connection sends the bytes of `next`
/// and reports with `advance(by:)` how many were taken.
///
/// With `Expect: 100-continue`, the body is held until the server responds, or until the connection's timer fires after
/// `TimeLimits.continueTimeout` (CONN-23). The body of an extended CONNECT is held until a 2xx response.
struct RequestBodyPump {
    enum Next {
        case end
        /// The bytes from `offset` on, then the source.
        case bytes(Data, offset: Int, then: (any RequestBodySource)?)
        /// A number of bytes in a pipe, then the source.
        case pipe(SplicePipe, Int, then: (any RequestBodySource)?)
        case source(any RequestBodySource)
        /// The source was called and has not delivered yet.
        case awaited(any RequestBodySource)
        case held(RequestBody)
        /// The rest is not sent.
        case stopped
    }

    private(set) var next = Next.end
    /// The number of bytes that the source still has to supply, if its length was announced.
    private var missing: Int64?

    init() {}

    init(_ body: RequestBody, isHeld: Bool) {
        begin(body)
        if isHeld, !isAtEnd { next = .held(body) }
    }

    private mutating func begin(_ body: RequestBody) {
        switch body {
        case .none: next = .end
        case .bytes(let data): next = data.isEmpty ? .end : .bytes(data, offset: data.startIndex, then: nil)
        case .source(let source, length: 0):
            source.cancel()
            next = .end
        case .source(let source, let length):
            next = .source(source)
            missing = length
        }
    }

    var isAtEnd: Bool { if case .end = next { true } else { false } }
    var isHeld: Bool { if case .held = next { true } else { false } }
    var isAwaited: Bool { if case .awaited = next { true } else { false } }

    /// Removes `count` bytes of `next` that were taken.
    mutating func advance(by count: Int) {
        switch next {
        case .bytes(let data, let offset, let source):
            let rest = offset + count
            next = rest < data.endIndex ? .bytes(data, offset: rest, then: source) : Self.after(source)
        case .pipe(let pipe, let left, let source):
            next = count < left ? .pipe(pipe, left - count, then: source) : Self.after(source)
        case .end, .source, .awaited, .held, .stopped: break
        }
    }

    private static func after(_ source: (any RequestBodySource)?) -> Next { source.map { .source($0) } ?? .end }

    /// Marks the source as called.
    mutating func awaitSource() { if case .source(let source) = next { next = .awaited(source) } }

    /// Accepts a piece from the source, without the bytes that exceed the announced length: the server would read those
    /// as another request.
    mutating func received(_ piece: Result<BodyPiece, LoadError>) throws(LoadError) {
        guard case .awaited(let source) = next else { return }
        switch try piece.get() {
        case .bytes(let data):
            let taken = missing.map { data.prefix(Int(clamping: $0)) } ?? data
            let source = rest(of: source, after: taken.count)
            next = taken.isEmpty ? Self.after(source) : .bytes(taken, offset: taken.startIndex, then: source)
        case .piped(let pipe, let count):
            let taken = missing.map { min(count, Int(clamping: $0)) } ?? count
            let source = rest(of: source, after: taken)
            next = taken == 0 ? Self.after(source) : .pipe(pipe, taken, then: source)
        case .end:
            if let missing, missing > 0 { throw .requestBodyStreamExhausted }
            next = .end
        }
    }

    private mutating func rest(of source: any RequestBodySource, after count: Int) -> (any RequestBodySource)? {
        guard let missing else { return source }
        self.missing = missing - Int64(count)
        if missing > count { return source }
        source.cancel()
        return nil
    }

    // MARK: Held bodies

    /// Allows a held body to be sent. Returns false if none was held.
    mutating func release() -> Bool {
        guard case .held(let body) = next else { return false }
        begin(body)
        return true
    }

    /// Whether a final response means that the server does not want the rest: always if the body was held; in the
    /// middle of the body if the response is a redirect or an error. A server that responds 2xx in the middle may still
    /// be reading.
    func isUnwanted(after status: Int) -> Bool {
        switch next {
        case .end, .stopped: false
        case .held: true
        case .bytes, .pipe, .source, .awaited: status >= 300
        }
    }

    /// Sends nothing more, and cancels the source.
    mutating func stop() {
        switch next {
        case .source(let source), .awaited(let source), .held(.source(let source, _)), .bytes(_, _, let source?),
            .pipe(_, _, let source?):
            source.cancel()
        case .end, .bytes, .pipe, .held, .stopped: break
        }
        next = .stopped
    }
}
