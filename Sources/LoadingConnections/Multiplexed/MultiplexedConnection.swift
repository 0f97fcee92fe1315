internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A connection that carries many exchanges at once, each as an `HTTPStream`: HTTP/2 over TLS, HTTP/3 over QUIC. Confined
/// to its loop, owned by its pool.
protocol MultiplexedConnection: RoutedConnection {
    /// The origin it was made for.
    var primaryOrigin: OriginConnections { get }
    /// Other origins that its certificate covers, and whose requests it carries too (CONN-3).
    var coalescedOrigins: [OriginConnections] { get set }
    /// Whether it takes no new requests.
    var isRetired: Bool { get set }
    var pool: ConnectionPool { get }
    var version: HTTPVersion { get }
    var isClosed: Bool { get }
    /// Whether it has no streams, and none is reserved.
    var isIdle: Bool { get }
    /// Since when, on the loop's clock.
    var idleSince: Int64 { get }
    /// Whether the default evaluation trusts the server, and not only a delegate.
    var isTrusted: Bool { get }
    /// Whether it leads to an alternative service of its origin.
    var isAlternative: Bool { get }
    /// The server and the negotiated parameters; nil if they are not known.
    var peer: ConnectedPeer? { get }
    func facts(isReused: Bool) -> ConnectionFacts
    /// Whether it has no streams, and the server grants none.
    var hasNoStreamCredit: Bool { get }
    /// Whether the server may be reachable by another route, now that this connection is lost.
    var hasOtherWay: Bool { get }
    /// How many requests were begun on it.
    var requestCount: Int { get set }

    // MARK: For its pool

    /// Room for one more exchange; nil if there is none.
    ///
    /// - Parameter isRepeatable: Whether it may be begun again should the connection turn out dead (CONN-10).
    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream?
    /// Takes no new exchanges, and closes when it has carried its last.
    func retire()
    func closeAtOnce()
    /// Those whose streams these are hear nothing.
    func close()

    // MARK: For its streams

    /// Those that have gathered what this turn has brought. Each hears `turnEnded` when it is over.
    var gathering: [HTTPStream] { get set }
    /// The stream's number, or why there is none.
    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError>
    /// A stream that was handed out is not used.
    func returnUnused()
    /// The response is not needed.
    func cancel(_ number: Int64)
    /// The response is whole; what is left of the request is of no use to anybody.
    func stopRequest(of number: Int64)
    func resumeBody(of number: Int64)
    func consumed(_ count: Int, on number: Int64)
    func setUrgency(_ urgency: Int, isIncremental: Bool, of number: Int64)
    func bodyWireBytes(of number: Int64) -> Int64
    func acknowledgement(of number: Int64) -> Acknowledgement?
}

extension MultiplexedConnection {
    /// What a turn has brought is handed out.
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
