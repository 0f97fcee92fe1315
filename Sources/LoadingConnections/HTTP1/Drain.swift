internal import LoadingSemantics

/// Reads the rest of a discarded response, up to a limit; beyond it the connection closes.
final class Drain: ExchangeObserver {
    private let connection: HTTP1Connection
    private let limit: Int
    private var taken = 0
    private var then: (() -> Void)?

    private static let usualLimit = 64 * 1024
    /// A connection that is held for the next step of an authentication costs more to replace (AUTH-19).
    private static let heldLimit = 8 * 1024 * 1024

    init(of connection: HTTP1Connection, isHeld: Bool, then: (() -> Void)?) {
        self.connection = connection
        limit = isHeld ? Self.heldLimit : Self.usualLimit
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
        if case .known(let length) = body, length > Int64(limit) { connection.giveUpDraining() }
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) {
        taken += body.count
        if taken > limit { connection.giveUpDraining() }
    }

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { nil }
    func exchangeFilled(_ count: Int) {}
    func exchangePipe() -> Int32? { nil }
    func exchangeFilledPipe(_ count: Int) {}
    func exchangeEnded(bodyBytes: Int64) { end() }
    func exchangeFailed(_ failure: ExchangeFailure) { end() }
}
