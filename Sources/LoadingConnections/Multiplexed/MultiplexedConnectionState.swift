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

    @exclusivity(unchecked) final var streams: [Int64: HTTPStream] = [:]
    /// Streams that have gathered body bytes in this turn. `turnEnded` is called on each at the end of the turn.
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
