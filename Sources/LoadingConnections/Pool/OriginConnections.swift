/// The connections to one origin, those being made, and who waits for one. Kept by the pool and confined to its loop.
final class OriginConnections {
    let origin: Origin
    var waiting = WaitingLine()
    /// Used last is last. Connections that closed while idle stay until their turn comes or they outnumber the others.
    private var idle: [HTTP1Connection] = []
    private var closedIdleCount = 0
    private var attempts: [ObjectIdentifier: ConnectionAttempt] = [:]
    private var connections: [ObjectIdentifier: HTTP1Connection] = [:]

    init(_ origin: Origin) { self.origin = origin }

    /// What counts against the limit per host.
    var liveCount: Int { connections.count + attempts.count }
    var attemptCount: Int { attempts.count }

    // MARK: Attempts

    func begin(_ attempt: ConnectionAttempt) { attempts[ObjectIdentifier(attempt)] = attempt }

    func finish(_ attempt: ConnectionAttempt) {
        attempts[ObjectIdentifier(attempt)] = nil
        attempt.request?.attempt = nil
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

    /// The one that is unused longest.
    var oldestIdle: HTTP1Connection? { idle.first { !$0.isClosed } }

    func closeAll() {
        for attempt in attempts.values { attempt.cancel() }
        for connection in connections.values { connection.close() }
        attempts = [:]
        connections = [:]
        idle = []
        closedIdleCount = 0
    }
}
