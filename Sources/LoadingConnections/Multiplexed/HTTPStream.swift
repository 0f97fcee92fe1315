internal import FoundationEssentials
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// One exchange on a connection that carries many. Confined to its loop; held by its connection while it is open, and by whoever
/// uses it.
final class HTTPStream: HTTPExchangeStream, LoopTimerTarget {
    private let connection: any MultiplexedConnection
    private let origin: OriginConnections
    /// Its number, once it has begun.
    private var number: Int64?
    private var observer: (any ExchangeObserver)?
    /// How many responses had begun on the connection when this began.
    private var method = ""
    private var isIncremental = false
    private var urgency: Int?

    // The request's body.
    private var body = RequestBodyPump()
    private var isFilling = false
    private var isSentWhole = false
    private var isSuspended = false
    /// For how long an answer to `Expect` is waited for.
    private var timer: LoopTimer?

    // The response.
    private var hasStarted = false
    private var isPaused = false
    /// What has come and is not done with: the server may send so much less.
    private var unconsumed = 0
    /// What is still to come of the body; nil if that was not announced.
    private var expected: Int64?
    /// Where the observer wants what a turn brings of the body, and how much of that is there.
    private var room: UnsafeMutableRawBufferPointer?
    private var gathered = 0
    /// Whether the connection will ask for what is gathered.
    private var isAwaited = false
    private var endedWireBytes: Int64?

    /// A body whose length nobody has announced is gathered where its pieces are as long as a packet, so many bytes at a time.
    private static let gatheredPiece = 1024
    private static let unannouncedRoom = 64 * 1024

    /// - Parameter origin: Whose exchange it is: that of the connection, or one of its coalescedOrigins.
    init(on connection: any MultiplexedConnection, for origin: OriginConnections) {
        self.connection = connection
        self.origin = origin
    }

    var isClosed: Bool { connection.isClosed }
    var isTrusted: Bool { connection.isTrusted }

    var receivedBodyWireBytes: Int64 { endedWireBytes ?? number.map { connection.bodyWireBytes(of: $0) } ?? 0 }

    var acknowledgement: Acknowledgement? { number.flatMap { connection.acknowledgement(of: $0) } }

    let isShared = true
    var mayBeMisdirected: Bool { origin !== connection.primaryOrigin || connection.isAlternative }
    func disallowConnection() { connection.pool.avoid(connection, for: origin) }

    func facts(isReused: Bool) -> ConnectionFacts { connection.facts(isReused: isReused) }

    // MARK: For the load

    func start(_ request: ExchangeRequest, observer: any ExchangeObserver) {
        self.observer = observer
        method = request.method
        isIncremental = request.isIncremental
        body = RequestBodyPump(request.body, expectsContinue: request.expectsContinue)
        switch connection.begin(self, with: request.asStream(urgency: urgency)) {
        case .success(let number):
            self.number = number
            connection.requestCount += 1
        case .failure(let error):
            self.observer = nil
            stopSending()
            observer.exchangeFailed(
                ExchangeFailure(
                    error: LoadError(error), progress: .unsent, wasAlone: connection.requestCount == 0,
                    lastAnswer: connection.primaryOrigin.lastAnswer))
        }
    }

