internal import FoundationEssentials
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// One exchange on a connection that carries many. Confined to its loop. Retained by its connection while it is open,
/// and by its user.
///
/// No access to a stored property lasts while the connection or the observer is called, and a source of a body does not
/// call back when it is cancelled. So exclusive access to what each request uses is not checked.
final class HTTPStream: HTTPExchangeStream, LoopTimerTarget {
    private let connection: any MultiplexedConnection
    private let origin: OriginConnections
    /// The stream's number, once it has begun.
    private var number: Int64?
    private var observer: (any ExchangeObserver)?
    /// Set while the exchange runs.
    private var request: ExchangeRequest?
    private var isExtendedConnect = false
    /// Whether the server has accepted the extended CONNECT. Each direction then ends on its own.
    private var isTunnel = false
    /// What the server knows, or the request will announce. 3 is the default (RFC 9218 §4.1).
    private var urgency = 3

    // The request's body.
    @exclusivity(unchecked) private var body = RequestBodyPump()
    private var isFilling = false
    private var isSentWhole = false
    private var isSuspended = false
    /// Limits the wait for a response to `Expect: 100-continue`.
    @exclusivity(unchecked) private var timer: LoopTimer?

    // The response.
    private var hasStarted = false
    private var isPaused = false
    /// Body bytes that were received and not yet consumed. They still count against the server's flow-control window.
    private var unconsumed = 0
    /// The bytes of the body that are still expected; nil if no length was announced.
    private var expected: Int64?
    /// The observer's buffer for the body bytes of a turn, and how many of its bytes are filled.
    private var room: UnsafeMutableRawBufferPointer?
    private var gathered = 0
    /// Whether the stream is in the connection's `gathering` list.
    private var isAwaited = false
    /// Whether the observer is notified at the end of the turn.
    private var reportsTurnEnd = false
    private var endedWireBytes: Int64?

    /// A body of unannounced length is gathered if its pieces are about as long as a packet. `unannouncedRoom` is the
    /// most that is gathered at a time.
    private static let gatheredPiece = 1024
    private static let unannouncedRoom = 64 * 1024

    /// - Parameter origin: The origin of the exchange: the connection's primary origin or one of its coalesced origins.
    init(on connection: any MultiplexedConnection, for origin: OriginConnections) {
        self.connection = connection
        self.origin = origin
    }

    var isClosed: Bool { connection.isClosed }
    var isTrusted: Bool { connection.isTrusted }
    var channelBinding: ChannelBinding? { connection.channelBinding }

    var receivedBodyWireBytes: Int64 { endedWireBytes ?? number.map { connection.bodyWireBytes(of: $0) } ?? 0 }

    var allowsExtendedConnect: Bool { connection.allowsExtendedConnect }

    var lastArrival: Int64? { nil }
    var acknowledgement: Acknowledgement? { number.flatMap { connection.acknowledgement(of: $0) } }

    let isShared = true
    var mayBeMisdirected: Bool { origin !== connection.primaryOrigin || connection.isAlternative }
    func disallowConnection() { connection.pool.avoid(connection, for: origin) }

    func facts(isReused: Bool) -> ConnectionFacts { connection.facts(isReused: isReused) }

    // MARK: HTTPExchangeStream

    func start(_ request: ExchangeRequest, observer: any ExchangeObserver) {
        self.observer = observer
        self.request = request
        isExtendedConnect = request.connectProtocol != nil
        body = RequestBodyPump(request.body, isHeld: request.expectsContinue || isExtendedConnect)
        if isExtendedConnect, !connection.allowsExtendedConnect {
            connection.returnUnused()
            return notBegun(.notAllowed, requiresHTTP1: true)
        }
        switch connection.begin(self, with: request.asStream(urgency: urgency)) {
        case .success(let number):
            self.number = number
            connection.requestCount += 1
        case .failure(let error): notBegun(error, requiresHTTP1: false)
        }
    }

    private func notBegun(_ error: HTTPStreamRequestError, requiresHTTP1: Bool) {
        let observer = observer
        self.observer = nil
        self.request = nil
        stopSending()
        observer?.exchangeFailed(
            ExchangeFailure(
                error: LoadError(error), progress: .unsent, requiresHTTP1: requiresHTTP1,
                wasAlone: connection.requestCount == 0, lastAnswer: connection.primaryOrigin.lastAnswer))
    }

