internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Tries HTTP/3 for an origin that is reached by another version already (CONN-8). One request waits for it, for a moment;
/// then that has what else there is, and this goes on to its own end, which alone tells whether HTTP/3 works there. So does
/// what was begun beside TCP, and was slower.
///
/// Nobody is asked about a server on behalf of nobody. So a connection whose handshake is through while no request waits for
/// it is put by until one comes, or nobody has come for as long as an idle connection is kept.
///
/// Confined to the pool's loop, owned by its origin; ends with exactly one call of the pool's `succeeded` or `failed`, never
/// within `start` or `goOn`, and with none after `cancel`.
final class HTTP3Upgrade: SecurityAsker, LoopTimerTarget {
    let home: OriginConnections
    /// Who waits for it.
    private(set) var request: ConnectionRequest?
    /// Whether somebody has waited for it and does not any more.
    private(set) var wasLeft: Bool
    /// How often connections had been given up when it was begun.
    let generation: Int
    private let pool: ConnectionPool
    private var attempt: HTTP3Attempt?
    /// Whether what is asked for may cost a second handshake.
    private var mayHandshakeAgain = false
    private let timer = LoopTimer()

    init(
        to service: AlternativeService, for request: ConnectionRequest, at home: OriginConnections,
        pool: ConnectionPool
    ) {
        self.request = request
        self.home = home
        self.pool = pool
        generation = pool.generation
        wasLeft = false
        attempt = HTTP3Attempt(to: service, for: home, pool: pool, asker: self)
    }

    /// Goes on with what was begun for an attempt that has come to something otherwise.
    init(with attempt: HTTP3Attempt, of generation: Int, at home: OriginConnections, pool: ConnectionPool) {
        self.attempt = attempt
        self.home = home
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

    /// What has happened of what the request has waited for.
    var events: [LoadEvent] { wasLeft ? [] : attempt?.events ?? [] }

    /// The connection that lacks nothing but a request.
    var held: HTTP3Connection? { attempt?.held }

    // MARK: Who waits

    /// Its request is served otherwise, or is no more.
    func leave() {
        request?.upgrade = nil
        request = nil
        wasLeft = true
        attempt?.hold()
        pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
    }

    /// A request waits for the connection that is held.
    func join(_ request: ConnectionRequest) {
        self.request = request
        pool.loop.disarm(timer)
        request.taker?.connectionIsBeingMade()
        attempt?.askerChanged()
    }

    func timerFired(_ timer: LoopTimer) {
        if request != nil { return pool.isLate(self) }
        // Nobody has come for it, or it has come to no end of its own.
        if held == nil {
            attempt?.blamePlace(for: HTTP3AttemptFailure(error: .timedOut, isRefusal: false))
        }
        cancel()
        pool.failed(self)
    }

    var tunnelSpeaker: (any TunnelSpeaker)? { request?.taker?.tunnelSpeaker }

    func handshakeAsks(_ question: SecurityQuestion) -> Bool {
        // People take their time.
        if request != nil { pool.loop.disarm(timer) }
        if case .clientCertificate = question.subject { mayHandshakeAgain = true }
        return request?.taker?.connectionAsks(question) ?? false
    }

    func handshakeGoesOn() {
        request?.taker?.connectionIsBeingMade()
        if mayHandshakeAgain, request != nil {
            pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.http3UpgradeTimeout, for: self)
        }
    }

    // MARK: What comes of it

    /// What is left is to evaluate the server, and mostly for people to decide.
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
