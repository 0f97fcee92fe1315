internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Open connections: which are kept idle, which are shared, and which request gets a released one.
extension ConnectionPool {
    /// The exchange ended without an error, and the connection may carry another one.
    func release(_ connection: HTTP1Connection) {
        loop.checkConfinement(of: "A connection pool")
        guard connection.generation == generation else { return discard(connection) }
        let origin = connection.primaryOrigin
        guard let next = origin.waiting.firstForReleased() else { return keepIdle(connection, at: origin) }
        if !next.acceptsReused || !next.isRepeatable && !connection.isSilent {
            // A request that was lost on a reused connection must get a new one, for which this one makes room. A
            // request that cannot be repeated must not get a connection that the server closed after its last response.
            return discard(connection)
        }
        origin.waiting.remove(next)
        hand(connection, of: origin, to: next, isReused: true, events: [])
    }

    /// Serves waiting requests with streams of the connection. Origins that share it take turns, so that a long queue
    /// of one keeps no stream from the others; a request of a higher priority comes before those of all of them.
    func serve(from connection: any MultiplexedConnection) {
        if connection.coalescedOrigins.isEmpty { return serve(connection.primaryOrigin, from: connection) }
        while let origin = nextInTurn(on: connection), serveFirst(of: origin, from: connection) {}
        connection.primaryOrigin.noteStreamCredit()
        for origin in connection.coalescedOrigins { origin.noteStreamCredit() }
    }

    /// - Parameter events: For the first of them.
    func serve(_ origin: OriginConnections, from connection: any MultiplexedConnection, events: [LoadEvent] = []) {
        var events = events
        while serveFirst(of: origin, from: connection, events: events) { events = [] }
        origin.noteStreamCredit()
    }

    /// Returns false if no request of the origin waits for the connection, or if it has no stream.
    private func serveFirst(
        of origin: OriginConnections, from connection: any MultiplexedConnection, events: [LoadEvent] = []
    ) -> Bool {
        guard origin.shared === connection, let next = origin.waiting.first(),
            let stream = connection.openStream(isRepeatable: next.isRepeatable, for: origin)
        else { return false }
        origin.waiting.remove(next)
        turnCount &+= 1
        origin.lastTurn = turnCount
        hand(stream, of: origin, to: next, isReused: true, events: events)
        return true
    }

    /// Of the origins that share the connection, the one with the most urgent waiting request; among equals, the one
    /// whose last turn was first. Nil if no request waits.
    ///
    /// Called after each response, also if no request waits, so it makes no list of the origins.
    private func nextInTurn(on connection: any MultiplexedConnection) -> OriginConnections? {
        var best: (origin: OriginConnections, priority: Float)?
        func consider(_ origin: OriginConnections) {
            guard origin.shared === connection, let priority = origin.waiting.first()?.priority else { return }
            if let other = best {
                let isBefore = priority == other.priority && origin.lastTurn < other.origin.lastTurn
                guard priority > other.priority || isBefore else { return }
            }
            best = (origin, priority)
        }
        consider(connection.primaryOrigin)
        for origin in connection.coalescedOrigins { consider(origin) }
        return best?.origin
    }

    /// Serves waiting requests from the shared connection, if there is one.
    func serveFromShared(_ origin: OriginConnections) {
        if let shared = origin.shared { serve(origin, from: shared) }
    }

    /// The server ended a connection with requests in flight, after it had answered others.
    func noteLoss(after answers: Int, of key: ConnectionKey) {
        var limit = requestLimits[key] ?? HTTP2RequestLimit()
        limit.lostConnection(after: answers)
        requestLimits[key] = limit
    }

    /// A connection was retired at the expected number, and all its requests were answered.
    func noteGoodEnd(of key: ConnectionKey) {
        guard var limit = requestLimits[key] else { return }
        limit.connectionEndedWell()
        requestLimits[key] = limit == HTTP2RequestLimit() ? nil : limit
    }

    /// The connection takes no more new requests.
    func retire(_ connection: any MultiplexedConnection) {
        connection.isRetired = true
        for origin in [connection.primaryOrigin] + connection.coalescedOrigins { origin.retire(connection) }
        for origin in [connection.primaryOrigin] + connection.coalescedOrigins { startAttempts(at: origin) }
    }

    func remove(_ connection: any MultiplexedConnection) {
        connection.isRetired = true
        let all = [connection.primaryOrigin] + connection.coalescedOrigins
        connection.coalescedOrigins = []
        for origin in all { origin.forget(connection) }
        for origin in all {
            startAttempts(at: origin)
            discardIfUnused(origin)
        }
    }

    /// The server responded with 421 (Misdirected Request) for the origin.
    func avoid(_ connection: any MultiplexedConnection, for origin: OriginConnections) {
        if origin === connection.primaryOrigin {
            if let connection = connection as? HTTP3Connection {
                http3Services.isMisdirected(connection.service, of: origin.key.hostPort, at: loop.now)
            }
            return connection.retire()
        }
        connection.coalescedOrigins.removeAll { $0 === origin }
        origin.retire(connection)
        if coalescingDisallowed.count >= Self.mostServers { coalescingDisallowed = [] }
        coalescingDisallowed.insert(origin.key)
        startAttempts(at: origin)
    }

    /// The connection is closed or must be closed.
    func discard(_ connection: HTTP1Connection) {
        connection.close()
        remove(connection)
    }

    /// The pool no longer owns the connection.
    func remove(_ connection: HTTP1Connection) {
        connection.primaryOrigin.forget(connection)
        startAttempts(at: connection.primaryOrigin)
        discardIfUnused(connection.primaryOrigin)
    }

    // MARK: Idle connections

    /// An idle connection. Its socket is checked, without waiting for an event on the loop: if the server has closed the
    /// connection, the request would be lost, and bytes that have arrived would be taken for its response (RFC 9112
    /// §9.2).
    func takeIdle(of origin: OriginConnections) -> HTTP1Connection? {
        while let connection = origin.takeIdle() {
            if connection.isSilent { return connection }
            connection.close()
            origin.forget(connection)
        }
        return nil
    }

    func keepIdle(_ connection: HTTP1Connection, at origin: OriginConnections) {
        connection.idleSince = loop.now
        connection.idleDeadline = loop.now + min(loop.limits.http1Idle, connection.announcedIdleLifetime)
        origin.keepIdle(connection)
        let timer = connection.expiryTimer
        if !timer.isArmed || connection.idleDeadline < timer.deadline {
            loop.arm(timer, at: connection.idleDeadline, for: connection)
        }
    }

    /// The connection may be in use, or may have been used since its timer was armed; then it has not expired.
    func expiryTimerFired(of connection: HTTP1Connection) {
        guard connection.isIdle else { return }
        if connection.idleDeadline <= loop.now { return discard(connection) }
        loop.arm(connection.expiryTimer, at: connection.idleDeadline, for: connection)
    }

    /// Frees a descriptor for an attempt that got none: drops upgrades without a request, or else closes the connection
    /// that has been idle longest. Returns false if there is none.
    func closeOneIdle() -> Bool {
        if dropUnusedUpgrades() { return true }
        let oldestOfEach = origins.values.lazy.compactMap(\.oldestIdle)
        if let oldest = oldestOfEach.min(by: { $0.idleSince < $1.idleSince }) {
            discard(oldest)
            return true
        }
        let unused = origins.values.lazy.compactMap(\.shared).filter(\.isIdle)
        guard let oldest = unused.min(by: { $0.idleSince < $1.idleSince }) else { return false }
        oldest.closeAtOnce()
        return true
    }
}
