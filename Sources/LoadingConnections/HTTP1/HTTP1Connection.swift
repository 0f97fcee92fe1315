internal import FoundationEssentials
internal import Glibc
package import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
package import LoadingTransport

/// A connection that speaks HTTP/1.1: carries one exchange after the other over a `ByteStream`. Confined to its loop,
/// owned by its pool.
///
/// Back-pressure: while `isPaused` nothing is read, so the kernel's buffer fills and the server's window closes.
package final class HTTP1Connection: HTTPExchangeStream, ByteStreamOwner, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    let generation: Int
    let pool: ConnectionPool
    let stream: ByteStream

    // Kept by the pool.
    var isIdle = false
    var idleSince: Int64 = 0
    var idleDeadline: Int64 = 0
    /// Armed for a deadline that may have moved since, and may be armed while the connection is in use: a connection
    /// that is used again and again costs no change of timers.
    let expiryTimer = LoopTimer()
    /// From the server's `Keep-Alive: timeout=`, less a second for what is on its way.
    private(set) var announcedIdleLifetime: Int64 = .max

    // The exchange that is under way.
    /// How far the request has come (CONN-10).
    var progress = LostExchange.Progress.unsent
    /// The request carries `Connection: close`.
    private var closesAfterResponse = false
    var observer: (any ExchangeObserver)?
    /// Counts the exchanges: an observer may give way to another within one.
    private(set) var exchangeNumber: UInt64 = 0
    private(set) var parser = HTTP1ResponseParser()
    /// The bytes that the server had taken before, where that may show that it has not taken the request, else 0.
    var takenBefore: UInt64 = 0
    /// The final response's head is here, and so many bytes after it.
    private var hasHead = false
    package private(set) var receivedBodyWireBytes: Int64 = 0
    private(set) var isPaused = false
    /// Whether the connection stays out of the pool when the exchange ends, for another one of the same conversation.
    private var isHeld = false
    private(set) var isTellingHead = false
    /// What was read behind the head, while the head is told.
    private(set) var unparsed = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The response has ended HTTP on this connection.
    private(set) var hasSwitched = false
    private(set) var isSuspended = false
    private(set) var isHandlingReadiness = false
    /// Limits the wait for 100 (Continue), or for the rest of a response that is drained.
    let timer = LoopTimer()

    // Its request; see `HTTP1Connection+Sending`.
    var body = RequestBodyPump()
    /// What the socket did not take yet.
    var unsent = UnsentBytes()
    private(set) var isChunked = false
    var isSentWhole = false

    // What follows the head of its response; see `HTTP1Connection+Rest`.
    /// Whether that waits for `resumeBody`, and what of it has been read already.
    var isRestHeld = false
    var rest: [UInt8] = []

    /// A body up to this size goes out in one write with the head.
    private static let joinedBodyLimit = 64 * 1024
    /// Bytes of one connection that a turn reads before the others have theirs.
    private static let readBudget = 128 * 1024
    /// From this many expected bytes on it pays to read straight into the body's own buffer.
    private static let directReadMinimum = 16 * 1024
    /// From this many on it pays to have the kernel move them to where they go.
    private static let spliceMinimum = 128 * 1024
    private static let spliceMost = 512 * 1024

    init(stream: ByteStream, primaryOrigin: OriginConnections, pool: ConnectionPool, generation: Int) {
        self.stream = stream
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        self.generation = generation
        stream.owner = self
    }

    package var isClosed: Bool { stream.isClosed }

    /// Whether the server has neither closed the connection nor said anything, as the kernel knows now.
    var isSilent: Bool { stream.isSilent }

    /// The same as far as the loop has heard. What came together with a response is not told again while the connection is
    /// idle, so the kernel is asked when there may be something.
    private var seemsSilent: Bool { !stream.mayHaveMore || isSilent }

    /// Whether the default evaluation trusts the server, and not only a delegate.
    package var isTrusted: Bool { stream.tls?.isTrusted ?? false }

    package let mayBeMisdirected = false
    package let isShared = false
    package func disallowConnection() {}

    package var acknowledgement: Acknowledgement? { stream.acknowledgement }

    package func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(of: stream, to: primaryOrigin.key, speaking: "http/1.1", isReused: isReused)
    }

    // MARK: Starting

    /// Sends a request over this connection, which is not carrying another. Every outcome goes to `observer`.
    package func start(_ request: ExchangeRequest, observer: any ExchangeObserver) {
        guard self.observer == nil, !isClosed else {
            pool.discard(self)
            return observer.exchangeFailed(ExchangeFailure(error: .networkConnectionLost, progress: .unsent))
        }
        let framing = request.body.framing
        self.observer = observer
        isHeld = false
        exchangeNumber &+= 1
        parser.begin(HTTP1RequestKind(request))
        body = RequestBodyPump()
        progress = .unsent
        closesAfterResponse = request.asksToClose
        isSentWhole = false
        isPaused = false
        isSuspended = false
        isChunked = framing == .chunked
        hasHead = false
        isRestHeld = false
        receivedBodyWireBytes = 0
        let isFirst = exchangeNumber == 1
        takenBefore = isFirst || RequestMethod.isIdempotent(request.method) ? 0 : stream.bytesAcknowledged

        var head = pool.encodeBuffer
        pool.encodeBuffer = []
        head.removeAll(keepingCapacity: true)
        defer { pool.encodeBuffer = head }
        do {
            try HTTP1RequestEncoder.appendHead(
                method: request.method, target: request.target, body: framing, fields: request.fields,
                additional: request.defaults, to: &head)
        } catch {
            // Nothing was sent, so the connection is as good as before. It goes back in a turn of its own, so that a
            // long line of such requests is no recursion.
            self.observer = nil
            let box = LoopBox(self)
            pool.loop.post { box.value.giveBack() }
            return observer.exchangeFailed(ExchangeFailure(error: LoadError(error), progress: .unsent))
        }
        unsent.begin(head: head.count)
        if case .bytes(let data) = request.body, !request.expectsContinue, data.count <= Self.joinedBodyLimit {
            head.append(contentsOf: data)
        } else {
            body = RequestBodyPump(request.body, expectsContinue: request.expectsContinue)
        }
        writeFirst(head)
        if observer === self.observer { pump() }
    }

    /// Returns a connection that was given out and has carried nothing. The server may have closed it meanwhile.
    private func giveBack() {
        if isClosed { return }
        if seemsSilent { pool.release(self) } else { pool.discard(self) }
    }

    package func timerFired(_ timer: LoopTimer) {
        if timer === expiryTimer { return pool.expiryTimerFired(of: self) }
        if observer is Drain { return cancel() }
        releaseBody()
        pump()
    }

    // MARK: Receiving

    /// Stops or goes on reading. Going on takes effect in this turn or the next.
    package func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if !paused, stream.mayHaveMore, !isHandlingReadiness { stream.callAgain() }
    }

    /// Stops or goes on sending too.
    package func setSuspended(_ suspended: Bool) {
        isSuspended = suspended
        if !suspended { pump() }
    }

    package func streamBecameReady(_ stream: ByteStream) {
        guard observer != nil else { return checkIdle() }
        isHandlingReadiness = true
        defer { isHandlingReadiness = false }
        if !isSentWhole { pump() }
        if observer != nil, !isPaused { receive() }
        // TLS may have had to read before it could write.
        if !isSentWhole { pump() }
    }

    /// While idle a server may only close; anything else makes the connection useless.
    private func checkIdle() {
        guard isIdle else { return }
        switch stream.read(into: pool.loop.scratch) {
        case .wouldBlock: break
        default: pool.discard(self)
        }
    }

    func isCarrying(_ exchange: UInt64) -> Bool { observer != nil && exchangeNumber == exchange }

    func receive() {
        var budget = Self.readBudget
        let exchange = exchangeNumber
        while let observer, !isPaused {
            guard budget > 0 else { return stream.callAgain() }
            let expected = parser.directBodyCapacity
            let read: StreamRead
            if expected >= Self.spliceMinimum, stream.isPlain, let pipe = observer.exchangePipe() {
                read = stream.splice(into: pipe, most: min(expected, Self.spliceMost))
                if case .bytes(let count) = read {
                    budget -= count
                    receivedBodyWireBytes += Int64(count)
                    let event = parser.tookDirectBody(count)
                    observer.exchangeFilledPipe(count)
                    if let event, isCarrying(exchange) { handle(event) }
                }
            } else if expected >= Self.directReadMinimum, let buffer = observer.exchangeBuffer(most: expected) {
                read = stream.read(into: buffer)
                if case .bytes(let count) = read {
                    budget -= count
                    receivedBodyWireBytes += Int64(count)
                    let event = parser.tookDirectBody(count)
                    observer.exchangeFilled(count)
                    if let event, isCarrying(exchange) { handle(event) }
                } else {
                    observer.exchangeFilled(0)
                }
            } else {
                let scratch = pool.loop.scratch
                read = stream.read(into: scratch)
                if case .bytes(let count) = read {
                    budget -= count
                    if !parser.hasStarted { observer.exchangeStartedResponse() }
                    parse(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                }
            }
            switch read {
            case .bytes: if !stream.mayHaveMore { return }
            case .wouldBlock: return
            case .end: return receivedEnd(isTruncated: false)
            case .truncated: return receivedEnd(isTruncated: true)
            case .failed(let failure): return fail(reading: failure)
            }
        }
    }

    func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        let exchange = exchangeNumber
        progress = .answered
        do {
            while isCarrying(exchange) {
                let before = input.count
                let event = try parser.next(&input)
                if hasHead { receivedBodyWireBytes += Int64(before - input.count) }
                guard let event else { return }
                handle(event, leftOver: input)
                if isRestHeld {
                    rest = [UInt8](input)
                    return
                }
            }
        } catch {
            fail(.cannotParseResponse(String(describing: error)))
        }
    }

    private func receivedEnd(isTruncated: Bool) {
        do {
            // Without an announced length only TLS's own goodbye tells a whole body from one that was cut
            // (RFC 9112 §9.8).
            guard let event = try parser.inputEnded(), !isTruncated else {
                return fail(.networkConnectionLost, isGoodbye: true)
            }
            handle(event)
        } catch {
            if error.isEarlyEnd { return fail(.networkConnectionLost, isGoodbye: true) }
            fail(.cannotParseResponse(String(describing: error)))
        }
    }

    private func handle(
        _ event: HTTP1ResponseEvent, leftOver: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        guard let observer else { return }
        switch event {
        case .informational(let head):
            if head.status == 100 { releaseBody() }
            observer.exchangeReceived(informational: head)
            if !isHandlingReadiness || !isSentWhole { pump() }
        case .head(let head, let body):
            hasHead = true
            stopIfUnwanted(after: head.status)
            if let text = head.fields.firstValue("Keep-Alive"), let lifetime = Self.idleLifetime(announced: text) {
                announcedIdleLifetime = lifetime
            }
            isTellingHead = true
            unparsed = leftOver
            observer.exchangeReceived(head: head, body: body.length)
            isTellingHead = false
            unparsed = UnsafeRawBufferPointer(start: nil, count: 0)
        case .body(let bytes):
            observer.exchangeReceived(body: bytes)
        case .end(let end):
            finish(mayReuse: end.mayReuse && leftOver.isEmpty && !closesAfterResponse && isRequestSent)
        case .switchedProtocol(let head):
            hasHead = true
            hasSwitched = true
            stopIfUnwanted(after: head.status)
            isTellingHead = true
            observer.exchangeReceived(head: head, body: .none)
            isTellingHead = false
            // A connection that is not detached closes.
            if !isRestHeld { finish(mayReuse: false) }
        }
    }

    private var isRequestSent: Bool { body.isAtEnd && unsent.isEmpty }

    /// The response is read to its end; then the connection closes.
    private func stopIfUnwanted(after status: Int) {
        if body.isUnwanted(after: status) || !unsent.isEmpty && status >= 300 { stopSending() }
    }

    /// How long a connection may be idle whose server says `Keep-Alive: timeout=5, max=100`, in nanoseconds: it closes after
    /// so many idle seconds. Nil if the server says nothing that makes sense.
    static func idleLifetime(announced text: String) -> Int64? {
        var lifetime: Int64?
        for parameter in text.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let name = String(parts[0]), let value = String(parts[1]),
                name.filter({ $0 != " " }).lowercased() == "timeout",
                let seconds = Int64(value.filter { $0 != " " }), (0...1_000_000).contains(seconds)
            else { continue }
            // A second for what is on its way.
            lifetime = max(0, TimeLimits.seconds(seconds) - TimeLimits.standard.keepAliveMargin)
        }
        return lifetime
    }

    // MARK: Ending

    func finish(mayReuse: Bool) {
        guard let observer else { return }
        self.observer = nil
        endSending()
        observer.exchangeEnded(bodyBytes: receivedBodyWireBytes)
        if !mayReuse || !seemsSilent { pool.discard(self) } else if !isHeld { pool.release(self) }
    }

    /// Keeps the connection out of the pool when this exchange ends. Who calls this starts another exchange or lets the
    /// connection go.
    package func hold() { isHeld = true }

    package func returnUnused() { giveBack() }

    package func confirm() -> Bool {
        // The kernel is asked: the loop may not have heard yet what came a moment ago.
        if !isClosed, generation == pool.generation, isSilent { return true }
        if !isClosed { pool.discard(self) }
        return false
    }

    /// HTTP/1.1 has no way to say it.
    package func setPriority(_ priority: Float) {}

    /// A connection that was held for a conversation cannot serve another request.
    package func letGo() {
        isHeld = false
        if observer == nil, !isClosed { pool.discard(self) }
    }

    private func fail(reading failure: StreamFailure) {
        // A reset that follows the server's end is EPIPE, one out of nothing ECONNRESET.
        fail(LoadError(failure), isGoodbye: failure.code == EPIPE)
    }

    /// - Parameter isGoodbye: The server has ended its side before anything else. That came with how much it had taken by then,
    ///   and what it takes later it answers no more. A reset out of nothing says nothing of the kind.
    func fail(_ error: LoadError, isGoodbye: Bool = false) {
        guard let observer else { return }
        var progress = progress
        if isGoodbye, progress == .sent, takenBefore > 0, stream.bytesAcknowledged == takenBefore {
            progress = .refused
        }
        self.observer = nil
        endSending()
        pool.discard(self)
        observer.exchangeFailed(ExchangeFailure(error: error, progress: progress))
    }

    func localAddressWasLost() {
        if observer == nil { pool.discard(self) } else { fail(.networkConnectionLost(ENETDOWN)) }
    }

    /// Gives the exchange up: the observer hears nothing more, and the connection, in an unknown state, is closed.
    package func cancel() {
        guard observer != nil else { return }
        (observer as? Drain)?.end()
        observer = nil
        endSending()
        pool.discard(self)
    }

    /// Goes on with a response that nobody wants: when its rest is small and comes soon the connection can be used
    /// again, else it is closed. Either way `then` is called in a turn after that.
    package func drain(then: (@Sendable () -> Void)?) {
        guard observer != nil else {
            if let then { pool.loop.post(then) }
            return
        }
        let loop = pool.loop
        observer = Drain(of: self, then: then.map { then in { loop.post(then) } })
        pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.drainTimeout, for: self)
        isSuspended = false
        setPaused(false)
        resumeBody()
    }

    func close() {
        (observer as? Drain)?.end()
        observer = nil
        endSending()
        pool.loop.disarm(expiryTimer)
        stream.close()
    }
}

extension HTTP1RequestKind {
    fileprivate init(_ request: ExchangeRequest) {
        self =
            switch request.method {
            case "HEAD": .head
            default: request.fields.contains("Upgrade") ? .upgrade : .other
            }
    }
}
