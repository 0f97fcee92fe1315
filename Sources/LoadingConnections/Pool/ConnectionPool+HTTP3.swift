internal import LoadingProtocols
package import LoadingSemantics
internal import LoadingTransport

/// HTTP/3: where it is tried, upgrades of origins that already have a connection of another version, and what its
/// connection replaces (CONN-6, CONN-8).
extension ConnectionPool {
    /// The endpoint for HTTP/3 with an origin; nil if HTTP/3 is not tried.
    func http3Service(of key: ConnectionKey, isAssumed: Bool) -> AlternativeService? {
        permitted(for: key) {
            http3Services.service(of: key.hostPort, isAssumed: isAssumed, isWatched: routes != nil, at: loop.now)
        }
    }

    /// An endpoint that QUIC did not reach recently, for an origin that TCP does not reach either.
    func failedHTTP3Service(of key: ConnectionKey, isAssumed: Bool) -> AlternativeService? {
        permitted(for: key) { http3Services.failedService(of: key.hostPort, isAssumed: isAssumed, at: loop.now) }
    }

    /// The endpoint that HTTPS records name.
    func http3Service(of key: ConnectionKey, among found: HTTPSRecordSet) -> AlternativeService? {
        permitted(for: key) { http3Services.service(of: key.hostPort, among: found.records, at: loop.now) }
    }

    private func permitted(for key: ConnectionKey, _ find: () -> AlternativeService?) -> AlternativeService? {
        guard mayUseHTTP3(key), let service = find() else { return nil }
        // An alternative that a server at another place has named would be looked for where DNS leads.
        if destinations.replaces(key.hostPort), service.hostPort(for: key.hostPort) != key.hostPort { return nil }
        return service
    }

    /// Whether the HTTPS record of an origin is worth a query. If QUIC does not reach the origin itself, it is unlikely
    /// to reach an alternative endpoint of the same origin.
    func mayFindHTTP3(of key: ConnectionKey) -> Bool {
        mayUseHTTP3(key) && !http3Services.isBroken(key.hostPort, at: loop.now)
            && !destinations.replaces(key.hostPort)
    }

    func mayUseHTTP3(_ key: ConnectionKey) -> Bool {
        key.mayShare && key.proxyMode == nil && security.allowsHTTP3 && requiredVersion != .http2
            && destinations.socketPath == nil
    }

    /// The `Alt-Svc` fields of a response (CONN-6).
    package func noteAlternatives(in fields: HTTPFields, from url: HTTPURL) {
        if fields.contains("Alt-Svc"), HTTP3Session.isAvailable { http3Services.note(fields, from: url) }
    }

    // MARK: Upgrades

    /// Whether a request is to wait for HTTP/3, although another connection could serve it or it would have to wait in
    /// the queue.
    func mayUpgrade(_ origin: OriginConnections, isAssumed: Bool) -> Bool {
        guard origin.key.mayShare, origin.shared?.version != .http3 else { return false }
        // A held connection waits for a request that can be challenged. Only one challenge about a server is open at a
        // time.
        if let upgrade = origin.upgrade { return upgrade.held != nil && !origin.isAsking }
        guard origin.attemptCount == 0, origin.shared != nil || origin.hasIdle || !mayStartAttempt(at: origin)
        else {
            return false
        }
        return http3Service(of: origin.key, isAssumed: isAssumed) != nil && mayReplaceRetired(of: origin)
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
                http3Services.failed(held.service, of: origin.key.hostPort, at: loop.now)
            }
            dropUpgrade(of: origin)
        }
        if let upgrade = origin.upgrade {
            origin.waiting.number(request)
            request.delegate?.connectionIsBeingMade()
            upgrade.setRequest(request)
            return true
        }
        guard origin.attemptCount == 0,
            let service = http3Service(of: origin.key, isAssumed: request.assumesHTTP3)
        else { return false }
        origin.waiting.number(request)
        let upgrade = ConnectionAttempt(for: request, at: origin, pool: self, isUpgrade: true)
        origin.begin(upgrade)
        request.delegate?.connectionIsBeingMade()
        upgrade.startHTTP3(service)
        return true
    }

    /// The request of an upgrade has waited for its time, and uses another connection.
    func upgradeTimedOut(_ upgrade: ConnectionAttempt) {
        guard let request = upgrade.request else { return }
        let origin = upgrade.primaryOrigin
        passOnAttempt(of: request, at: origin)
        origin.enqueue(request)
        serveOtherwise(origin)
    }

    /// The HTTP/3 connection carries new requests from now on.
    func succeeded(_ attempt: ConnectionAttempt, with connection: HTTP3Connection) {
        let origin = attempt.primaryOrigin
        origin.finish(attempt)
        dropUpgrade(of: origin)
        let before = origin.shared
        if before != nil, attempt.generation != generation {
            // A connection from before a flush must not replace one from after it.
            connection.close()
            return serveOtherwise(origin)
        }
        connection.isAdopted = true
        adopt(connection, of: attempt)
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
        upgrade.cancel()
        origin.finish(upgrade)
    }

    /// Cancels the upgrades that no request waits for. Returns false if there are none.
    @discardableResult
    func dropUnusedUpgrades() -> Bool {
        let all = origins.values.filter { $0.upgrade.map { $0.request == nil } ?? false }
        for origin in all {
            dropUpgrade(of: origin)
            discardIfUnused(origin)
        }
        return !all.isEmpty
    }
}
