internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// HTTP/3 for origins that are reached by another version already (CONN-6, CONN-8).
extension ConnectionPool {
    /// Whether a request is to wait for HTTP/3, though it could be served otherwise or would have to stand in line.
    func mayUpgrade(_ origin: OriginConnections, isAssumed: Bool) -> Bool {
        guard origin.origin.mayShare, origin.shared?.version != .http3 else { return false }
        // There is one, which nobody was there to be asked about. One question about the server is enough at a time.
        if let upgrade = origin.upgrade { return upgrade.held != nil && !origin.isAsking }
        guard origin.attemptCount == 0, origin.shared != nil || origin.hasIdle || !mayStartAttempt(at: origin)
        else {
            return false
        }
        return http3Service(of: origin.origin, isAssumed: isAssumed) != nil
    }

    /// Has a request wait for HTTP/3. False if there is none after all.
    func upgrade(_ origin: OriginConnections, for request: ConnectionRequest) -> Bool {
        if let upgrade = origin.upgrade, let held = upgrade.held,
            held.isClosed || !held.takesRequests || upgrade.generation != generation
        {
            // Who has declined the handshake, or takes no request, has failed, though nobody was there to be told.
            // Who wants a certificate has declined what nobody could show.
            let isDeclined = held.isRefusedByHandshake && held.identityRequest == nil
            if isDeclined || !held.isClosed && !held.takesRequests {
                http3Services.failed(held.service, of: origin.origin.place, at: loop.now)
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
            let service = http3Service(of: origin.origin, isAssumed: request.assumesHTTP3)
        else { return false }
        origin.waiting.note(request)
        let upgrade = HTTP3Upgrade(to: service, for: request, at: origin, pool: self)
        request.upgrade = upgrade
        origin.upgrade = upgrade
        request.taker?.connectionIsBeingMade()
        upgrade.start()
        return true
    }

    func succeeded(_ upgrade: HTTP3Upgrade, with connection: HTTP3Connection, events: [LoadEvent]) {
        let origin = upgrade.home
        let request = upgrade.request
        origin.upgrade = nil
        line(request, at: origin)
        adopt(connection, of: upgrade.generation, first: request, isReused: upgrade.wasLeft, events: events)
    }

    /// There is no HTTP/3 for now.
    func failed(_ upgrade: HTTP3Upgrade) {
        let origin = upgrade.home
        origin.upgrade = nil
        line(upgrade.request, at: origin)
        serveOtherwise(origin)
        discardIfUnused(origin)
    }

    /// Its request does not wait for it any longer.
    func isLate(_ upgrade: HTTP3Upgrade) {
        let request = upgrade.request
        leave(upgrade)
        line(request, at: upgrade.home)
        serveOtherwise(upgrade.home)
    }

    /// Its request is served otherwise, or is no more. One from before a flush is of no use to others.
    func leave(_ upgrade: HTTP3Upgrade) {
        upgrade.leave()
        if upgrade.generation != generation { dropUpgrade(of: upgrade.home) }
    }

    /// The connection of HTTP/3 carries what comes from now on.
    func adopt(
        _ connection: HTTP3Connection, of itsGeneration: Int, first: ConnectionRequest?, isReused: Bool = false,
        events: [LoadEvent]
    ) {
        let origin = connection.home
        let before = origin.shared
        if before != nil, itsGeneration != generation {
            // It takes nothing from what was begun after a flush.
            connection.close()
            return serveOtherwise(origin)
        }
        connection.isAdopted = true
        adopt(connection, at: origin, of: itsGeneration, first: first, isReused: isReused, events: events)
        guard let before else { return }
        if before.home === origin {
            // It carries on with what it has.
            before.retire()
        } else {
            before.guests.removeAll { $0 === origin }
        }
    }

    /// Another attempt has come to something first.
    func dropUpgrade(of origin: OriginConnections) {
        guard let upgrade = origin.upgrade else { return }
        origin.upgrade = nil
        upgrade.cancel()
        line(upgrade.request, at: origin)
    }

    /// Gives up those that nobody waits for. False if there are none such.
    @discardableResult
    func dropUpgrades(where isSuch: (HTTP3Upgrade) -> Bool) -> Bool {
        let all = origins.values.filter { $0.upgrade.map(isSuch) ?? false }
        for origin in all {
            dropUpgrade(of: origin)
            discardIfUnused(origin)
        }
        return !all.isEmpty
    }

    /// Has who has waited for HTTP/3 stand in line, where he would stand if he had from the beginning.
    private func line(_ request: ConnectionRequest?, at origin: OriginConnections) {
        guard let request else { return }
        request.upgrade = nil
        origin.waiting.enter(request)
        request.line = origin
    }

    /// Gives who waits what else there is.
    private func serveOtherwise(_ origin: OriginConnections) {
        serveFromShared(origin)
        while origin.shared == nil, let next = origin.waiting.first(), next.acceptsReused,
            let connection = takeIdle(of: origin, isRepeatable: next.isRepeatable)
        {
            origin.waiting.remove(next)
            hand(connection, of: origin, to: next, isReused: true, events: [])
        }
        // Who lost a request on a reused connection is promised a new one, as in `release`.
        if let next = origin.waiting.first(), !next.acceptsReused, !mayStartAttempt(at: origin),
            let idle = origin.oldestIdle
        {
            return discard(idle)
        }
        startAttempts(at: origin)
    }
}
