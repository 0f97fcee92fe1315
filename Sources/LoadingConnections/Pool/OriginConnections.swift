/// The connections to one origin, those being made, and who waits for one. Kept by the pool and confined to its loop.
///
/// No access to what each request needs here lasts while anybody else is called, so exclusive access to that is not checked.
final class OriginConnections {
    let origin: Origin
    @exclusivity(unchecked) var waiting = WaitingLine()
    /// Used last is last. Connections that closed while idle stay until their turn comes or they outnumber the others.
    private var idle: [HTTP1Connection] = []
    private var closedIdleCount = 0
    @exclusivity(unchecked) private var attempts: [ObjectIdentifier: ConnectionAttempt] = [:]
    private var connections: [ObjectIdentifier: HTTP1Connection] = [:]
    /// The connection that carries all new requests, if there is one.
    @exclusivity(unchecked) private(set) var shared: (any MultiplexedConnection)?
    /// Whether the server lets nobody make a request: then who waits does not wait for others (CONN-24).
    private(set) var standsStill = false
    /// The attempt at a connection of a later version than that one's, or than those of HTTP/1.1.
    @exclusivity(unchecked) var upgrade: HTTP3Upgrade?
    /// That one, and those that carry their last requests.
    private var multiplexed: [ObjectIdentifier: any MultiplexedConnection] = [:]
    var multiplexedCount: Int { multiplexed.count }
    /// When the server last answered a request on one of those, by the loop's clock; 0 for never.
    @exclusivity(unchecked) var lastAnswer: Int64 = 0

    init(_ origin: Origin) { self.origin = origin }

    /// What counts against the limit per host.
    var liveCount: Int { connections.count + attempts.count + (shared == nil ? 0 : 1) }
    var attemptCount: Int { attempts.count }
    /// Whether somebody is asked about one that is being made.
    var isAsking: Bool { attempts.values.contains(where: \.isAsking) }
    /// Whether somebody waits who is to be served before others are.
    var hasLine: Bool { !waiting.isEmpty }
    var isUnused: Bool { liveCount == 0 && multiplexed.isEmpty && waiting.isEmpty && upgrade == nil }

    // MARK: Attempts

    func begin(_ attempt: ConnectionAttempt) { attempts[ObjectIdentifier(attempt)] = attempt }

    func finish(_ attempt: ConnectionAttempt) {
        attempts[ObjectIdentifier(attempt)] = nil
        attempt.request?.attempt = nil
        guard origin.mayShare else { return }
        for request in sharing(attempt) { request.sharedAttempt = nil }
    }

    /// Has a request wait for a connection that is being made for somebody else.
    func share(with request: ConnectionRequest) {
        guard request.isWaiting, request.attempt == nil, let attempt = attempts.values.first else { return }
        request.sharedAttempt = attempt
        request.taker?.connectionIsBeingMade()
    }

    /// Who waits for an attempt of somebody else's.
    func sharing(_ attempt: ConnectionAttempt) -> [ConnectionRequest] {
        waiting.requests.filter { $0.sharedAttempt === attempt }
    }

    // MARK: Connections

    func adopt(_ connection: HTTP1Connection) { connections[ObjectIdentifier(connection)] = connection }

    func forget(_ connection: HTTP1Connection) {
        connections[ObjectIdentifier(connection)] = nil
        guard connection.isIdle else { return }
        closedIdleCount += 1
        if closedIdleCount > 16, closedIdleCount * 2 > idle.count {
            idle.removeAll { $0.isClosed }
            closedIdleCount = 0
        }
    }

    /// Those that carry something, those that are idle, those that carry their last, and one that is held for who comes next.
    var all: [any RoutedConnection] {
        let all: [any RoutedConnection] =
            connections.values.filter { !$0.isClosed } + multiplexed.values.filter { !$0.isClosed }
        if let held = upgrade?.held, !held.isClosed { return all + [held] }
        return all
    }

    // MARK: A connection for all

    func adopt(_ connection: any MultiplexedConnection) {
        multiplexed[ObjectIdentifier(connection)] = connection
        shared = connection
    }

    /// A connection that was made for another origin carries the requests of this one too.
    func lodge(with connection: any MultiplexedConnection) {
        shared = connection
        connection.guests.append(self)
    }

    /// It carries on with what it has, and takes nothing new.
    func retire(_ connection: any MultiplexedConnection) {
        guard shared === connection else { return }
        shared = nil
        noteStandstill()
    }

    /// Looks whether the server lets requests be made. Who waits is told when it does not any more.
    func noteStandstill() {
        let standsStill = !waiting.isEmpty && shared?.standsStill == true
        guard standsStill != self.standsStill else { return }
        self.standsStill = standsStill
        guard standsStill else { return }
        for request in waiting.requests { request.taker?.connectionIsBeingMade() }
    }

    func forget(_ connection: any MultiplexedConnection) {
        retire(connection)
        multiplexed[ObjectIdentifier(connection)] = nil
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

    /// The one that is unused longest.
    var oldestIdle: HTTP1Connection? { idle.first { !$0.isClosed } }

    func closeAll() {
        for attempt in attempts.values { attempt.cancel() }
        for connection in connections.values { connection.close() }
        for connection in multiplexed.values { connection.close() }
        attempts = [:]
        upgrade?.cancel()
        upgrade = nil
        connections = [:]
        multiplexed = [:]
        shared = nil
        standsStill = false
        idle = []
        closedIdleCount = 0
    }
}
