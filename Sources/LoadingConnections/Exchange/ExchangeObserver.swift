package import LoadingSemantics

/// Receives the events of an exchange. Called on the loop. No call follows `exchangeEnded` or `exchangeFailed`.
package protocol ExchangeObserver: AnyObject {
    func exchangeSentHead(bytes: Int)
    /// The kernel took `bytes` bytes of the body. `onWire` includes chunk framing. `bytes` is 0 if only framing was
    /// taken.
    func exchangeSentBody(bytes: Int, onWire: Int)
    func exchangeSentRequest()
    /// Called instead of `exchangeSentRequest` if the request was sent as early data, between `start` and `end`, before
    /// the connection was assigned to it.
    func exchangeSentRequestEarly(from start: Int64, until end: Int64)
    /// The first byte of the response was received.
    func exchangeStartedResponse()
    func exchangeReceived(informational head: ResponseHead)
    func exchangeReceived(head: ResponseHead, body: BodyLength)
    /// Bytes of the body, valid only during the call.
    func exchangeReceived(body: UnsafeRawBufferPointer)
    /// Returns a buffer for the next bytes of the body, for at most `most` bytes. Nil to receive them through
    /// `exchangeReceived(body:)`. `exchangeFilled(_:)` follows with the number of bytes read.
    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer?
    func exchangeFilled(_ count: Int)
    /// Returns an empty pipe for the next bytes of the body, which then bypass the memory of the process. Nil to
    /// receive them otherwise. `exchangeFilledPipe(_:)` follows if bytes were moved.
    func exchangePipe() -> Int32?
    func exchangeFilledPipe(_ count: Int)
    /// Everything that came with the head of the response was delivered. Called only if `startOfBody` returned nil.
    func exchangeTurnEnded()
    /// The server has ended its direction of a tunnel. The request body may still be sent; `exchangeEnded` follows when
    /// that has ended as well.
    func exchangeReceivedTunnelEnd()
    /// The response is complete. `bodyBytes` is the size of its body on the wire, including framing.
    func exchangeEnded(bodyBytes: Int64)
    func exchangeFailed(_ failure: ExchangeFailure)
}

extension ExchangeObserver {
    package func exchangeSentRequestEarly(from start: Int64, until end: Int64) { exchangeSentRequest() }
    package func exchangeTurnEnded() {}
    package func exchangeReceivedTunnelEnd() {}
}

/// Why an exchange failed.
package struct ExchangeFailure {
    package var error: LoadError
    /// Decides whether the request may be sent again (CONN-10, CONN-4).
    package var progress: LostExchange.Progress
    /// The server accepts this request over HTTP/1.1 only.
    package var requiresHTTP1: Bool
    /// The server has too much to do. The request is not sent again at once.
    package var isOverload: Bool
    /// The connection is lost, and another transport to the server may work.
    package var mayWorkOverOtherTransport: Bool
    /// Whether the connection has carried no other request.
    package var wasAlone: Bool
    /// When the server last responded to any request over such connections, on the loop's clock. 0 if unknown.
    package var lastAnswer: Int64

    package init(
        error: LoadError, progress: LostExchange.Progress, requiresHTTP1: Bool = false, isOverload: Bool = false,
        mayWorkOverOtherTransport: Bool = false,
        wasAlone: Bool = true, lastAnswer: Int64 = 0
    ) {
        self.error = error
        self.progress = progress
        self.requiresHTTP1 = requiresHTTP1
        self.isOverload = isOverload
        self.mayWorkOverOtherTransport = mayWorkOverOtherTransport
        self.wasAlone = wasAlone
        self.lastAnswer = lastAnswer
    }
}
