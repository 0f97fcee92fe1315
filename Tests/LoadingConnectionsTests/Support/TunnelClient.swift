import FoundationEssentials
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import TestSupport

@testable import LoadingConnections

/// Opens a tunnel with an extended CONNECT, sends what the test passes, and notes what it gets. Confined to the pool's
/// loop.
final class TunnelClient: ExchangeObserver, RequestBodySource, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    let recorded = EventRecorder<String>()
    private let connectionPool: PoolOnLoop
    private let stream: any HTTPExchangeStream
    private var isPausedFromHead: Bool
    private(set) var failure: ExchangeFailure?
    /// What was received, while it is short.
    private var text = ""
    private(set) var receivedCount = 0

    // What is to be sent.
    private var pieces: [Data] = []
    private var isAtEnd = false
    private var deliver: ((Result<BodyPiece, LoadError>) -> Void)?
    private(set) var isUnread = true
    private(set) var isCancelled = false
    /// How often another piece was asked for.
    private(set) var questionCount = 0
    private(set) var sentCount = 0

    private init(_ stream: any HTTPExchangeStream, of connectionPool: PoolOnLoop, pauses: Bool) {
        self.stream = stream
        self.connectionPool = connectionPool
        isPausedFromHead = pauses
    }

    /// - Parameter stream: A stream to use although the pool has none for a tunnel.
    static func open(
        _ path: String = "/", of connectionPool: PoolOnLoop, on stream: (any HTTPExchangeStream)? = nil,
        pauses: Bool = false, sending text: String? = nil
    ) -> TunnelClient? {
        guard let stream = stream ?? connectionPool.pool.takeTunnelStream(to: connectionPool.origin) else { return nil }
        let user = TunnelClient(stream, of: connectionPool, pauses: pauses)
        if let text { user.send(Data(text.utf8)) }
        stream.start(
            ExchangeRequest(
                method: "CONNECT", connectProtocol: "websocket", target: .origin(path + "?x=1"),
                fields: HTTPFields([("Host", "localhost"), ("Sec-WebSocket-Version", "13")]), defaults: HTTPFields(),
                body: .source(user, length: nil), expectsContinue: false),
            observer: user)
        return user
    }

    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (TunnelClient) -> Result) async -> Result {
        await connectionPool.loop.run { body(self) }
    }

    func send(_ piece: Data) {
        pieces.append(piece)
        deliverNext()
    }

    func endSending() {
        isAtEnd = true
        deliverNext()
    }

    func setPaused(_ paused: Bool) { stream.setPaused(paused) }
    func cancelExchange() { stream.cancel() }

    private func deliverNext() {
        guard let deliver else { return }
        if !pieces.isEmpty {
            self.deliver = nil
            deliver(.success(.bytes(pieces.removeFirst())))
        } else if isAtEnd {
            self.deliver = nil
            deliver(.success(.end))
        }
    }

    // MARK: RequestBodySource

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        isUnread = false
        questionCount += 1
        self.deliver = deliver
        deliverNext()
    }

    func cancel() {
        isCancelled = true
        deliver = nil
    }

    // MARK: ExchangeObserver

    func exchangeSentHead(bytes: Int) {}
    func exchangeSentBody(bytes: Int, onWire: Int) {
        // The frame with the end may be empty.
        if bytes == 0 { return }
        sentCount += bytes
        recorded.record("sent \(sentCount)")
    }
    func exchangeSentRequest() { recorded.record("sent the end") }
    func exchangeStartedResponse() {}
    func exchangeReceived(informational head: ResponseHead) {}
    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        if isPausedFromHead { stream.setPaused(true) }
        let fields = head.fields.firstValue("x-request").map { " \($0)" } ?? ""
        recorded.record("head \(head.status)\(fields)\(body == .unknown ? "" : " with a length")")
    }
    func exchangeReceived(body: UnsafeRawBufferPointer) {
        receivedCount += body.count
        if receivedCount < 100 {
            text += String(decoding: body, as: UTF8.self)
            recorded.record("has \(text)")
        } else {
            recorded.record("has \(receivedCount) bytes")
        }
    }
    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { nil }
    func exchangeFilled(_ count: Int) {}
    func exchangePipe() -> Int32? { nil }
    func exchangeFilledPipe(_ count: Int) {}
    func exchangeReceivedTunnelEnd() { recorded.record("the server has ended") }
    func exchangeEnded(bodyBytes: Int64) { recorded.record("ended") }
    func exchangeFailed(_ failure: ExchangeFailure) {
        self.failure = failure
        recorded.record("lost \(failure.error.code)")
    }
}
