internal import LoadingConnections
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Requests that are sent again: after a lost connection or a refusal (CONN-4, CONN-10), and after a 421 (CONN-3).
extension ExchangeStage {
    func exchangeFailed(_ failure: ExchangeFailure) {
        recordBreak()
        connection = nil
        guard let load else { return }
        let decision = retries.decide(
            after: failure, of: request.method, isReused: isReused, mayRepeat: !hasHead && !isBound,
            at: environment.loop.now, limits: environment.loop.limits)
        if case .fail(let error) = decision { return end { $0.exchangeFailed(error) } }
        if failure.requiresHTTP1 { environment.pool.requireHTTP1(of: &key) }
        // A request that the server has not processed makes no progress, however often it is sent (C-6).
        isUnprocessed = failure.wasNotProcessed
        guard case .retryAfter(let pause) = decision else { return startAgain(for: load) }
        let timer = pauseTimer ?? LoopTimer()
        pauseTimer = timer
        environment.loop.arm(timer, at: environment.loop.now &+ pause, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === reservationTimer { return returnUntilBody() }
        if let load { startAgain(for: load) }
    }

    /// Sends the request to the origin's own server, once, after a coalesced connection or an alternative service has
    /// declined it (CONN-3). Returns false if that is impossible or already done. Later requests avoid the connection
    /// that declined it.
    func retryMisdirected() -> Bool {
        guard let load, let connection, connection.mayBeMisdirected else { return false }
        connection.disallowConnection()
        guard !wasMisdirected, !isBound else { return false }
        wasMisdirected = true
        recordBreak()
        self.connection = nil
        connection.cancel()
        isUnprocessed = false
        startAgain(for: load)
        return true
    }

    /// Whether the stage pauses before it sends a refused request again. The idle time runs meanwhile.
    var isPausing: Bool { pauseTimer?.isArmed == true }

    /// Another idle connection may be as stale as the last one, so a new one is requested.
    private func startAgain(for load: HTTPLoad) {
        log?.record(.fetchStarted(.retry))
        if isUnprocessed { load.exchangeWasNotProcessed() } else { load.noteActivity() }
        if waitsWhileSuspended() { return }
        if load.exchangeMustBecomeSecure { return becomeSecure(load) }
        renewAuthentication(of: load)
        if isBodyWhole { return start(onNewConnection: true) }
        guard load.request.body.isReplayable else {
            needsStream = true
            return start(onNewConnection: true)
        }
        load.withBody { [weak self] body in
            guard let self, self.load != nil, connection == nil, pendingConnection == nil, !waitsWhileSuspended()
            else { return }
            request.body = body
            start(onNewConnection: true)
        }
    }

    private func renewAuthentication(of load: HTTPLoad) {
        var renewed = request
        load.authenticateAgain(&renewed)
        request = renewed
    }

    /// Ends the stage if the load is suspended. The load sends its request again when it resumes (T-2).
    private func waitsWhileSuspended() -> Bool {
        guard let load, load.isSuspended else { return false }
        self.load = nil
        load.exchangeWaits()
        return true
    }

    /// Whether nothing of the body has been taken from its source.
    private var isBodyWhole: Bool {
        switch request.body {
        case .none, .bytes: true
        case .source(let source, _): source.isUnread
        }
    }
}

/// Counts how often a request was sent, lost and refused, and decides with `RetryRules` whether it is sent again.
struct ExchangeRetries {
    /// How often the request was sent, without the times that do not count.
    var attempts = 0
    /// How often the request, which may have been processed, was lost while the server answered other requests.
    private var lossesWhileServing = 0
    /// How often in a row the server has refused the request and answered no other request.
    private var refusals = 0
    /// How often the request was sent, or was to be sent, and was not processed.
    private var unprocessed = 0
    /// The time of the last loss of the request, or of its start.
    private var lastLoss: Int64
    /// The last error that ended a request which the server may have received.
    private(set) var loss: LoadError?

    init(at now: Int64) { lastLoss = now }

    /// - Parameters:
    ///   - isReused: Whether the connection had carried other requests before.
    ///   - mayRepeat: False if the response has begun, or if the request is valid on its connection only.
    mutating func decide(
        after failure: ExchangeFailure, of method: String, isReused: Bool, mayRepeat: Bool, at now: Int64,
        limits: TimeLimits
    ) -> RetryDecision {
        // Statements of the server about other requests do not prove that it answers them.
        let isServing = failure.lastAnswer > lastLoss
        // Whether the next connection may succeed where this one failed.
        let isOneOfSeveral = isReused || failure.mayWorkOverOtherTransport || !failure.wasAlone || isServing
        lastLoss = now
        // The loss of a new connection is the server's doing, so a retry would also fail. Exceptions: a request that
        // the server has not processed is safe to retry (CONN-4), and one that was not sent loses nothing by a retry.
        guard mayRepeat, isOneOfSeveral || failure.wasNotProcessed, failure.error.isConnectionLoss else {
            return .fail(failure.error)
        }
        // The body can be repeated: if a stream was read from, another is requested.
        let lost = LostExchange(
            method: method, progress: failure.progress, isReusedConnection: isOneOfSeveral, isBodyReplayable: true,
            attempts: attempts,
            lossesWhileServing: lossesWhileServing + (failure.progress == .sent && isServing ? 1 : 0),
            refusals: refusals + 1, unprocessed: unprocessed + 1, isServing: isServing, isOverload: failure.isOverload)
        let decision = RetryRules.decide(lost, error: failure.error, limits: limits)
        if case .fail = decision { return decision }
        if failure.wasNotProcessed { unprocessed += 1 } else { loss = failure.error }
        if failure.progress == .refused || failure.wasNotProcessed && isServing {
            // This does not count as an attempt.
            attempts -= 1
            refusals = isServing ? 0 : refusals + 1
        } else if isServing {
            attempts -= 1
            lossesWhileServing = lost.lossesWhileServing
        }
        return decision
    }
}

extension ExchangeFailure {
    /// Whether the server has provably not processed the request.
    fileprivate var wasNotProcessed: Bool { progress == .refused || progress == .unsent }
}