    func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if !paused { giveBackWindow() }
    }

    func setSuspended(_ suspended: Bool) {
        guard suspended != isSuspended else { return }
        isSuspended = suspended
        if !suspended, let number, !isSentWhole { connection.resumeBody(of: number) }
    }

    func setPriority(_ priority: Float) {
        let urgency = HTTPStream.urgency(of: priority)
        self.urgency = urgency
        if let number, observer != nil { connection.setUrgency(urgency, isIncremental: isIncremental, of: number) }
    }

    func cancel() {
        guard observer != nil else { return }
        detach()
        if let number { connection.cancel(number) }
    }

    /// To reset the stream is cheaper than to read the rest.
    func drain(then: (@Sendable () -> Void)?) {
        cancel()
        if let then { connection.pool.loop.post(then) }
    }

    func returnUnused() { connection.returnUnused() }

    /// A place that was not used at once is asked for again, so that the pool looks whether the server takes more.
    func confirm() -> Bool {
        returnUnused()
        return false
    }

    func startOfBody(most: Int) -> [UInt8]? { nil }

    // A connection that others share stays where it is.
    func holdBody() {}
    func resumeBody() {}
    func detachConnection() -> DetachedConnection? { nil }
    func hold() {}
    func letGo() {}

    /// RFC 9218 has 0 for the most urgent and 3 for what says nothing.
    static func urgency(of priority: Float) -> Int {
        let distance = (priority.isNaN ? 0.5 : min(max(priority, 0), 1)) - 0.5
        return 3 - Int((distance * (distance > 0 ? 6 : 8)).rounded())
    }

    // MARK: The request's body

    /// Writes what there is into a frame.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> HTTPStreamBodyRead {
        var filled = 0
        isFilling = true
        defer { isFilling = false }
        while filled < buffer.count, !isSuspended {
            switch body.next {
            case .end: return .bytes(filled, isLast: true)
            case .bytes(let data, let offset, _):
                let count = min(data.endIndex - offset, buffer.count - filled)
                data.withUnsafeBytes { bytes in
                    let start = offset - data.startIndex
                    let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<(start + count)])
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: piece)
                }
                filled += count
                body.advance(by: count)
            case .source(let source):
                body.awaitSource()
                source.nextPiece(mayBePiped: false) { [weak self] in self?.received($0) }
                guard observer != nil else { return .failed }
                if body.isAwaited { return filled > 0 ? .bytes(filled, isLast: false) : .later }
            case .pipe, .awaited, .held, .stopped:
                return filled > 0 ? .bytes(filled, isLast: false) : .later
            }
        }
        if body.isAtEnd { return .bytes(filled, isLast: true) }
        return filled > 0 ? .bytes(filled, isLast: false) : .later
    }

    private func received(_ piece: Result<BodyPiece, LoadError>) {
        guard body.isAwaited, observer != nil else { return }
        do throws(LoadError) { try body.received(piece) } catch { return fail(error) }
        if !isFilling, let number { connection.resumeBody(of: number) }
    }

    /// The body that was held back is sent from now on.
    private func releaseBody() {
        guard body.release() else { return }
        stopWaiting()
        if let number { connection.resumeBody(of: number) }
    }

    private func stopSending() {
        body.stop()
        stopWaiting()
    }

    private func stopWaiting() {
        guard let timer else { return }
        connection.pool.loop.disarm(timer)
        self.timer = nil
    }

    func timerFired(_ timer: LoopTimer) { releaseBody() }

    // MARK: From the connection

    func sentHead(_ count: Int) {
        if body.isHeld {
            let timer = LoopTimer()
            self.timer = timer
            connection.pool.loop.arm(
                timer, at: connection.pool.loop.now + connection.pool.loop.limits.continueTimeout, for: self)
        }
        observer?.exchangeSentHead(bytes: count)
    }

    func sentBody(_ count: Int, onWire: Int) { observer?.exchangeSentBody(bytes: count, onWire: onWire) }

    func sentRequest() {
        isSentWhole = true
        observer?.exchangeSentRequest()
    }

    /// Its request went out before this was there, in that time.
    func sentRequestEarly(from start: Int64, until end: Int64) {
        isSentWhole = true
        observer?.exchangeSentRequestEarly(from: start, until: end)
    }

    /// Its request goes out once more, and the answer to that counts.
    func move(to number: Int64) { self.number = number }

    func received(informational head: HTTPStreamResponseHead) {
        noteStart()
        if head.status == 100 { releaseBody() }
        observer?.exchangeReceived(informational: ResponseHead(head, connection.version))
    }

    func received(_ head: HTTPStreamResponseHead, isWhole: Bool) {
        noteStart()
        // Who has not asked for the body has no use for it. Who has found fault may still want to read it before he goes on: to stop
        // in the midst of it cannot be said on a stream without giving up the response.
        if body.isHeld { stopSending() }
        let length: BodyLength =
            if method == "HEAD" || head.status == 204 || head.status == 304 {
                .none
            } else if isWhole {
                .known(0)
            } else {
                head.fields.firstValue("content-length").flatMap { Int64($0) }.map { .known($0) } ?? .unknown
            }
        if case .known(let count) = length { expected = count }
        observer?.exchangeReceived(head: ResponseHead(head, connection.version), body: length)
    }

    private func noteStart() {
        guard !hasStarted else { return }
        hasStarted = true
        observer?.exchangeStartedResponse()
    }

    /// What comes in one turn is handed out together, since each piece costs its receiver the same, however short it is.
    func received(_ bytes: UnsafeRawBufferPointer) {
        unconsumed += bytes.count
        var rest = bytes
        while !rest.isEmpty, let room = room ?? makeRoom(for: rest.count) {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(room.count - gathered))
            UnsafeMutableRawBufferPointer(rebasing: room[gathered...]).copyMemory(from: piece)
            gathered += piece.count
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
            expected? -= Int64(piece.count)
            if gathered == room.count { handOut() }
        }
        if !rest.isEmpty {
            expected? -= Int64(rest.count)
            observer?.exchangeReceived(body: rest)
        }
        if gathered == 0, !isPaused { giveBackWindow() }
    }

    /// Room for a piece and for what may follow it; nil for one that is better given as it is.
    private func makeRoom(for count: Int) -> UnsafeMutableRawBufferPointer? {
        let most: Int
        if let expected {
            guard expected > count else { return nil }
            most = Int(clamping: expected)
        } else {
            guard count >= Self.gatheredPiece else { return nil }
            most = Self.unannouncedRoom
        }
        guard let buffer = observer?.exchangeBuffer(most: most), !buffer.isEmpty else { return nil }
        room = buffer
        if !isAwaited {
            isAwaited = true
            connection.gathering.append(self)
        }
        return buffer
    }

    /// The turn is over.
    func turnEnded() {
        isAwaited = false
        handOut()
    }

    private func handOut() {
        guard room != nil else { return }
        let count = gathered
        forgetGathered()
        observer?.exchangeFilled(count)
        if !isPaused { giveBackWindow() }
    }

    private func forgetGathered() {
        room = nil
        gathered = 0
    }

    private func giveBackWindow() {
        guard unconsumed > 0, let number else { return }
        let count = unconsumed
        unconsumed = 0
        connection.consumed(count, on: number)
    }

    func receivedEnd() {
        handOut()
        guard let observer, let number else { return }
        let bytes = connection.bodyWireBytes(of: number)
        endedWireBytes = bytes
        detach()
        // The rest of a request that was answered already is of no use to anybody.
        if !isSentWhole { connection.stopRequest(of: number) }
        observer.exchangeEnded(bodyBytes: bytes)
    }

    /// The observer is told nothing more, and what it has not read is dropped.
    func detach() {
        observer = nil
        forgetGathered()
        stopSending()
        giveBackWindow()
    }

    /// The body cannot be sent.
    private func fail(_ error: LoadError) {
        handOut()
        guard let observer else { return }
        detach()
        if let number { connection.cancel(number) }
        observer.exchangeFailed(ExchangeFailure(error: error, progress: .sent))
    }

    func fail(_ failure: HTTPStreamFailure, loss: LoadError?) {
        handOut()
        guard let observer else { return }
        detach()
        observer.exchangeFailed(
            ExchangeFailure(
                error: LoadError(failure, over: connection.version, loss: loss), progress: failure.progress,
                requiresHTTP1: failure == .http11Required, hasOtherWay: connection.hasOtherWay,
                wasAlone: connection.requestCount <= 1, lastAnswer: connection.primaryOrigin.lastAnswer))
    }
}

extension ResponseHead {
    fileprivate init(_ head: HTTPStreamResponseHead, _ version: HTTPVersion) {
        self.init(status: head.status, version: version, fields: head.fields, byteCount: head.byteCount)
    }
}