    func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if !paused { extendWindow() }
    }

    func setSuspended(_ suspended: Bool) {
        guard suspended != isSuspended else { return }
        isSuspended = suspended
        if !suspended, let number, !isSentWhole { connection.resumeBody(of: number) }
    }

    func setPriority(_ priority: Float) {
        let urgency = HTTPStream.urgency(of: priority)
        guard urgency != self.urgency else { return }
        self.urgency = urgency
        guard let number, let request, observer != nil else { return }
        connection.setUrgency(urgency, isIncremental: request.isIncremental, of: number)
    }

    func cancel() {
        guard observer != nil else { return }
        detach()
        if let number { connection.cancel(number) }
    }

    /// Resets the stream, which is cheaper than reading the rest.
    func drain(then: (@Sendable () -> Void)?) {
        cancel()
        if let then { connection.pool.loop.post(then) }
    }

    func returnUnused() { connection.returnUnused() }

    /// A stream that was not used at once is returned. The caller requests another one, so that the pool checks whether
    /// the server accepts more streams.
    func confirm() -> Bool {
        returnUnused()
        return false
    }

    func startOfBody(most: Int) -> [UInt8]? {
        reportsTurnEnd = true
        awaitTurnEnd()
        return nil
    }

    // A shared connection can be neither held nor detached.
    func holdBody() {}
    func resumeBody() {}
    func detachConnection() -> DetachedConnection? { nil }
    func hold() {}
    func endHold() {}

    /// In RFC 9218, 0 is the most urgent and 3 is the default.
    static func urgency(of priority: Float) -> Int {
        let distance = (priority.isNaN ? 0.5 : min(max(priority, 0), 1)) - 0.5
        return 3 - Int((distance * (distance > 0 ? 6 : 8)).rounded())
    }

    // MARK: The request's body

    /// Writes the available body bytes into a DATA frame.
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

    /// Starts to send the body that was held.
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
        if body.isHeld, !isExtendedConnect {
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

    /// The request was sent as early data, between `start` and `end`, before this stream existed.
    func sentRequestEarly(from start: Int64, until end: Int64) {
        isSentWhole = true
        observer?.exchangeSentRequestEarly(from: start, until: end)
    }

    /// The request is sent again as stream `number`. Only the response to that stream counts.
    func move(to number: Int64) { self.number = number }

    func received(informational head: HTTPStreamResponseHead) {
        noteStart()
        if head.status == 100 { releaseBody() }
        observer?.exchangeReceived(informational: ResponseHead(head, connection.version))
    }

    func received(_ head: HTTPStreamResponseHead, isWhole: Bool) {
        noteStart()
        isTunnel = isExtendedConnect && (200..<300).contains(head.status)
        if isTunnel { releaseBody() }
        // A final response instead of 100 (Continue) means that the server does not need the body. A server that
        // responds in the middle of the body may still read the rest before it continues. A client cannot stop in the
        // middle of a body without giving up the response.
        if body.isHeld { stopSending() }
        let length: BodyLength =
            if isTunnel {
                .unknown
            } else if request?.method == "HEAD" || head.status == 204 || head.status == 304 {
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

    /// The body bytes of one turn are delivered together, because each delivery costs the receiver the same, however
    /// short it is.
    func received(_ bytes: UnsafeRawBufferPointer) {
        unconsumed += bytes.count
        var rest = bytes
        while !rest.isEmpty, let room = room ?? requestBuffer(for: rest.count) {
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
        if gathered == 0, !isPaused { extendWindow() }
    }

    /// Returns a buffer for a piece and for the pieces that may follow. Nil for a piece that is better delivered
    /// directly.
    private func requestBuffer(for count: Int) -> UnsafeMutableRawBufferPointer? {
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
        awaitTurnEnd()
        return buffer
    }

    private func awaitTurnEnd() {
        guard !isAwaited else { return }
        isAwaited = true
        connection.gathering.append(self)
        // For events that are delivered outside of a turn.
        connection.planTurn()
    }

    /// Delivers the gathered bytes at the end of the turn.
    func turnEnded() {
        isAwaited = false
        handOut()
        guard reportsTurnEnd else { return }
        reportsTurnEnd = false
        observer?.exchangeTurnEnded()
    }

    private func handOut() {
        guard room != nil else { return }
        let count = gathered
        forgetGathered()
        observer?.exchangeFilled(count)
        if !isPaused { extendWindow() }
    }

    private func forgetGathered() {
        room = nil
        gathered = 0
    }

    private func extendWindow() {
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
        if isTunnel { return observer.exchangeReceivedTunnelEnd() }
        detach()
        // The server has responded already and does not need the rest of the request.
        if !isSentWhole { connection.stopRequest(of: number) }
        observer.exchangeEnded(bodyBytes: bytes)
    }

    /// Both directions have ended.
    func closed() {
        guard let observer else { return }
        detach()
        observer.exchangeEnded(bodyBytes: endedWireBytes ?? 0)
    }

    /// Detaches the observer, which is not notified any more. Unread data is dropped.
    func detach() {
        observer = nil
        request = nil
        forgetGathered()
        stopSending()
        extendWindow()
    }

    /// Fails the exchange: the request body cannot be sent.
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
                requiresHTTP1: failure == .http11Required, isOverload: failure.isOverload,
                mayWorkOverOtherTransport: connection.mayWorkOverOtherTransport,
                wasAlone: connection.requestCount <= 1, lastAnswer: connection.primaryOrigin.lastAnswer))
    }
}

extension ResponseHead {
    fileprivate init(_ head: HTTPStreamResponseHead, _ version: HTTPVersion) {
        self.init(status: head.status, version: version, fields: head.fields, byteCount: head.byteCount)
    }
}
