internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// A body that the client provides when there is a connection (S-50). Meanwhile the connection is reserved, or returned
/// to the pool.
extension ExchangeStage {
    /// Whether the stage requests a connection when the client has provided the body.
    var asksAgain: Bool { returnedFacts != nil && pendingConnection == nil && connection == nil }

    func requestBody(of load: HTTPLoad, for connection: any HTTPExchangeStream) {
        reserved = connection
        hasWaited = false
        load.withBody { [weak self] body in
            guard let self, needsStream, self.load != nil else { return }
            request.body = body
            needsStream = false
            if self.load?.isSuspended == false { sendOverReserved() }
        }
        hasWaited = true
        guard reserved != nil, !isBound else { return }
        if connection.isShared { return returnUntilBody() }
        let timer = reservationTimer ?? LoopTimer()
        reservationTimer = timer
        environment.loop.arm(timer, at: environment.loop.now &+ environment.loop.limits.bodyReservation, for: self)
    }

    /// The client may take any time, and its answer may depend on another request to the same server.
    func returnUntilBody() {
        guard let reserved = takeReserved() else { return }
        returnedFacts = reserved.facts(isReused: isReused)
        reserved.returnUnused()
    }

    /// Sends the request after the client has provided the body. If that took time, the server may have closed the
    /// connection meanwhile.
    func sendOverReserved() {
        if let reserved = takeReserved() {
            if isBound || !hasWaited || reserved.confirm() { return send(over: reserved) }
        } else if !asksAgain {
            return
        }
        // Nothing was sent, so this was not an attempt.
        retries.attempts -= 1
        start(onNewConnection: needsNewConnection)
    }

    func returnReserved() {
        guard let reserved = takeReserved() else { return }
        if isBound { reserved.endHold() } else { reserved.returnUnused() }
    }

    func takeReserved() -> (any HTTPExchangeStream)? {
        if let reservationTimer { environment.loop.disarm(reservationTimer) }
        defer { reserved = nil }
        return reserved
    }
}
