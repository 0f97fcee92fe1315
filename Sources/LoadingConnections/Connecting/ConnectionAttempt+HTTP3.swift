internal import LoadingSemantics
internal import LoadingTransport

/// The part of HTTP/3 in an attempt: first with TCP in parallel after a short time, or alone in an upgrade (CONN-8).
extension ConnectionAttempt: LoopTimerTarget {
    /// The connection of an upgrade whose handshake is complete while no request waits. It is ready except for the
    /// trust decision, which may cause a challenge.
    var held: HTTP3Connection? { http3?.held }

    /// - Parameter lookupStart: When the lookup of the name has started, if that was before.
    func startHTTP3(_ service: AlternativeService, lookupStart: Int64? = nil) {
        hasTriedHTTP3 = true
        let http3 = HTTP3Connector(to: service, for: primaryOrigin, pool: pool)
        http3.lookupStart = lookupStart
        self.http3 = http3
        let limits = pool.loop.limits
        if pool.requiredVersion != .http3 { arm(after: isUpgrade ? limits.http3UpgradeTimeout : limits.http3HeadStart) }
        http3.start(for: self)
    }

    /// Begins HTTP/3, although it failed recently, because TCP does not reach the server: it may have HTTP/3 only.
    /// Returns false if there is nothing to try.
    func triesFailedHTTP3(after failure: ConnectionFailure) -> Bool {
        guard !hasTriedHTTP3, !hasAsked, primaryOrigin.upgrade == nil, primaryOrigin.shared == nil,
            !failure.isPersonal, !failure.error.isNoRoute, failure.error.code != LoadError.cannotFindHost.code,
            let service = pool.failedHTTP3Service(
                of: primaryOrigin.key, isAssumed: request?.assumesHTTP3 ?? false)
        else { return false }
        transportFailure = failure
        startHTTP3(service)
        arm(after: pool.loop.limits.http3LastChance)
        return true
    }

    func endHTTP3() {
        pool.loop.disarm(timer)
        http3?.cancel()
        http3 = nil
    }

    private func arm(after delay: Int64) { pool.loop.arm(timer, at: pool.loop.now + delay, for: self) }

    // MARK: From the connector

    /// The handshake is complete. The trust decision remains, which may need the user, so no time limit applies while a
    /// request waits.
    func http3HandshakeCompleted() { if request != nil { endTCP() } }

    /// A second handshake is made, with a client certificate.
    func http3HandshakeRepeated() {
        if isUpgrade, request != nil { arm(after: pool.loop.limits.http3UpgradeTimeout) }
    }

    func http3Ended(_ outcome: Result<HTTP3Connection, HTTP3Connector.Failure>) {
        guard let ended = http3 else { return }
        http3 = nil
        pool.loop.disarm(timer)
        switch outcome {
        case .success(let connection):
            cancel()
            transportEvents = ended.events
            pool.succeeded(self, with: connection)
        case .failure(let failure):
            if transportFailure == nil { ended.note(failure) }
            let isRefusal = failure.isRefusal && ended.service.isOwn(of: primaryOrigin.key.hostPort)
            let cause = ConnectionFailure(failure.error)
            if isRefusal, cause.isPersonal { http3Refusal = cause }
            // Over TCP the origin itself would not be trusted either. An upgrade fails no request.
            let isFinal = isRefusal && hasAsked && primaryOrigin.shared == nil
            guard !isUpgrade, isFinal || pool.requiredVersion == .http3 else { return continueWithoutHTTP3() }
            transportEvents = ended.events
            fail(cause)
        }
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === silenceTimer { return silenceTimerFired() }
        if isUpgrade {
            if request != nil { return pool.upgradeTimedOut(self) }
            // No request arrived for the held connection, or the handshake was not completed in time.
            if held == nil { http3?.note(HTTP3Connector.Failure(error: .timedOut, isRefusal: false)) }
        }
        continueWithoutHTTP3()
    }

    /// HTTP/3 has failed or has not completed in time.
    private func continueWithoutHTTP3() {
        if isUpgrade || primaryOrigin.shared != nil {
            // The requests use other connections. One that all requests share may come from another attempt.
            cancel()
            pool.gaveUp(self)
        } else if let transportFailure {
            // Neither TCP nor QUIC reaches the server.
            endHTTP3()
            fail(transportFailure)
        } else if !isTryingTCP {
            startTCP()
        }
    }

    // MARK: Upgrades

    /// TCP has won, or its handshake is about to be completed. A slower HTTP/3 handshake is not a failed one, so it
    /// continues as an upgrade if later requests can use it.
    func leaveHTTP3() {
        if let http3, primaryOrigin.upgrade == nil, primaryOrigin.shared?.version != .http3,
            generation == pool.generation
        {
            let upgrade = ConnectionAttempt(for: nil, at: primaryOrigin, pool: pool, isUpgrade: true)
            self.http3 = nil
            self.upgrade = upgrade
            upgrade.http3 = http3
            http3.attempt = upgrade
            upgrade.setRequest(nil)
            primaryOrigin.begin(upgrade)
        }
        endHTTP3()
    }

    /// If this attempt caused a challenge, an upgrade without a request would cause a second one about the same server
    /// for the next load: one over QUIC, one over TCP.
    func dropUpgrade() {
        if hasAsked, let upgrade, upgrade === primaryOrigin.upgrade, upgrade.request == nil {
            pool.dropUpgrade(of: primaryOrigin)
        }
    }

    /// Without a request, the handshake continues and the connection is held, at most for the idle time of a
    /// connection.
    func requestOfUpgradeChanged() {
        if request != nil { return pool.loop.disarm(timer) }
        wasLeft = true
        http3?.hold()
        arm(after: pool.loop.limits.multiplexedIdle)
    }
}
