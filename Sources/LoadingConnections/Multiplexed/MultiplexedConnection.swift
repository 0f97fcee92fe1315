internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A connection that carries many exchanges at once, each as an `HTTPStream`: HTTP/2 over TLS, HTTP/3 over QUIC. Confined
/// to its loop, owned by its pool.
protocol MultiplexedConnection: RoutedConnection {
    /// For whom it was made.
    var primaryOrigin: OriginConnections { get }
    /// Other origins that its server has proved to be, and whose requests it carries too (CONN-3).
    var coalescedOrigins: [OriginConnections] { get set }
    /// Whether it takes no new requests.
    var isRetired: Bool { get set }
    var pool: ConnectionPool { get }
    var version: HTTPVersion { get }
    var isClosed: Bool { get }
    /// Whether it carries nothing, and nobody was promised a stream.
    var isIdle: Bool { get }
    /// Since when, on the loop's clock.
    var idleSince: Int64 { get }
    /// Whether it leads to whom the default evaluation trusts, and not only somebody who was asked.
    var isTrusted: Bool { get }
    /// Whether it leads where its origin is said to be besides its own place.
    var isAlternative: Bool { get }
    /// Whom it leads to, and what was agreed upon; nil if that is not known.
    var peer: ConnectedPeer? { get }
    func facts(isReused: Bool) -> ConnectionFacts
    /// Whether it carries nothing, and the server does not let it carry anything.
    var hasNoStreamCredit: Bool { get }
    /// Whether its server may be reached in another way that has not failed, now that it is lost.
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
    /// A stream that was given out is not used.
    func returnUnused()
    /// Nobody wants the response.
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
