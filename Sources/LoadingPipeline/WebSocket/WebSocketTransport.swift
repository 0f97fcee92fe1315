internal import FoundationEssentials
internal import Glibc
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// What carries the octets of a WebSocket: a connection of its own, or a stream of an HTTP/2 or HTTP/3 connection.
/// Confined to its loop.
protocol WebSocketTransport: AnyObject {
    /// Whether a read may return something.
    var mayHaveMore: Bool { get }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead
    func write(_ octets: UnsafeRawBufferPointer) -> StreamWrite
    /// Whether what `write` has taken may still be in a buffer of this process. `WebSocketLoad.transportSent` then
    /// reports how much of it was sent.
    var buffersWrites: Bool { get }
    /// Calls the owner in the next turn, even if nothing is new.
    func callAgain()
    /// Ends the sending direction, without waiting for the server to end its own.
    func closeWriting()
    /// Closes in order: what was written still arrives.
    func closeAfterAcknowledgement()
}

extension StreamConnection: WebSocketTransport {
    var buffersWrites: Bool { false }
}

/// A stream that an extended CONNECT has opened (RFC 8441, RFC 9220). While the request is answered, the events of the
/// exchange go to its stage; from a response of success on, the octets of both directions belong to the WebSocket.
final class WebSocketTunnel: WebSocketTransport, ExchangeObserver, RequestBodySource, LoopTimerTarget {
    let stream: any HTTPExchangeStream
    private let loop: EventLoop
    /// The stage of the exchange until the WebSocket takes over; nil from then on. It retains the tunnel, and its load
    /// retains it.
    private weak var stage: (any ExchangeObserver)?
    /// Retained until the tunnel is closed.
    private var owner: WebSocketLoad?

    private(set) var received = StreamBuffer()
    private var isPaused = false
    private var isOpen = false
    private var end: StreamRead?
    /// Whether both directions have ended.
    private var isOver = false

    /// Set while the stream could send.
    private var deliver: ((Result<BodyPiece, LoadError>) -> Void)?
    private(set) var isUnread = true
    private var isClosing = false
    /// Whether the owner's call in the next turn is posted.
    private var isCallPosted = false
    private let timer = LoopTimer()

    /// In octets; reading stops when so many are unread, and goes on below half of it.
    private static let highWater = 64 * 1024

    init(_ stream: any HTTPExchangeStream, on loop: EventLoop, before stage: any ExchangeObserver) {
        self.stream = stream
        self.loop = loop
        self.stage = stage
    }

    /// The WebSocket takes over, after the response.
    func takeOver(by owner: WebSocketLoad) {
        stage = nil
        self.owner = owner
        // The load had stopped the flow while it waited for the client's answer.
        stream.setPaused(isPaused)
    }

    // MARK: The exchange

    func exchangeSentHead(bytes: Int) { stage?.exchangeSentHead(bytes: bytes) }

    func exchangeSentBody(bytes: Int, onWire: Int) {
        if bytes > 0 { owner?.transportSent(bytes) }
    }

    func exchangeSentRequest() { stage?.exchangeSentRequest() }

    func exchangeStartedResponse() { stage?.exchangeStartedResponse() }

    func exchangeReceived(informational head: ResponseHead) { stage?.exchangeReceived(informational: head) }

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        isOpen = (200..<300).contains(head.status)
        stage?.exchangeReceived(head: head, body: body)
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) {
        guard isOpen else { return stage?.exchangeReceived(body: body) ?? () }
        if isClosing { return }
        received.append(body)
        if !isPaused, received.count >= Self.highWater { setPaused(true) }
        callAgain()
    }

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? {
        isOpen ? nil : stage?.exchangeBuffer(most: most)
    }
    func exchangeFilled(_ count: Int) { stage?.exchangeFilled(count) }
    func exchangePipe() -> Int32? { nil }
    func exchangeFilledPipe(_ count: Int) {}

    func exchangeReceivedTunnelEnd() { ended(.end) }

    func exchangeEnded(bodyBytes: Int64) {
        guard isOpen else { return stage?.exchangeEnded(bodyBytes: bodyBytes) ?? () }
        isOver = true
        loop.disarm(timer)
        ended(.end)
    }

    func exchangeFailed(_ failure: ExchangeFailure) {
        // What came before the failure is read, even if the WebSocket has not taken over yet.
        guard isOpen else { return stage?.exchangeFailed(failure) ?? () }
        isOver = true
        loop.disarm(timer)
        ended(.truncated)
    }

    private func ended(_ end: StreamRead) {
        if self.end == nil { self.end = end }
        callAgain()
    }

    // MARK: The request's body

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        isUnread = false
        if isClosing {
            deliver(.success(.end))
        } else if let octets = owner?.takeOutput(), !octets.isEmpty {
            deliver(.success(.bytes(Data(octets))))
        } else {
            self.deliver = deliver
        }
    }

    /// The stream takes no more.
    func cancel() { deliver = nil }

    // MARK: WebSocketTransport

    var mayHaveMore: Bool { received.count > 0 || end != nil }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        let count = received.read(into: buffer)
        guard count > 0 else { return end ?? .wouldBlock }
        if isPaused, received.count < Self.highWater / 2 { setPaused(false) }
        return .bytes(count)
    }

    private func setPaused(_ paused: Bool) {
        isPaused = paused
        stream.setPaused(paused)
    }

    let buffersWrites = true

    func write(_ octets: UnsafeRawBufferPointer) -> StreamWrite {
        if isOver { return .failed(.posix(POSIXFailure(EPIPE))) }
        guard let deliver else { return .wouldBlock }
        self.deliver = nil
        deliver(.success(.bytes(Data(octets))))
        return .bytes(octets.count)
    }

    // Not within the calls of the stream: its connection reads into the loop's scratch memory, and the owner does too.
    func callAgain() {
        guard !isCallPosted else { return }
        isCallPosted = true
        loop.runLater { [weak self] in
            self?.isCallPosted = false
            self?.owner?.connectionIsReady()
        }
    }

    // `closeAfterAcknowledgement` does, in each case.
    func closeWriting() {}

    func closeAfterAcknowledgement() {
        guard !isClosing else { return }
        isClosing = true
        owner = nil
        received.removeAll()
        if isPaused { setPaused(false) }
        let deliver = deliver
        self.deliver = nil
        deliver?(.success(.end))
        if isOver { return }
        loop.arm(timer, at: loop.now &+ loop.limits.webSocketClose, for: self)
    }

    /// The server does not end its direction, or takes nothing more.
    func timerFired(_ timer: LoopTimer) { stream.cancel() }
}
