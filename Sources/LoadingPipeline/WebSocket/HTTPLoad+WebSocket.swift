internal import LoadingConnections
internal import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
internal import LoadingTransport

/// The opening handshake of a WebSocket: an ordinary request for another protocol, so redirects, challenges, cookies,
/// proxies and the checks of the connection are those of every load (WS-2).
extension HTTPLoad {
    /// Adds the fields of the handshake. Each request has a key of its own (RFC 6455 §4.1).
    func addHandshake(_ offer: WebSocketOffer, to sent: inout ExchangeRequest) {
        let handshake = WebSocketHandshake(
            nonce: KernelRandom.octets(16), subprotocols: WebSocketHandshake.subprotocols(in: request.fields) ?? [],
            offersCompression: offer.compression)
        self.handshake = handshake
        // Some servers read one `Connection` field only.
        sent.defaults = sent.defaults.without(names: WebSocketHandshake.fieldNames)
        sent.fields = sent.fields.without(names: WebSocketHandshake.fieldNames)
        for (name, value) in handshake.http1Fields { sent.fields.append(name, value) }
    }

    /// What a response to the handshake agrees on; -1011 if it is none (WS-4, WS-5).
    package func agreement(by head: ResponseHead) throws(LoadError) -> WebSocketHandshake.Agreement {
        guard let handshake else { throw .badServerResponse("A WebSocket's response without its request") }
        do {
            return exchange?.isTunnel == true
                ? try handshake.judgeConnect(status: head.status, head.fields)
                : try handshake.judgeHTTP1(status: head.status, head.fields)
        } catch {
            throw .badServerResponse(error.explanation(status: head.status))
        }
    }

    /// Ends this load without a callback, and continues with its connection. Nil and without effect if the connection
    /// is no longer available.
    package func becomeWebSocket(
        _ agreement: WebSocketHandshake.Agreement, maximumMessageSize: Int, client: any WebSocketClient
    ) -> WebSocketLoad? {
        let (clock, total) = (clock, request.totalTimeout)
        let stream: WebSocketStream
        if let tunnel = detachTunnel() {
            stream = .tunnel(tunnel)
        } else if let detached = detachConnection() {
            stream = .connection(detached)
        } else {
            return nil
        }
        return WebSocketLoad(
            on: stream, agreement, maximumMessageSize: maximumMessageSize, in: environment, clock: clock,
            totalTimeout: total, log: log, client: client)
    }
}

/// What a load offers in the opening handshake of a WebSocket, besides the subprotocols in its request.
package struct WebSocketOffer: Sendable {
    /// Whether to offer permessage-deflate (RFC 7692).
    package var compression: Bool

    package init(compression: Bool) { self.compression = compression }
}

extension WebSocketHandshake.Failure {
    fileprivate func explanation(status: Int) -> String {
        switch self {
        case .status: "The server answers the opening handshake of a WebSocket with status \(status)"
        case .upgrade: "The response to the opening handshake does not upgrade to \"websocket\""
        case .connection: "The response to the opening handshake lacks \"Connection: Upgrade\""
        case .accept: "Sec-WebSocket-Accept does not fit the key of the request"
        case .subprotocol: "The server selects a subprotocol that was not offered"
        case .extensions: "The server selects an extension that was not offered, or with parameters that are not valid"
        }
    }
}
