internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// How the connection ends, and what that means for its requests and for HTTP/3 at its server.
extension HTTP3Connection {
    func closeIfDone() {
        guard !isClosed, isIdle, opened == nil, isAdopted, isRetired || hasLostLocalAddress else { return }
        if isAtLimit, !hasReceivedGoAway, !hasLostLocalAddress, limitPing != .acknowledged { return verifyLimit() }
        closeAtOnce()
    }

    /// Verifies the limit as soon as each request has a response. While long responses arrive, the next connections
    /// would otherwise have the limit too. A server whose GOAWAY is behind the end of its last response teaches the
    /// limit again.
    func verifyLimitEarly() {
        guard isRetired, !isIdle, !isClosed, isAtLimit, answerCount >= requestCount, !hasReceivedGoAway,
            !hasLostLocalAddress, !answerTimer.isArmed
        else { return }
        verifyLimit()
    }

    /// All requests up to the limit are answered, and new ones use another connection. The GOAWAY of a server with a
    /// limit may be behind its last response, and arrives before it acknowledges a PING.
    private func verifyLimit() {
        guard limitPing == nil else { return }
        limitPing = .sent
        ping()
        planTurn()
    }

    /// The GOAWAY on the earlier connection had another cause than a limit, such as a restart.
    func forgetLimit() {
        if !hasReceivedGoAway { pool.http3RequestLimits[primaryOrigin.key] = nil }
    }

    func giveUp(_ error: HTTP3Error) {
        if error == .helloRetryRequest, resumed != nil { return beginAnew() }
        isRefusedByHandshake = error.isOfHandshake && !session.isHandshakeConfirmed
        // Sends the CONNECTION_CLOSE for the server's log.
        if let words = try? session.nextOutput(at: pool.loop.now) { _ = send(words) }
        lose(meaning(of: error))
    }

    /// The server refused a request. If it has never answered one, it may refuse all of them, and requests use TCP
    /// instead. If it has answered one, the next connection would be as good as this one.
    func refused() {
        guard !hasAnswered else { return }
        pool.http3Services.failed(service, of: primaryOrigin.key.hostPort, at: pool.loop.now)
        if isAdopted, !isRetired { retire() }
    }

    /// A connection without any response may be lost because of QUIC, so another transport may work. A server that
    /// requested a client certificate may have required a different one, and would do so over TCP too.
    var mayWorkOverOtherTransport: Bool {
        guard let loss else { return false }
        return !hasAnswered && !loss.isNoRoute && !session.isIdentityRequested
    }

    func lose(_ error: LoadError) {
        guard !isClosed else { return }
        replayEarly()
        guard !isClosed else { return }
        loss = error
        if opened == nil, !hasAnswered, !streams.isEmpty, !error.isNoRoute {
            pool.http3Services.failed(service, of: primaryOrigin.key.hostPort, at: pool.loop.now)
        }
        shut()
        if let opened {
            self.opened = nil
            session.fail()
            // This is called from turns only, so never before `init` has returned.
            return opened(error)
        }
        if isAdopted { pool.remove(self) }
        session.fail()
    }

    /// The observers of open streams are not notified.
    func close() {
        guard !isClosed else { return }
        opened = nil
        early = nil
        for stream in streams.all { stream.detach() }
        let mark = primaryOrigin.key.service.trafficClass << 2
        session.close(at: pool.loop.now).withUnsafeBytes { words in
            if !words.isEmpty { _ = socket.write(words, segment: words.count, mark: mark) }
        }
        shut()
        session.fail()
    }

    private func shut() {
        gathering = []
        if limitPing == .sent { forgetLimit() }
        for timer in [idleTimer, sessionTimer, answerTimer, streamCreditTimer, silenceTimer] { pool.loop.disarm(timer) }
        unsent = nil
        socket.close()
    }
}
