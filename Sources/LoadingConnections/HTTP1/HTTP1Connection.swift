package import FoundationEssentials
internal import Glibc
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// A connection that speaks HTTP/1.1: carries one exchange after the other over a `ByteStream`. Confined to its loop,
/// owned by its pool.
///
/// Back-pressure: while `isPaused` nothing is read, so the kernel's buffer fills and the server's window closes.
package final class HTTP1Connection: ByteStreamOwner, LoopTimerTarget {
    let home: OriginConnections
    let generation: Int
    private let pool: ConnectionPool
    private let stream: ByteStream
    package let protocolName = "http/1.1"

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
    private var machine = HTTP1Exchange()
    private var observer: (any ExchangeObserver)?
    /// Counts the exchanges: an observer may give way to another within one.
    private var exchangeNumber: UInt64 = 0
    private var parser = HTTP1ResponseParser()
    private var sending = Sending.nothing
    /// What the socket did not take yet.
    private var unsent = UnsentBytes()
    private var isChunked = false
    /// What a source has still to give, when its length is announced.
    private var missing: Int64?
    private var isSentWhole = false
    /// The final response's head is here, and so many bytes after it.
    private var hasHead = false
    package private(set) var receivedBodyWireBytes: Int64 = 0
    private var isPaused = false
    /// Whether the connection stays with who holds it when the exchange ends, for another one of the same conversation.
    private var isHeld = false
    /// Whether what follows the head of the response waits for `readRest`, and what of it has been read already.
    private var isRestHeld = false
    private var rest: [UInt8] = []
    private var isTellingHead = false
    /// The response has ended HTTP on this connection.
    private var hasSwitched = false
    private var isSuspended = false
    private var isHandlingReadiness = false
    /// For how long an answer to `Expect`, or the rest of what nobody wants, is waited for.
    private let timer = LoopTimer()

    /// What is to be sent after `unsent`.
    private enum Sending {
        case nothing
        /// Bytes of the caller's, from `offset` on, and what follows them.
        case bytes(Data, offset: Int, then: (any RequestBodySource)?)
        /// So many bytes that lie in a pipe, and what follows them.
        case pipe(SplicePipe, Int, then: (any RequestBodySource)?)
        case source(any RequestBodySource)
        /// The source was asked and has not answered.
        case awaiting(any RequestBodySource)
        /// Until the machine says that the body may go (CONN-23).
        case held(RequestBody)
    }

    /// A body up to this size goes out in one write with the head.
    private static let joinedBodyLimit = 64 * 1024
    /// Bytes of one connection that a turn reads before the others have theirs.
    private static let readBudget = 128 * 1024
    /// From this many expected bytes on it pays to read straight into the body's own buffer.
    private static let directReadMinimum = 16 * 1024
    /// From this many on it pays to have the kernel move them to where they go.
    private static let spliceMinimum = 128 * 1024
    private static let spliceMost = 512 * 1024

    init(stream: ByteStream, home: OriginConnections, pool: ConnectionPool, generation: Int) {
        self.stream = stream
        self.home = home
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

    package func facts(isReused: Bool) -> ConnectionFacts {
        let local = stream.localAddress
        let remote = stream.remoteAddress
        let secure = stream.tls?.session
        return ConnectionFacts(
            protocolName: protocolName, isReused: isReused,
            localAddress: local?.description, localPort: local.map { Int($0.port) },
            remoteAddress: remote?.description, remotePort: remote.map { Int($0.port) },
            tlsVersion: secure?.version.rawValue, tlsCipherSuite: secure?.cipherSuite)
    }

    // MARK: Starting

    /// Sends a request over this connection, which is not carrying another. Every outcome goes to `observer`.
    package func start(_ request: ExchangeRequest, observer: any ExchangeObserver) {
        let body = request.body.framing
        let action = machine.begin(
            body: body, expectsContinue: request.expectsContinue, asksToClose: request.asksToClose)
        guard action == .sendHead else {
            pool.discard(self)
            return observer.exchangeFailed(ExchangeFailure(error: .networkConnectionLost, safety: .unsent))
        }
        self.observer = observer
        isHeld = false
        exchangeNumber &+= 1
        parser.begin(HTTP1RequestKind(request))
        sending = .nothing
        isSentWhole = false
        isPaused = false
        isSuspended = false
        isChunked = body == .chunked
        hasHead = false
        isRestHeld = false
        receivedBodyWireBytes = 0
        missing = nil

        var head = pool.encodeBuffer
        pool.encodeBuffer = []
        head.removeAll(keepingCapacity: true)
        defer { pool.encodeBuffer = head }
        do {
            try HTTP1RequestEncoder.appendHead(
                method: request.method, target: request.target, body: body, fields: request.fields,
                additional: request.defaults, to: &head)
        } catch {
            // Nothing was sent, so the connection is as good as before. It goes back in a turn of its own, so that a
            // long line of such requests is no recursion.
            self.observer = nil
            machine = HTTP1Exchange()
            let box = LoopBox(self)
            pool.loop.post { box.value.giveBack() }
            return observer.exchangeFailed(ExchangeFailure(error: LoadError(error), safety: .unsent))
        }
        unsent.begin(head: head.count)
        switch request.body {
        case .none: break
        case .bytes(let data) where !request.expectsContinue && data.count <= Self.joinedBodyLimit:
            head.append(contentsOf: data)
        case .source(let source, length: 0): source.cancel()
        case .bytes, .source: sending = .held(request.body)
        }
        writeFirst(head)
        if observer === self.observer { pump() }
    }

    // MARK: Giving away

    /// Has what follows the head wait, unread as far as may be, for `readRest` or `giveAway`. Has no effect but while the
    /// head is told.
    package func holdRest() { isRestHeld = isTellingHead }

    /// Goes on with what follows the head.
    package func readRest() {
        guard isRestHeld, observer != nil else { return }
        isRestHeld = false
        let bytes = rest
        rest = []
        if hasSwitched { return finish(mayReuse: false) }
        bytes.withUnsafeBytes { parse($0) }
    }

    /// Gives the connection away from the end of the head on; the observer hears nothing more. Nil when it has gone
    /// another way already, or the request is not sent to its end.
    package func giveAway() -> HandedConnection? {
        guard observer != nil, isRestHeld, isSentWhole, !isClosed else { return nil }
        let bytes = rest
        rest = []
        observer = nil
        endSending()
        pool.loop.disarm(expiryTimer)
        pool.letGo(self)
        return HandedConnection(stream: stream, origin: home.origin, rest: bytes)
    }

    /// Returns a connection that was given out and has carried nothing.
    private func giveBack() {
        if isClosed { return }
        if seemsSilent { pool.release(self) } else { pool.discard(self) }
    }

    /// Writes the head (and a small body with it) and keeps what the socket did not take.
    private func writeFirst(_ bytes: [UInt8]) {
        var taken = 0
        switch bytes.withUnsafeBytes({ stream.write($0) }) {
        case .bytes(let count): taken = count
        case .wouldBlock: break
        case .failed(let failure): return fail(writing: failure)
        }
        if taken < bytes.count { unsent.keep(bytes[taken...]) }
        if taken > 0 { note(unsent.sent(taken)) }
    }

    private func note(_ sent: UnsentBytes.Sent) {
        machine.sentBytes()
        if sent.head > 0 {
            observer?.exchangeSentHead(bytes: sent.head)
            if !unsent.hasHead { perform(machine.sentHead(at: UInt64(bitPattern: pool.loop.now))) }
        }
        let onWire = sent.body + sent.framing
        if onWire > 0 { observer?.exchangeSentBody(bytes: sent.body, onWire: onWire) }
    }

    private func perform(_ action: HTTP1Exchange.Action) {
        switch action {
        case .wait, .sendHead: break
        case .sendBody: releaseBody()
        case .awaitContinue(let time):
            pool.loop.arm(self.timer, at: Int64(clamping: time), for: self)
        case .stopSending: stopSending()
        case .finish(let mayReuse): finish(mayReuse: mayReuse)
        case .handOver, .close, .fail: pool.discard(self)
        }
    }

    package func timerFired(_ timer: LoopTimer) {
        if timer === expiryTimer { return pool.expiryTimerFired(of: self) }
        if observer is Drain { return cancel() }
        perform(machine.deadlinePassed(at: UInt64(bitPattern: pool.loop.now)))
        pump()
    }

    /// The body that was held back may go.
    private func releaseBody() {
        guard case .held(let body) = sending else { return }
        pool.loop.disarm(timer)
        switch body {
        case .none: sending = .nothing
        case .bytes(let data): sending = .bytes(data, offset: data.startIndex, then: nil)
        case .source(let source, let length):
            sending = .source(source)
            missing = length
        }
    }

    private func stopSending() {
        endSending()
        unsent.clear()
        isSentWhole = true
    }

    // MARK: Sending

    /// Sends as much as the socket takes.
    private func pump() {
        while observer != nil, !isSentWhole, !isSuspended {
            if !unsent.isEmpty {
                guard flushUnsent() else { return }
                continue
            }
            switch sending {
            case .nothing:
                isSentWhole = true
                _ = machine.sentBody()
                observer?.exchangeSentRequest()
            case .bytes(let data, let offset, let next):
                guard pump(data, from: offset, then: next) else { return }
            case .pipe(let pipe, let count, let next):
                guard pump(pipe, count, then: next) else { return }
            case .source(let source):
                sending = .awaiting(source)
                let exchange = exchangeNumber
                source.nextPiece(mayBePiped: stream.isPlain && !isChunked) { [weak self] piece in
                    guard let self, self.isCarrying(exchange) else { return }
                    self.received(piece, from: source)
                }
                if case .awaiting = sending { return }
            case .awaiting, .held:
                return
            }
        }
    }

    /// False when the socket is full or the exchange is over.
    private func flushUnsent() -> Bool {
        guard let count = count(of: unsent.withUnsent { stream.write($0) }) else { return false }
        note(unsent.took(count))
        return unsent.isEmpty
    }

    private func pump(_ data: Data, from offset: Int, then next: (any RequestBodySource)?) -> Bool {
        guard offset < data.endIndex else {
            sending = next.map { .source($0) } ?? .nothing
            return true
        }
        // A piece this long keeps one write well within the time of a turn.
        let end = min(data.endIndex, offset + 1024 * 1024)
        guard let count = count(of: data[offset..<end].withUnsafeBytes { stream.write($0) }) else { return false }
        sending = .bytes(data, offset: offset + count, then: next)
        note(UnsentBytes.Sent(body: count))
        return true
    }

    private func pump(_ pipe: SplicePipe, _ left: Int, then next: (any RequestBodySource)?) -> Bool {
        guard left > 0 else {
            sending = next.map { .source($0) } ?? .nothing
            return true
        }
        guard let count = count(of: stream.splice(from: pipe.exit, most: left)) else { return false }
        sending = .pipe(pipe, left - count, then: next)
        note(UnsentBytes.Sent(body: count))
        return true
    }

    /// How much was written; nil when the socket is full, or the exchange over.
    private func count(of write: StreamWrite) -> Int? {
        switch write {
        case .bytes(let count): return count
        case .wouldBlock: return nil
        case .failed(let failure):
            fail(writing: failure)
            return nil
        }
    }

    private func received(_ piece: Result<BodyPiece, LoadError>, from source: any RequestBodySource) {
        guard case .awaiting = sending else { return }
        switch piece {
        case .failure(let error):
            return fail(error)
        case .success(.bytes(let data)):
            let taken = missing.map { data.prefix(Int(clamping: $0)) } ?? data
            let next = rest(of: source, after: taken.count)
            if isChunked {
                unsent.append(chunk: taken)
                sending = next.map { .source($0) } ?? .nothing
            } else {
                sending = .bytes(taken, offset: taken.startIndex, then: next)
            }
        case .success(.piped(let pipe, let count)):
            let taken = missing.map { min(count, Int(clamping: $0)) } ?? count
            sending = .pipe(pipe, taken, then: rest(of: source, after: taken))
        case .success(.end):
            if let missing, missing > 0 { return fail(.requestBodyStreamExhausted) }
            sending = .nothing
            if isChunked { unsent.appendLastChunk() }
        }
        pump()
    }

    /// The source as long as it has more to give than the bytes it has just given. Whatever is behind an announced length
    /// would be read as another request.
    private func rest(of source: any RequestBodySource, after count: Int) -> (any RequestBodySource)? {
        guard let missing else { return source }
        self.missing = missing - Int64(count)
        if missing > count { return source }
        source.cancel()
        return nil
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

    private func isCarrying(_ exchange: UInt64) -> Bool { observer != nil && exchangeNumber == exchange }

    private func receive() {
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
                    if let event, isCarrying(exchange) { handle(event, leftOver: 0) }
                }
            } else if expected >= Self.directReadMinimum, let buffer = observer.exchangeBuffer(most: expected) {
                read = stream.read(into: buffer)
                if case .bytes(let count) = read {
                    budget -= count
                    receivedBodyWireBytes += Int64(count)
                    let event = parser.tookDirectBody(count)
                    observer.exchangeFilled(count)
                    if let event, isCarrying(exchange) { handle(event, leftOver: 0) }
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

    private func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        let exchange = exchangeNumber
        _ = machine.receivedBytes()
        do {
            while isCarrying(exchange) {
                let before = input.count
                let event = try parser.next(&input)
                if hasHead { receivedBodyWireBytes += Int64(before - input.count) }
                guard let event else { return }
                handle(event, leftOver: input.count)
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
            guard let event = try parser.inputEnded(), !isTruncated else { return fail(.networkConnectionLost) }
            handle(event, leftOver: 0)
        } catch {
            fail(error.isEarlyEnd ? .networkConnectionLost : .cannotParseResponse(String(describing: error)))
        }
    }

    private func handle(_ event: HTTP1ResponseEvent, leftOver: Int) {
        guard let observer else { return }
        switch event {
        case .informational(let head):
            perform(machine.receivedInformational(status: head.status))
            observer.exchangeReceived(informational: head)
            if !isHandlingReadiness || !isSentWhole { pump() }
        case .head(let head, let body):
            hasHead = true
            perform(machine.receivedHead(status: head.status))
            if let text = head.fields.firstValue("Keep-Alive") { noteKeepAlive(text) }
            isTellingHead = true
            observer.exchangeReceived(head: head, body: body)
            isTellingHead = false
        case .body(let bytes):
            observer.exchangeReceived(body: bytes)
        case .end(let end):
            perform(machine.receivedEnd(mayReuse: end.mayReuse, hasLeftover: leftOver > 0))
        case .switchedProtocol(let head):
            hasHead = true
            hasSwitched = true
            perform(machine.receivedHead(status: head.status))
            isTellingHead = true
            observer.exchangeReceived(head: head, body: .none)
            isTellingHead = false
            // Who does not take the connection over has no use for it.
            if !isRestHeld { finish(mayReuse: false) }
        }
    }

    /// `Keep-Alive: timeout=5, max=100`: the server closes after so many idle seconds.
    private func noteKeepAlive(_ text: String) {
        for parameter in text.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let name = String(parts[0]), let value = String(parts[1]),
                name.filter({ $0 != " " }).lowercased() == "timeout",
                let seconds = Int64(value.filter { $0 != " " }), (0...1_000_000).contains(seconds)
            else { continue }
            // A second for what is on its way.
            announcedIdleLifetime = max(0, seconds - 1) * 1_000_000_000
        }
    }

    // MARK: Ending

    private func finish(mayReuse: Bool) {
        guard let observer else { return }
        self.observer = nil
        endSending()
        observer.exchangeEnded(bodyBytes: receivedBodyWireBytes)
        if !mayReuse || !seemsSilent { pool.discard(self) } else if !isHeld { pool.release(self) }
    }

    /// Keeps the connection out of the pool when this exchange ends. Who calls this starts another exchange or lets the
    /// connection go.
    package func hold() { isHeld = true }

    /// Nobody goes on with what was said on a connection that was held.
    package func letGo() {
        isHeld = false
        if observer == nil, !isClosed { pool.discard(self) }
    }

    private func fail(reading failure: StreamFailure) {
        fail(LoadError(failure))
    }

    /// A server that answered and closed while we were still sending makes the write fail. Its answer counts, so what
    /// it sent is read first; the reading ends with the connection's own end or failure.
    private func fail(writing failure: StreamFailure) {
        guard failure.isPeerGone else { return fail(LoadError(failure)) }
        stopSending()
        // Otherwise the readiness that is being handled, or that the kernel has still to tell of, leads there.
        if stream.mayHaveMore, !isPaused, !isHandlingReadiness { receive() }
    }

    private func fail(_ error: LoadError) {
        guard let observer else { return }
        let safety = machine.retrySafety
        self.observer = nil
        endSending()
        pool.discard(self)
        observer.exchangeFailed(ExchangeFailure(error: error, safety: safety))
    }

    private func endSending() {
        switch sending {
        case .source(let source), .awaiting(let source), .held(.source(let source, _)), .bytes(_, _, let source?),
            .pipe(_, _, let source?):
            source.cancel()
        case .nothing, .bytes, .pipe, .held: break
        }
        sending = .nothing
        pool.loop.disarm(timer)
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
    package func drain(then: (@Sendable () -> Void)? = nil) {
        guard observer != nil else {
            if let then { pool.loop.post(then) }
            return
        }
        let loop = pool.loop
        observer = Drain(of: self, then: then.map { then in { loop.post(then) } })
        pool.loop.arm(timer, at: pool.loop.now + Drain.patience, for: self)
        isSuspended = false
        setPaused(false)
        readRest()
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

extension StreamFailure {
    /// A write failed because the peer has closed the connection: reading tells how it ended.
    fileprivate var isPeerGone: Bool {
        let code =
            switch self {
            case .posix(let failure): failure.code
            case .tls(let error): error.posix
            }
        return code == ECONNRESET || code == EPIPE
    }
}
