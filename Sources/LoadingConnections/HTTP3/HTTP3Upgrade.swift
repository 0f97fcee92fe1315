internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Tries HTTP/3 for an origin that is already reached over another version (CONN-8). One request waits for it for a
/// short time, then uses the other connections. The upgrade continues to its own end, because only that shows whether
/// HTTP/3 works there. The same applies to an attempt that was started in parallel with TCP and was slower.
///
/// No challenge is issued unless a request waits for it. A connection whose handshake is complete while no request
/// waits is held until a request arrives, at most for the idle timeout of a connection.
///
/// Confined to the pool's loop and owned by its origin. Ends with exactly one call of the pool's `succeeded` or
/// `failed`, never within `start` or `goOn`, and with no call after `cancel`.
final class HTTP3Upgrade: ConnectionChallengeDelegate, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    /// The request that waits for the connection.
    private(set) var request: ConnectionRequest?
    /// Whether a request stopped waiting, or the upgrade began without one.
    private(set) var wasLeft: Bool
    /// The pool's generation when the upgrade began. It increases when connections are flushed.
    let generation: Int
    private let pool: ConnectionPool
    private var attempt: HTTP3Attempt?
    /// Whether the open challenge may require a second handshake.
    private var mayHandshakeAgain = false
    private let timer = LoopTimer()

    init(
        to service: AlternativeService, for request: ConnectionRequest, at primaryOrigin: OriginConnections,
        pool: ConnectionPool
    ) {
        self.request = request
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        generation = pool.generation
        wasLeft = false
        attempt = HTTP3Attempt(to: service, for: primaryOrigin, pool: pool, challengeDelegate: self)
    }

    /// Continues an attempt whose initiator got another connection.
    init(with attempt: HTTP3Attempt, of generation: Int, at primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.attempt = attempt
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        self.generation = generation
        wasLeft = true
    }

    func start() {
        attempt?.early = { [weak self] in self?.request }
        pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.http3UpgradeTimeout, for: self)
        attempt?.start { [weak self] in
            self?.handshakeIsThrough()
        } outcome: { [weak self] in
            self?.ended($0)
        }
    }

    func goOn() {
        pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
        attempt?.pass(to: self) { [weak self] in
            self?.request
        } completed: { [weak self] in
            self?.handshakeIsThrough()
        } outcome: { [weak self] in
            self?.ended($0)
        }
    }

    func cancel() {
        pool.loop.disarm(timer)
        attempt?.cancel()
        attempt = nil
    }

    /// The events of the attempt, if its request still waits for it.
    var events: [LoadEvent] { wasLeft ? [] : attempt?.events ?? [] }

    /// The held connection, which is ready except for a request.
    var held: HTTP3Connection? { attempt?.held }

    // MARK: The waiting request

    /// Its request is served by another connection, or was cancelled.
    func leave() {
        request?.upgrade = nil
        request = nil
        wasLeft = true
        attempt?.hold()
        pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
    }

    /// A request waits for the held connection now.
    func join(_ request: ConnectionRequest) {
        self.request = request
        pool.loop.disarm(timer)
        request.delegate?.connectionIsBeingMade()
        attempt?.challengeDelegateChanged()
    }

    func timerFired(_ timer: LoopTimer) {
        if request != nil { return pool.isLate(self) }
        // No request arrived for the held connection, or the attempt did not complete in time.
        if held == nil {
            attempt?.blamePlace(for: HTTP3AttemptFailure(error: .timedOut, isRefusal: false))
        }
        cancel()
        pool.failed(self)
    }

    var proxyAuthorizer: (any ProxyAuthorizer)? { request?.delegate?.proxyAuthorizer }

    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool {
        // A user's answer may take long.
        if request != nil { pool.loop.disarm(timer) }
        if case .clientCertificate = question.subject { mayHandshakeAgain = true }
        return request?.delegate?.connectionReceived(challenge: question) ?? false
    }

    func handshakeContinues() {
        request?.delegate?.connectionIsBeingMade()
        if mayHandshakeAgain, request != nil {
            pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.http3UpgradeTimeout, for: self)
        }
    }

    // MARK: Completion

    /// Only the trust decision remains, which may need the user. The timeout does not apply to it.
    private func handshakeIsThrough() {
        if request != nil { pool.loop.disarm(timer) }
    }

    private func ended(_ outcome: Result<HTTP3Connection, HTTP3AttemptFailure>) {
        let events = events
        pool.loop.disarm(timer)
        let attempt = attempt
        self.attempt = nil
        switch outcome {
        case .success(let connection): pool.succeeded(self, with: connection, events: events)
        case .failure(let failure):
            attempt?.blamePlace(for: failure)
            pool.failed(self)
        }
    }
}
