internal import FoundationEssentials
internal import Glibc
package import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
package import LoadingTransport

/// An HTTP/1.1 connection. Carries one exchange after the other over a `ByteStream`. Confined to its loop, owned by its
/// pool.
///
/// Back-pressure: while `isPaused` is set, the connection does not read. The kernel's buffer fills, and the TCP window
/// closes.
///
/// No access to a stored property lasts while the observer, the pool or a body's source is called, except that the body
/// cancels its source, which calls nothing back. Exclusive access to them is not checked: each request accesses them
/// dozens of times.
package final class HTTP1Connection: HTTPExchangeStream, ByteStreamOwner, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    let generation: Int
    let pool: ConnectionPool
    let stream: ByteStream

    // Maintained by the pool.
    @exclusivity(unchecked) var isIdle = false
    /// Its number among the attempts and connections of the origin.
    var number = 0
    /// 0 if it has not been idle.
    @exclusivity(unchecked) var idleSince: Int64 = 0
    @exclusivity(unchecked) var idleDeadline: Int64 = 0
    /// Armed for a deadline that may have moved since. The timer can stay armed while the connection is in use, so
    /// frequent reuse does not change timers.
    let expiryTimer = LoopTimer()
    /// The idle lifetime from the server's `Keep-Alive: timeout=`, minus one second for data in transit.
    @exclusivity(unchecked) private(set) var announcedIdleLifetime: Int64 = .max

    // The current exchange.
    /// How far the request has come (CONN-10).
    @exclusivity(unchecked) var progress = LostExchange.Progress.unsent
    @exclusivity(unchecked) var observer: (any ExchangeObserver)?
    /// Counts the exchanges. An observer may be replaced by another within one exchange.
    @exclusivity(unchecked) private(set) var exchangeNumber: UInt64 = 0
    @exclusivity(unchecked) private(set) var parser = HTTP1ResponseParser()
    /// The bytes that the server had acknowledged before the request. 0 if that cannot show that the server has not
    /// received the request.
    @exclusivity(unchecked) var acknowledgedBefore: UInt64 = 0
    /// Whether the head of the final response was received, and the number of bytes received after it.
    @exclusivity(unchecked) private var hasHead = false
    @exclusivity(unchecked) package private(set) var receivedBodyWireBytes: Int64 = 0
    @exclusivity(unchecked) private(set) var isPaused = false
    /// Whether the connection stays out of the pool at the end of the exchange, for another exchange of the same
    /// conversation.
    @exclusivity(unchecked) private var isHeld = false
    @exclusivity(unchecked) package private(set) var hasGivenUpDraining = false
    @exclusivity(unchecked) private(set) var isDeliveringHead = false
    /// Bytes that were read after the head, while the head is delivered.
    @exclusivity(unchecked) private(set) var unparsed = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Whether the response has switched the connection to another protocol.
    @exclusivity(unchecked) private(set) var hasSwitched = false
    @exclusivity(unchecked) private(set) var isSuspended = false
    @exclusivity(unchecked) private(set) var isHandlingReadiness = false
    /// Limits the wait for 100 (Continue), or for the rest of a response that is drained.
    let timer = LoopTimer()

    // Its request; see `HTTP1Connection+Sending`.
    @exclusivity(unchecked) var body = RequestBodyPump()
    /// Bytes that the socket has not taken yet.
    @exclusivity(unchecked) var unsent = UnsentBytes()
    @exclusivity(unchecked) private(set) var isChunked = false
    @exclusivity(unchecked) var isSentWhole = false

    // The bytes after the response head; see `HTTP1Connection+Rest`.
    /// Whether these bytes wait for `resumeBody`, and those that were read already.
    @exclusivity(unchecked) var isRestHeld = false
    var rest: [UInt8] = []

    /// A body up to this size goes out in one write with the head.
    private static let joinedBodyLimit = 64 * 1024
    /// The bytes that one turn reads from a connection before other connections get their turn.
    private static let readBudget = 128 * 1024
    /// The minimum number of expected bytes for which a read directly into the body's own buffer pays off.
    private static let directReadMinimum = 16 * 1024
    /// The minimum number of expected bytes for which a splice within the kernel pays off.
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

    /// Whether the server has neither closed the connection nor sent anything, according to the kernel now.
    var isSilent: Bool { stream.isSilent }

    /// Like `isSilent`, but makes a system call only if there may be input. Input that arrived together with a response
    /// is not reported again while the connection is idle.
    private var seemsSilent: Bool { !stream.mayHaveMore || isSilent }

    package var isTrusted: Bool { stream.isTrusted }
    /// In a tunnel without TLS to the server, the TLS session with the proxy is not the server's.
    package var channelBinding: ChannelBinding? { primaryOrigin.key.isSecure ? stream.tls?.channelBinding : nil }

    package let mayBeMisdirected = false
    package let isShared = false
    package func disallowConnection() {}

    package var acknowledgement: Acknowledgement? { stream.acknowledgement }
    package var lastArrival: Int64? { stream.lastArrival }

    package func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(of: stream, to: primaryOrigin.key, protocolName: "http/1.1", isReused: isReused)
    }

    // MARK: Starting

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
        isSentWhole = false
        isPaused = false
        isSuspended = false
        isChunked = framing == .chunked
        hasHead = false
        isRestHeld = false
        receivedBodyWireBytes = 0
        // The server may have closed a connection that was idle, also before its first exchange.
        let isNew = exchangeNumber == 1 && idleSince == 0
        acknowledgedBefore = isNew || RequestMethod.isIdempotent(request.method) ? 0 : stream.bytesAcknowledged

        var head = pool.encodeBuffer
        pool.encodeBuffer = []
        head.removeAll(keepingCapacity: true)
        defer { pool.encodeBuffer = head }
        do {
            try HTTP1RequestEncoder.appendHead(
                method: request.method, target: request.target, body: framing, fields: request.fields,
                additional: request.defaults, lines: request.defaultLines, to: &head)
        } catch {
            // Nothing was sent, so the connection is still usable. It is returned in a later turn, so that a long queue
            // of such requests does not recurse.
            self.observer = nil
            pool.loop.runLater { self.returnUnused() }
            return observer.exchangeFailed(ExchangeFailure(error: LoadError(error), progress: .unsent))
        }
        unsent.begin(head: head.count)
        if case .bytes(let data) = request.body, !request.expectsContinue, data.count <= Self.joinedBodyLimit {
            head.append(contentsOf: data)
        } else {
            body = RequestBodyPump(request.body, isHeld: request.expectsContinue)
        }
        writeFirst(head)
        if observer === self.observer { pump() }
    }

    /// Returns a connection that was handed out and has carried nothing. The server may have closed it meanwhile.
    package func returnUnused() {
        if isClosed { return }
        // It was unused while it was reserved, and may be handed out again at once.
        idleSince = pool.loop.now
        if isSilent { pool.release(self) } else { pool.discard(self) }
    }

    package func timerFired(_ timer: LoopTimer) {
        if timer === expiryTimer { return pool.expiryTimerFired(of: self) }
        if observer is Drain { return giveUpDraining() }
        releaseBody()
        pump()
    }

    // MARK: Receiving

    package func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if !paused, stream.mayHaveMore, !isHandlingReadiness { stream.callAgain() }
    }

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

    /// On an idle connection, the server may only close. Any other input makes the connection unusable.
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
            // Without an announced length, only TLS close_notify distinguishes a complete body from a truncated one
            // (RFC 9112 §9.8).
            guard let event = try parser.inputEnded(), !isTruncated else {
                return fail(.networkConnectionLost, isOrderlyClose: true)
            }
            handle(event)
        } catch {
            if error.isEarlyEnd { return fail(.networkConnectionLost, isOrderlyClose: true) }
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
            isDeliveringHead = true
            unparsed = leftOver
            observer.exchangeReceived(head: head, body: body.length)
            isDeliveringHead = false
            unparsed = UnsafeRawBufferPointer(start: nil, count: 0)
        case .body(let bytes):
            observer.exchangeReceived(body: bytes)
        case .end(let end):
            finish(mayReuse: end.mayReuse && leftOver.isEmpty && isRequestSent)
        case .switchedProtocol(let head):
            hasHead = true
            hasSwitched = true
            stopIfUnwanted(after: head.status)
            isDeliveringHead = true
            observer.exchangeReceived(head: head, body: .none)
            isDeliveringHead = false
            // A connection that is not detached closes.
            if !isRestHeld { finish(mayReuse: false) }
        }
    }

    private var isRequestSent: Bool { body.isAtEnd && unsent.isEmpty }

    /// Stops sending if the response shows that the rest of the request is unwanted. The response is read to its end,
    /// then the connection closes.
    private func stopIfUnwanted(after status: Int) {
        if body.isUnwanted(after: status) || !unsent.isEmpty && status >= 300 { stopSending() }
    }

    /// How long a connection may be idle after `Keep-Alive: timeout=5, max=100`, in nanoseconds. The server closes it
    /// after `timeout` idle seconds. Nil if the field has no valid timeout.
    static func idleLifetime(announced text: String) -> Int64? {
        var lifetime: Int64?
        for parameter in text.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let name = String(parts[0]), let value = String(parts[1]),
                name.filter({ $0 != " " }).lowercased() == "timeout",
                let seconds = Int64(value.filter { $0 != " " }), (0...1_000_000).contains(seconds)
            else { continue }
            // A margin of one second for data in transit.
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

    package func hold() { isHeld = true }

    package func confirm() -> Bool {
        // Checks the kernel's state: the loop may not have reported yet what arrived a moment ago.
        if !isClosed, generation == pool.generation, isSilent { return true }
        if !isClosed { pool.discard(self) }
        return false
    }

    /// HTTP/1.1 has no priority signal.
    package func setPriority(_ priority: Float) {}

    /// A connection that was held for a conversation cannot serve another request. It may still be drained.
    package func endHold() {
        isHeld = false
        if observer is Drain { return cancel() }
        if observer == nil, !isClosed { pool.discard(self) }
    }

    private func fail(reading failure: StreamFailure) {
        // A reset after the server's FIN is EPIPE. Any other reset is ECONNRESET.
        fail(LoadError(failure), isOrderlyClose: failure.code == EPIPE)
    }

    /// - Parameter isOrderlyClose: Whether the server closed its side first. Its FIN also acknowledges what it had
    ///   received by then, and it answers nothing that it receives later. A reset without a FIN gives no such
    ///   information.
    func fail(_ error: LoadError, isOrderlyClose: Bool = false) {
        guard let observer else { return }
        var progress = progress
        if isOrderlyClose, progress == .sent, acknowledgedBefore > 0, stream.bytesAcknowledged == acknowledgedBefore {
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

    /// The connection is in an unknown state and is closed.
    package func cancel() {
        guard observer != nil else { return }
        (observer as? Drain)?.end()
        observer = nil
        endSending()
        pool.discard(self)
    }

    /// Reads the rest of a response that is not needed. If the rest is small and arrives soon, the connection can be
    /// used again; else it is closed. In both cases `then` is called in a later turn.
    package func drain(then: (@Sendable () -> Void)?) {
        guard observer != nil else {
            if let then { pool.loop.post(then) }
            return
        }
        let loop = pool.loop
        observer = Drain(of: self, isHeld: isHeld, then: then.map { then in { loop.post(then) } })
        loop.arm(timer, at: loop.now + (isHeld ? loop.limits.heldDrainTimeout : loop.limits.drainTimeout), for: self)
        isSuspended = false
        setPaused(false)
        resumeBody()
    }

    /// The rest of the response is too long, or does not arrive soon.
    func giveUpDraining() {
        hasGivenUpDraining = true
        cancel()
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
