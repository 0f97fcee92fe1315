internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// WebSockets over a connection that the origin shares: the request becomes an extended CONNECT, and its stream a
/// `WebSocketTunnel` (RFC 8441, RFC 9220).
extension ExchangeStage {
    /// Sends an extended CONNECT, if the origin has a connection whose server allows it (RFC 8441, RFC 9220).
    func openTunnel(for handshake: WebSocketHandshake) -> Bool {
        guard let load, url.scheme.isSecure else { return false }
        let shared = Self.connectionKey(of: url, identity, switchesProtocol: false, by: route, for: load)
        guard let stream = environment.pool.takeTunnelStream(to: shared) else { return false }
        tunnel = WebSocketTunnel(stream, on: environment.loop, before: self)
        connectionBecameAvailable(stream, isReused: true, events: [])
        return true
    }

    /// Whether the request was sent as an extended CONNECT.
    var isTunnel: Bool { tunnel != nil }

    /// Detaches the stream of the extended CONNECT and ends the stage without a callback to the load.
    func detachTunnel() -> WebSocketTunnel? {
        guard let tunnel, connection != nil else { return nil }
        self.tunnel = nil
        load = nil
        connection = nil
        return tunnel
    }
}

extension ExchangeRequest {
    /// The form over HTTP/2 and HTTP/3 of a request that asks for an upgrade (RFC 8441 §5).
    mutating func becomeConnect(_ handshake: WebSocketHandshake, through tunnel: WebSocketTunnel) {
        method = "CONNECT"
        connectProtocol = "websocket"
        body = .source(tunnel, length: nil)
        fields = fields.without(names: WebSocketHandshake.fieldNames)
        for (name, value) in handshake.commonFields { fields.append(name, value) }
    }
}
