internal import LoadingSemantics

/// Reads the rest of a discarded response, up to a limit; beyond it the connection closes.
final class Drain: ExchangeObserver {
    private let connection: HTTP1Connection
    private var taken = 0
    private var then: (() -> Void)?

    private static let most = 64 * 1024

    init(of connection: HTTP1Connection, then: (() -> Void)?) {
        self.connection = connection
        self.then = then
    }

    /// Calls the completion handler once.
    func end() {
        then?()
        then = nil
    }

    func exchangeSentHead(bytes: Int) {}
    func exchangeSentBody(bytes: Int, onWire: Int) {}
    func exchangeSentRequest() {}
    func exchangeStartedResponse() {}
    func exchangeReceived(informational head: ResponseHead) {}

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        if case .known(let length) = body, length > Int64(Self.most) { connection.cancel() }
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) {
        taken += body.count
        if taken > Self.most { connection.cancel() }
    }

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { nil }
    func exchangeFilled(_ count: Int) {}
    func exchangePipe() -> Int32? { nil }
    func exchangeFilledPipe(_ count: Int) {}
    func exchangeEnded(bodyBytes: Int64) { end() }
    func exchangeFailed(_ failure: ExchangeFailure) { end() }
}
