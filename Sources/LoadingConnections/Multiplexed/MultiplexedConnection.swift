internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A connection that carries many exchanges at once, each as an `HTTPStream`: HTTP/2 over TLS, HTTP/3 over QUIC.
/// Confined to its loop, owned by its pool.
protocol MultiplexedConnection: RoutedConnection {
    /// The origin that the connection was made for.
    var primaryOrigin: OriginConnections { get }
    /// Coalesced origins: the certificate covers them, and the connection carries their requests too (CONN-3).
    var coalescedOrigins: [OriginConnections] { get set }
    /// Whether the connection takes no new requests.
    var isRetired: Bool { get set }
    var pool: ConnectionPool { get }
    var version: HTTPVersion { get }
    var isClosed: Bool { get }
    /// Whether the connection has neither open nor reserved streams.
    var isIdle: Bool { get }
    /// Since when the connection is idle, on the loop's clock.
    var idleSince: Int64 { get }
    /// Whether the default evaluation trusts the server, and not only a delegate.
    var isTrusted: Bool { get }
    /// Whether the connection reaches an alternative service of its origin.
    var isAlternative: Bool { get }
    /// The server and the negotiated parameters. Nil if they are not known, or if the server requested a client
    /// certificate.
    var peer: ConnectedPeer? { get }
    func facts(isReused: Bool) -> ConnectionFacts
    /// Whether the connection has no streams and the server grants none.
    var hasNoStreamCredit: Bool { get }
    /// Whether the server's settings, as far as they are known, allow extended CONNECT.
    var allowsExtendedConnect: Bool { get }
    /// Whether the server may be reachable by another route, now that this connection is lost.
    var hasOtherWay: Bool { get }
    /// The number of requests that were begun on the connection.
    var requestCount: Int { get set }

    // MARK: Interface to the pool

    /// Reserves a stream for one more exchange; nil if there is no room.
    ///
    /// - Parameter isRepeatable: Whether the request may be sent again if the connection turns out to be lost
    ///   (CONN-10).
    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream?
    /// Takes no new exchanges, and closes the connection after the last open exchange.
    func retire()
    func closeAtOnce()
    /// The observers of open streams are not notified.
    func close()

    // MARK: Interface to streams

    /// Streams that have gathered body bytes in this turn. `turnEnded` is called on each at the end of the turn.
    var gathering: [HTTPStream] { get set }
    /// Begins a stream. Returns its number, or why it did not begin.
    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError>
    /// Returns a stream that was handed out and is not used.
    func returnUnused()
    /// Resets a stream whose response is not needed.
    func cancel(_ number: Int64)
    /// Stops a request whose response is complete. The server does not need the rest of the request.
    func stopRequest(of number: Int64)
    func resumeBody(of number: Int64)
    func consumed(_ count: Int, on number: Int64)
    func setUrgency(_ urgency: Int, isIncremental: Bool, of number: Int64)
    func bodyWireBytes(of number: Int64) -> Int64
    func acknowledgement(of number: Int64) -> Acknowledgement?
}

extension MultiplexedConnection {
    /// Delivers the body bytes that the streams gathered in this turn.
    func handOutGathered() {
        while let stream = gathering.popLast() { stream.turnEnded() }
    }
}

/// The server of a connection.
struct ConnectedPeer {
    let address: SocketAddress
    /// In DER, the leaf first.
    let certificates: [[UInt8]]
    let agreement: ServerTrustDecision.Agreement
}
