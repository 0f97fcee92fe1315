internal import LoadingSemantics
internal import LoadingTransport

/// The state that every `MultiplexedConnection` has. Confined to its loop.
///
/// No access to the properties lasts while a stream or the pool is called, so exclusive access is not checked.
class MultiplexedConnectionState {
    final let primaryOrigin: OriginConnections
    final let pool: ConnectionPool
    final let version: HTTPVersion
    /// Coalesced origins: the certificate covers them, and the connection carries their requests too (CONN-3).
    @exclusivity(unchecked) final var coalescedOrigins: [OriginConnections] = []
    /// Whether the connection takes no new requests.
    @exclusivity(unchecked) final var isRetired = false

    @exclusivity(unchecked) final var streams = OpenStreams()
    /// Streams that have gathered body bytes in this turn, or whose observers wait for its end. `turnEnded` is called
    /// on each at the end of the turn.
    @exclusivity(unchecked) final var gathering: [HTTPStream] = []
    /// Streams that were handed out and have not begun.
    @exclusivity(unchecked) final var reservedCount = 0
    /// The number of requests that were begun on the connection.
    @exclusivity(unchecked) final var requestCount = 0
    /// The number of responses that have begun.
    @exclusivity(unchecked) final var answerCount = 0

    @exclusivity(unchecked) final var isHandlingReadiness = false
    @exclusivity(unchecked) final var isTurnPlanned = false
    /// Whether a waiting request may get a stream now.
    @exclusivity(unchecked) final var hasRoomForMore = false
    /// Why the connection was lost; nil while it is not.
    final var loss: LoadError?

    /// Since when the connection is idle, on the loop's clock.
    @exclusivity(unchecked) final var idleSince: Int64
    /// When the connection last received data.
    @exclusivity(unchecked) final var lastHeard: Int64
    final let idleTimer = LoopTimer()
    /// Limits the wait for the answer to a PING.
    final let answerTimer = LoopTimer()

    /// The bytes that one turn reads from a connection before other connections get their turn. With a larger budget, a
    /// client that keeps up would still have full buffers in each turn, and the bytes that it does not take at once are
    /// copied twice.
    static let readBudget = 256 * 1024

    init(_ version: HTTPVersion, primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.version = version
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        idleSince = pool.loop.now
        lastHeard = pool.loop.now
    }

    /// Whether the connection has neither open nor reserved streams.
    final var isIdle: Bool { streams.isEmpty && reservedCount == 0 }
    final var hasAnswered: Bool { answerCount > 0 }
}

/// The open streams of a connection, by their numbers. Most events of a stream come one after another, so the stream of
/// the last event is found without a search.
struct OpenStreams {
    private var streams: [Int64: HTTPStream] = [:]
    /// An open stream.
    private var last: (number: Int64, stream: HTTPStream)?

    var isEmpty: Bool { streams.isEmpty }
    var all: some Collection<HTTPStream> { streams.values }

    subscript(number: Int64) -> HTTPStream? {
        mutating get {
            if let last, last.number == number { return last.stream }
            guard let stream = streams[number] else { return nil }
            last = (number, stream)
            return stream
        }
    }

    mutating func insert(_ stream: HTTPStream, number: Int64) {
        streams[number] = stream
        last = (number, stream)
    }

    mutating func remove(_ number: Int64) -> HTTPStream? {
        if last?.number == number { last = nil }
        return streams.removeValue(forKey: number)
    }
}
