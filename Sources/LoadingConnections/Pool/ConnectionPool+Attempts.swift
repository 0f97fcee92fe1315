internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Connection attempts: when one is started, and what happens with its result.
extension ConnectionPool {
    /// Called when the request of an attempt was served otherwise or withdrawn. The attempt continues for another
    /// waiting request, whose time counts from now on. Without such a request it is cancelled, because no request would
    /// handle its challenges. An upgrade continues without a request, unless it is from before a flush.
    func passOnAttempt(of request: ConnectionRequest, at origin: OriginConnections) {
        guard let attempt = request.attempt else { return }
        attempt.setRequest(nil)
        if attempt.isUpgrade {
            if attempt.generation != generation { dropUpgrade(of: origin) }
            return
        }
        let isStale =
            attempt.generation != generation
            || loop.now - attempt.beginning > loop.limits.attemptReuse && !attempt.isAsking
        if !isStale, let next = origin.waiting.firstWithoutAttempt() {
            // A request that shared the attempt has been counted as active already.
            if next.sharedAttempt == nil { next.delegate?.connectionIsBeingMade() }
            next.sharedAttempt = nil
            attempt.setRequest(next)
        } else {
            origin.finish(attempt)
            attempt.cancel()
            serveFromShared(origin)
            startAttempts(at: origin)
        }
    }

    func startAttempts(at origin: OriginConnections) {
        while mayStartAttempt(at: origin), origin.attemptCount < origin.waiting.count,
            let request = origin.waiting.firstWithoutAttempt()
        {
            startAttempt(for: request, at: origin)
        }
        guard isVersionUnknown(origin), origin.attemptCount > 0 else { return }
        for request in origin.waiting.requests where request.sharedAttempt == nil { origin.share(with: request) }
    }

    @discardableResult
    func startAttempt(for request: ConnectionRequest, at origin: OriginConnections) -> ConnectionAttempt {
        let attempt = ConnectionAttempt(for: request, at: origin, pool: self)
        request.sharedAttempt = nil
        origin.begin(attempt)
        request.delegate?.connectionIsBeingMade()
        attempt.start()
        return attempt
    }

    // MARK: Outcomes

    func succeeded(_ attempt: ConnectionAttempt, with stream: ByteStream) {
        let origin = attempt.primaryOrigin
        if stream.tls?.session.applicationProtocol == "h2" {
            guard origin.key.mayShare else {
                // The client did not offer h2.
                stream.close()
                return failed(attempt, with: ConnectionFailure(LoadError(code: TLSError.secureConnectionFailed)))
            }
            origin.finish(attempt)
            serversOfHTTP1.remove(origin.key)
            return adopt(stream, of: attempt)
        }
        if requiredVersion == .http2 {
            stream.close()
            return failed(attempt, with: ConnectionFailure(.versionUnavailable("the server did not agree to HTTP/2")))
        }
        origin.finish(attempt)
        if origin.key.mayShare {
            if serversOfHTTP1.count >= Self.mostServers { serversOfHTTP1 = [] }
            serversOfHTTP1.insert(origin.key)
        }
        let connection = HTTP1Connection(
            stream: stream, primaryOrigin: origin, pool: self, generation: attempt.generation)
        origin.adopt(connection)
        watchRoutes()
        if let first = attempt.request, first.isWaiting {
            origin.waiting.remove(first)
            hand(connection, of: origin, to: first, isReused: false, events: attempt.events)
        } else if let next = origin.waiting.popFirst() {
            hand(connection, of: origin, to: next, isReused: false, events: attempt.events)
        } else {
            keepIdle(connection, at: origin)
        }
        // These requests waited until the server's version was known.
        startAttempts(at: origin)
    }

    /// A multiplexed connection, which all requests share. One is enough.
    private func adopt(_ stream: ByteStream, of attempt: ConnectionAttempt) {
        let origin = attempt.primaryOrigin
        if let shared = origin.shared {
            stream.close()
            return serve(from: shared)
        }
        let connection = HTTP2Connection(stream: stream, primaryOrigin: origin, pool: self)
        connection.start()
        adopt(connection, of: attempt)
    }

