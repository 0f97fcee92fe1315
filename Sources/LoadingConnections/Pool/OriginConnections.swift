internal import LoadingSemantics

/// The connections to one origin, the attempts, and the requests that wait for a connection. Confined to the pool's
/// loop.
///
/// No access to a stored property lasts while a request, an attempt or a connection is called that may come back here,
/// so exclusive access to what each request uses is not checked.
final class OriginConnections {
    let key: ConnectionKey
    @exclusivity(unchecked) var waiting = ConnectionRequestQueue()
    /// The most recently used one is last. Connections that closed while idle stay until they are reached or outnumber
    /// the others.
    @exclusivity(unchecked) private var idle: [HTTP1Connection] = []
    private var closedIdleCount = 0
    /// By their numbers, as the connections are, so that the order of what is done with all does not follow from
    /// addresses in memory: with fixed hashes, as in the simulation, it is the same in each run.
    @exclusivity(unchecked) private var attempts: [Int: ConnectionAttempt] = .withRoom()
    private var connections: [Int: HTTP1Connection] = .withRoom()
    private var lastNumber = 0
    /// The connection that carries all new requests, if there is one.
    @exclusivity(unchecked) private(set) var shared: (any MultiplexedConnection)?
    /// Whether the server grants no stream to any request. A waiting request then does not wait for other requests
    /// (CONN-24).
    private(set) var hasNoStreamCredit = false
    /// The attempt at HTTP/3 beside the shared connection or those of HTTP/1.1.
    @exclusivity(unchecked) private(set) var upgrade: ConnectionAttempt?
    /// The shared connection, and retired ones that still carry requests.
    private var multiplexed: [any MultiplexedConnection] = []
    var multiplexedCount: Int { multiplexed.count }
    /// Those that carry requests.
    var busyMultiplexedCount: Int { multiplexed.count { !$0.isIdle } }
    /// The value of `ConnectionPool.turnCount` when a waiting request was last served from a shared connection.
    @exclusivity(unchecked) var lastTurn: UInt64 = 0
    /// When the server last answered a request on one of these, by the loop's clock; 0 for never.
    @exclusivity(unchecked) var lastAnswer: Int64 = 0

    init(_ key: ConnectionKey) { self.key = key }

    /// The number that counts against `ConnectionPool.maximumPerHost`.
    var liveCount: Int { connections.count + attempts.count + (shared == nil ? 0 : 1) }
    var attemptCount: Int { attempts.count }
    /// Whether nothing arrives on any attempt, if there is one.
    var areAttemptsSilent: Bool { attempts.values.allSatisfy(\.isSilent) }
    var hasHTTP1: Bool { !connections.isEmpty }
    /// Whether a challenge of an attempt is open.
    var isAsking: Bool { attempts.values.contains(where: \.isAsking) }
    /// Whether requests wait, which are served before new ones.
    var hasWaitingRequests: Bool { !waiting.isEmpty }
    var isUnused: Bool { liveCount == 0 && multiplexed.isEmpty && waiting.isEmpty && upgrade == nil }

    // MARK: Attempts

    func begin(_ attempt: ConnectionAttempt) {
        if attempt.isUpgrade { return upgrade = attempt }
        attempt.number = nextNumber()
        attempts[attempt.number] = attempt
    }

    func finish(_ attempt: ConnectionAttempt) {
        attempt.request?.attempt = nil
        if attempt.isUpgrade {
            upgrade = nil
            if let request = attempt.request { enqueue(request) }
            return
        }
        attempts[attempt.number] = nil
        for request in sharing(attempt) { request.sharedAttempt = nil }
    }

    private func nextNumber() -> Int {
        lastNumber &+= 1
        return lastNumber
    }

    /// Puts a request that waited for an upgrade into the queue, by its time of arrival.
    func enqueue(_ request: ConnectionRequest) {
        waiting.insert(request)
        request.waitingOrigin = self
    }

    /// Makes a request wait for the attempt of another request.
    func share(with request: ConnectionRequest) {
        guard request.isWaiting, request.attempt == nil, let attempt = attempts.values.first else { return }
        request.sharedAttempt = attempt
        attempt.isShared = true
        request.delegate?.connectionIsBeingMade()
    }

    /// The requests that wait for the attempt of another request.
    func sharing(_ attempt: ConnectionAttempt) -> [ConnectionRequest] {
        // Where nothing is shared, the whole queue is not searched for each of many attempts that fail.
        guard attempt.isShared else { return [] }
        return waiting.requests.filter { $0.sharedAttempt === attempt }
    }

    // MARK: Connections

    func adopt(_ connection: HTTP1Connection) {
        connection.number = nextNumber()
        connections[connection.number] = connection
    }

    func forget(_ connection: HTTP1Connection) {
        connections[connection.number] = nil
        guard connection.isIdle else { return }
        closedIdleCount += 1
        if closedIdleCount > 16, closedIdleCount * 2 > idle.count {
            idle.removeAll { $0.isClosed }
            closedIdleCount = 0
        }
    }

    /// All open connections, and the QUIC connection that is held for the next request.
    var all: [any RoutedConnection] {
        let all: [any RoutedConnection] =
            connections.values.filter { !$0.isClosed } + multiplexed.filter { !$0.isClosed }
        if let held = upgrade?.held, !held.isClosed { return all + [held] }
        return all
    }

    // MARK: A connection for all

    func adopt(_ connection: any MultiplexedConnection) {
        multiplexed.append(connection)
        shared = connection
    }

    /// A connection of another origin carries the requests of this one too.
    func coalesce(with connection: any MultiplexedConnection) {
        shared = connection
        connection.coalescedOrigins.append(self)
    }

    /// The connection completes its requests and takes no new ones.
    func retire(_ connection: any MultiplexedConnection) {
        guard shared === connection else { return }
        shared = nil
        noteStreamCredit()
    }

    /// Checks whether the server grants streams. If it stops granting them, the waiting requests are notified.
    func noteStreamCredit() {
        let hasNoStreamCredit = !waiting.isEmpty && shared?.hasNoStreamCredit == true
        guard hasNoStreamCredit != self.hasNoStreamCredit else { return }
        self.hasNoStreamCredit = hasNoStreamCredit
        guard hasNoStreamCredit else { return }
        for request in waiting.requests { request.delegate?.connectionIsBeingMade() }
    }

    func forget(_ connection: any MultiplexedConnection) {
        retire(connection)
        multiplexed.removeAll { $0 === connection }
    }

    // MARK: Idle connections

    func keepIdle(_ connection: HTTP1Connection) {
        connection.isIdle = true
        idle.append(connection)
    }

    func takeIdle() -> HTTP1Connection? {
        while let connection = idle.popLast() {
            guard !connection.isClosed else {
                closedIdleCount -= 1
                continue
            }
            connection.isIdle = false
            return connection
        }
        return nil
    }

    var idleConnections: [HTTP1Connection] { idle.filter { !$0.isClosed } }

    var hasIdle: Bool { idle.count > closedIdleCount }

    /// The connection that has been idle longest.
    var oldestIdle: HTTP1Connection? { idle.first { !$0.isClosed } }

    func closeAll() {
        for request in waiting.requests { waiting.remove(request) }
        for attempt in attempts.values { attempt.cancel() }
        for connection in connections.values { connection.close() }
        for connection in multiplexed { connection.close() }
        attempts = [:]
        upgrade?.cancel()
        upgrade = nil
        connections = [:]
        multiplexed = []
        shared = nil
        hasNoStreamCredit = false
        idle = []
        closedIdleCount = 0
    }
}
