internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// HTTP/3 for origins that already have a connection of another version (CONN-6, CONN-8).
extension ConnectionPool {
    /// Whether a request is to wait for HTTP/3, although another connection could serve it or it would have to wait in
    /// line.
    func mayUpgrade(_ origin: OriginConnections, isAssumed: Bool) -> Bool {
        guard origin.key.mayShare, origin.shared?.version != .http3 else { return false }
        // A held connection waits for a request that can be challenged. Only one challenge about a server is open at a
        // time.
        if let upgrade = origin.upgrade { return upgrade.held != nil && !origin.isAsking }
        guard origin.attemptCount == 0, origin.shared != nil || origin.hasIdle || !mayStartAttempt(at: origin)
        else {
            return false
        }
        return http3Service(of: origin.key, isAssumed: isAssumed) != nil
    }

    /// Makes a request wait for HTTP/3. Returns false if HTTP/3 is not tried after all.
    func upgrade(_ origin: OriginConnections, for request: ConnectionRequest) -> Bool {
        if let upgrade = origin.upgrade, let held = upgrade.held,
            held.isClosed || !held.takesRequests || upgrade.generation != generation
        {
            // A server that refused the handshake or accepts no requests has failed, although no request was notified.
            // If it requested a client certificate, it refused only because no request could provide one.
            let isDeclined = held.isRefusedByHandshake && held.identityRequest == nil
            if isDeclined || !held.isClosed && !held.takesRequests {
                http3Services.failed(held.service, of: origin.key.place, at: loop.now)
            }
            dropUpgrade(of: origin)
        }
        if let upgrade = origin.upgrade {
            origin.waiting.note(request)
            request.upgrade = upgrade
            upgrade.join(request)
            return true
        }
        guard origin.attemptCount == 0,
            let service = http3Service(of: origin.key, isAssumed: request.assumesHTTP3)
        else { return false }
        origin.waiting.note(request)
        let upgrade = HTTP3Upgrade(to: service, for: request, at: origin, pool: self)
        request.upgrade = upgrade
        origin.upgrade = upgrade
        request.delegate?.connectionIsBeingMade()
        upgrade.start()
        return true
    }

    func succeeded(_ upgrade: HTTP3Upgrade, with connection: HTTP3Connection, events: [LoadEvent]) {
        let origin = upgrade.primaryOrigin
        let request = upgrade.request
        origin.upgrade = nil
        line(request, at: origin)
        adopt(connection, of: upgrade.generation, first: request, isReused: upgrade.wasLeft, events: events)
    }

    /// HTTP/3 is not available for now.
    func failed(_ upgrade: HTTP3Upgrade) {
        let origin = upgrade.primaryOrigin
        origin.upgrade = nil
        line(upgrade.request, at: origin)
        serveOtherwise(origin)
        discardIfUnused(origin)
    }

    /// Its request no longer waits for it.
    func isLate(_ upgrade: HTTP3Upgrade) {
        let request = upgrade.request
        leave(upgrade)
        line(request, at: upgrade.primaryOrigin)
        serveOtherwise(upgrade.primaryOrigin)
    }

    /// Its request was served otherwise or was withdrawn. An upgrade from before a flush must not serve other requests.
    func leave(_ upgrade: HTTP3Upgrade) {
        upgrade.leave()
        if upgrade.generation != generation { dropUpgrade(of: upgrade.primaryOrigin) }
    }

    /// The HTTP/3 connection carries new requests from now on.
    func adopt(
        _ connection: HTTP3Connection, of itsGeneration: Int, first: ConnectionRequest?, isReused: Bool = false,
        events: [LoadEvent]
    ) {
        let origin = connection.primaryOrigin
        let before = origin.shared
        if before != nil, itsGeneration != generation {
            // A connection from before a flush must not replace one from after it.
            connection.close()
            return serveOtherwise(origin)
        }
        connection.isAdopted = true
        adopt(connection, at: origin, of: itsGeneration, first: first, isReused: isReused, events: events)
        guard let before else { return }
        if before.primaryOrigin === origin {
            // It completes its requests.
            before.retire()
        } else {
            before.coalescedOrigins.removeAll { $0 === origin }
        }
    }

    /// Another attempt has succeeded first.
    func dropUpgrade(of origin: OriginConnections) {
        guard let upgrade = origin.upgrade else { return }
        origin.upgrade = nil
        upgrade.cancel()
        line(upgrade.request, at: origin)
    }

    /// Cancels the matching upgrades. Returns false if there are none.
    @discardableResult
    func dropUpgrades(where isSuch: (HTTP3Upgrade) -> Bool) -> Bool {
        let all = origins.values.filter { $0.upgrade.map(isSuch) ?? false }
        for origin in all {
            dropUpgrade(of: origin)
            discardIfUnused(origin)
        }
        return !all.isEmpty
    }

    /// Puts a request that waited for HTTP/3 into the line, by its time of arrival.
    private func line(_ request: ConnectionRequest?, at origin: OriginConnections) {
        guard let request else { return }
        request.upgrade = nil
        origin.waiting.enter(request)
        request.line = origin
    }

    /// Serves waiting requests from other connections.
    private func serveOtherwise(_ origin: OriginConnections) {
        serveFromShared(origin)
        while origin.shared == nil, let next = origin.waiting.first(), next.acceptsReused,
            let connection = takeIdle(of: origin, isRepeatable: next.isRepeatable)
        {
            origin.waiting.remove(next)
            hand(connection, of: origin, to: next, isReused: true, events: [])
        }
        // A request that was lost on a reused connection gets a new one, as in `release`.
        if let next = origin.waiting.first(), !next.acceptsReused, !mayStartAttempt(at: origin),
            let idle = origin.oldestIdle
        {
            return discard(idle)
        }
        startAttempts(at: origin)
    }
}