    func adopt(_ connection: any MultiplexedConnection, of attempt: ConnectionAttempt) {
        let origin = attempt.primaryOrigin
        let first = attempt.request
        origin.adopt(connection)
        watchRoutes()
        if let next = first?.isWaiting == true ? first : origin.waiting.first(),
            // An upgrade that was left was not made for this request, and its server may have forgotten it.
            let opened = connection.openStream(isRepeatable: next.isRepeatable || !attempt.wasLeft, for: origin)
        {
            origin.waiting.remove(next)
            hand(opened, of: origin, to: next, isReused: attempt.wasLeft, events: attempt.events)
        }
        // A connection from before a flush serves only the request that it was made for (CONN-18).
        if attempt.generation == generation { serve(from: connection) } else { connection.retire() }
    }

    /// A connection of another origin whose server may also serve this origin, because this host's name has the same
    /// address (RFC 9113 §9.1.1). The caller must check whether the certificate covers this origin.
    func candidate(for key: ConnectionKey, at addresses: [SocketAddress]) -> (any MultiplexedConnection)? {
        guard key.mayShare, key.proxyMode == nil, !coalescingDisallowed.contains(key),
            !destinations.replaces(key.hostPort)
        else { return nil }
        // A session may have connections to thousands of servers, so what costs little and excludes most comes first.
        return origins.values.lazy.compactMap(\.shared).first { connection in
            guard let address = connection.remoteAddress,
                addresses.contains(where: { $0.with(port: key.port) == address })
            else { return false }
            return !connection.isRetired && !connection.isClosed && connection.isTrusted
                && connection.primaryOrigin.key.proxyMode == nil
                && connection.primaryOrigin.key.port == key.port
                && !destinations.replaces(connection.primaryOrigin.key.hostPort)
                && connection.primaryOrigin.key.service == key.service
                && connection.peer != nil
        }
    }

    /// The server of that connection is also authoritative for the attempt's origin.
    ///
    /// - Parameter events: For the first request over the connection.
    func succeeded(
        _ attempt: ConnectionAttempt, sharing connection: any MultiplexedConnection, events: [LoadEvent]
    ) {
        let origin = attempt.primaryOrigin
        origin.finish(attempt)
        origin.coalesce(with: connection)
        serve(origin, from: connection, events: events)
    }

    /// Requests that wait for it use other connections.
    func gaveUp(_ attempt: ConnectionAttempt) {
        let origin = attempt.primaryOrigin
        origin.finish(attempt)
        serveOtherwise(origin)
        discardIfUnused(origin)
    }

    /// Serves waiting requests from connections that exist, then starts attempts for the others.
    func serveOtherwise(_ origin: OriginConnections) {
        serveFromShared(origin)
        while origin.shared == nil, let next = origin.waiting.firstForReleased(), next.acceptsReused,
            let connection = takeIdle(of: origin)
        {
            origin.waiting.remove(next)
            hand(connection, of: origin, to: next, isReused: true, events: [])
        }
        // A request that was lost on a reused connection gets a new one, as in `release`.
        if let next = origin.waiting.firstForReleased(), !next.acceptsReused, !mayStartAttempt(at: origin),
            let idle = origin.oldestIdle
        {
            return discard(idle)
        }
        startAttempts(at: origin)
    }

    func failed(_ attempt: ConnectionAttempt, with failure: ConnectionFailure) {
        let origin = attempt.primaryOrigin
        let request = attempt.request
        // The request that the attempt was made for, or else the next in the queue; and the requests that shared the
        // attempt, unless the failure concerns only the first: its delegate was challenged, or it is about trust or
        // credentials.
        var victims = attempt.hasAsked || failure.isPersonal ? [] : origin.sharing(attempt)
        origin.finish(attempt)
        if let request, request.isWaiting { victims.insert(request, at: 0) }
        if victims.isEmpty, let next = origin.waiting.popFirst() { victims.append(next) }
        let delegates = victims.compactMap { victim in
            origin.waiting.remove(victim)
            defer { victim.delegate = nil }
            return victim.delegate
        }
        for delegate in delegates { delegate.connectionFailed(failure, events: attempt.events) }
        serveFromShared(origin)
        startAttempts(at: origin)
        discardIfUnused(origin)
    }
}
