package import LoadingEvents
package import LoadingSemantics
package import LoadingTransport

/// The connections of one session: who may have one, who waits, and which are kept for later. Confined to its loop.
///
/// The policy, in order:
/// 1. An idle connection to the origin, the one used last first: the others then grow old and expire.
/// 2. A new connection, while the origin has fewer than `maximumPerHost` (C-24).
/// 3. Waiting, by priority and then first come first served (CONN-1). A connection goes to whoever waits first at the
///    moment it is free, whether it was made for him or not; only who lost a request on a reused connection gets no
///    other than a new one.
package final class ConnectionPool: LoopTimerTarget {
    package let loop: EventLoop
    let security: ConnectionSecurity
    package var maximumPerHost: Int
    private var origins: [Origin: OriginConnections] = [:]
    /// Connections from before a flush carry an older number and are not kept.
    private var generation = 0
    private let expiryTimer = LoopTimer()
    /// The request head being encoded; one buffer for all, since encoding and the first write are one step.
    var encodeBuffer: [UInt8] = []

    /// An idle HTTP/1.1 connection is kept this long, unless the server said less (CONN-19).
    static let idleLifetime: Int64 = 60_000_000_000

    package init(loop: EventLoop, security: ConnectionSecurity, maximumPerHost: Int) {
        self.loop = loop
        self.security = security
        self.maximumPerHost = max(1, maximumPerHost)
    }

    // MARK: For loads

    /// An idle connection to the origin, the common case, without asking for one.
    package func takeIdle(_ origin: Origin) -> HTTP1Connection? {
        guard let known = origins[origin], known.waiting.isEmpty else { return nil }
        return known.takeIdle()
    }

    package func request(_ request: ConnectionRequest) {
        if !request.acceptsReused, let known = origins[request.origin] {
            // Idle connections that are as old as the one that died make room for a new one. With the last of them
            // the origin may be forgotten, so it is looked up after that.
            for connection in known.idleConnections { discard(connection) }
        }
        let origin = connections(to: request.origin)
        if origin.waiting.isEmpty, let connection = origin.takeIdle() {
            return hand(connection, to: request, isReused: true, events: [])
        }
        origin.waiting.append(request)
        if origin.liveCount < maximumPerHost { startAttempt(for: request, at: origin) }
    }

    /// Takes a wish back. An attempt that nobody is left to wait for is given up.
    package func withdraw(_ request: ConnectionRequest) {
        request.taker = nil
        guard let origin = origins[request.origin] else { return }
        origin.waiting.remove(request)
        passOnAttempt(of: request, at: origin)
        discardIfUnused(origin)
    }

    /// A connection that was given out and not used.
    package func putBack(_ connection: HTTP1Connection) { release(connection) }

    /// From now on every request goes over a new connection (CONN-18).
    package func retireAll() {
        generation += 1
        security.forgetResumptions()
        for connection in origins.values.flatMap(\.idleConnections) { discard(connection) }
    }

    package var connectionCount: Int { origins.values.reduce(0) { $0 + $1.liveCount } }

    /// Closes everything. Nothing waits any more and nothing is asked for afterwards.
    package func shutDown() {
        loop.disarm(expiryTimer)
        for origin in Array(origins.values) { origin.closeAll() }
        origins = [:]
    }

    // MARK: For connections

    /// The exchange ended in order and the connection may carry another.
    func release(_ connection: HTTP1Connection) {
        guard connection.generation == generation else { return discard(connection) }
        let origin = connection.home
        if let first = origin.waiting.first(), !first.acceptsReused {
            // Who lost a request on a reused connection is promised a new one, for which this one makes room.
            discard(connection)
        } else if let next = origin.waiting.popFirst() {
            hand(connection, to: next, isReused: true, events: [])
        } else {
            keepIdle(connection, at: origin)
        }
    }

    /// The connection is closed or must be.
    func discard(_ connection: HTTP1Connection) {
        connection.close()
        connection.home.forget(connection)
        startAttempts(at: connection.home)
        discardIfUnused(connection.home)
    }

    // MARK: For attempts

    func succeeded(_ attempt: ConnectionAttempt, with stream: ByteStream) {
        let origin = attempt.home
        origin.finish(attempt)
        let connection = HTTP1Connection(stream: stream, home: origin, pool: self, generation: generation)
        origin.adopt(connection)
        if let first = attempt.request, first.isWaiting {
            origin.waiting.remove(first)
            hand(connection, to: first, isReused: false, events: attempt.events)
        } else if let next = origin.waiting.popFirst() {
            hand(connection, to: next, isReused: false, events: attempt.events)
        } else {
            keepIdle(connection, at: origin)
        }
    }

    func failed(_ attempt: ConnectionAttempt, with error: LoadError) {
        let origin = attempt.home
        let request = attempt.request
        origin.finish(attempt)
        // The one it was made for, else who would have been served next.
        if let victim = request?.isWaiting == true ? request : origin.waiting.popFirst() {
            origin.waiting.remove(victim)
            let taker = victim.taker
            victim.taker = nil
            taker?.connectionFailed(error, events: attempt.events)
        }
        startAttempts(at: origin)
        discardIfUnused(origin)
    }

    /// Frees a descriptor for an attempt that got none: closes the idle connection that is unused longest. False when
    /// nothing is idle.
    func closeOneIdle() -> Bool {
        let idle = origins.values.flatMap(\.idleConnections)
        guard let oldest = idle.min(by: { $0.idleDeadline < $1.idleDeadline }) else { return false }
        discard(oldest)
        return true
    }

    // MARK: Inside

    private func connections(to origin: Origin) -> OriginConnections {
        if let known = origins[origin] { return known }
        let new = OriginConnections(origin)
        origins[origin] = new
        return new
    }

    private func hand(
        _ connection: HTTP1Connection, to request: ConnectionRequest, isReused: Bool, events: [LoadEvent]
    ) {
        passOnAttempt(of: request, at: connection.home)
        guard let taker = request.taker else { return keepIdle(connection, at: connection.home) }
        request.taker = nil
        taker.took(connection, isReused: isReused, events: events)
    }

    /// An attempt whose request was served otherwise goes on for somebody else who waits, and whose time counts from
    /// now on; without one it is given up, since nobody would see to its end.
    private func passOnAttempt(of request: ConnectionRequest, at origin: OriginConnections) {
        guard let attempt = request.attempt else { return }
        request.attempt = nil
        attempt.request = nil
        if let next = origin.waiting.firstWithoutAttempt() {
            attempt.request = next
            next.attempt = attempt
            next.taker?.connectionIsBeingMade()
        } else {
            origin.finish(attempt)
            attempt.cancel()
        }
    }

    private func startAttempts(at origin: OriginConnections) {
        while origin.liveCount < maximumPerHost, origin.attemptCount < origin.waiting.count,
            let request = origin.waiting.firstWithoutAttempt()
        {
            startAttempt(for: request, at: origin)
        }
    }

    private func startAttempt(for request: ConnectionRequest, at origin: OriginConnections) {
        let attempt = ConnectionAttempt(for: request, at: origin, pool: self)
        request.attempt = attempt
        origin.begin(attempt)
        request.taker?.connectionIsBeingMade()
        attempt.start()
    }

    private func keepIdle(_ connection: HTTP1Connection, at origin: OriginConnections) {
        connection.idleDeadline = loop.now + min(Self.idleLifetime, connection.announcedIdleLifetime)
        origin.keepIdle(connection)
        if !expiryTimer.isArmed || connection.idleDeadline < expiryTimer.deadline {
            loop.arm(expiryTimer, at: connection.idleDeadline, for: self)
        }
    }

    package func timerFired(_ timer: LoopTimer) {
        var next = Int64.max
        for connection in origins.values.flatMap(\.idleConnections) {
            if connection.idleDeadline <= loop.now {
                discard(connection)
            } else {
                next = min(next, connection.idleDeadline)
            }
        }
        if next != .max { loop.arm(expiryTimer, at: next, for: self) }
    }

    private func discardIfUnused(_ origin: OriginConnections) {
        guard origin.liveCount == 0, origin.waiting.isEmpty else { return }
        // It may still hold connections that closed while they were idle, and they hold it.
        origin.closeAll()
        origins[origin.origin] = nil
        if origins.isEmpty { loop.disarm(expiryTimer) }
    }
}
