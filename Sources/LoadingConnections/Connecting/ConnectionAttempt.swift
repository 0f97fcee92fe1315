internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one connection for a pool: name, address, socket, a way through a proxy, TLS. Confined to the pool's loop; ends
/// with exactly one call of the pool's `succeeded` or `failed`, never within `start`, and with none after `cancel`.
final class ConnectionAttempt: SecurityAsker {
    let home: OriginConnections
    /// For whom it was started, as long as he waits.
    private(set) var request: ConnectionRequest?
    private(set) var events: [LoadEvent] = []
    private let pool: ConnectionPool
    private var dial: Dial?
    private var secure: SecureHandshake?
    private let descriptorWait: DescriptorWait
    private var hasEnded = false
    /// When it was begun, and how often connections had been given up by then.
    let beginning: Int64
    let generation: Int
    /// Whether somebody was asked about the connection.
    private(set) var hasAsked = false
    /// Whether somebody is asked about the connection, which stands still meanwhile.
    private(set) var isAsking = false

    init(for request: ConnectionRequest, at home: OriginConnections, pool: ConnectionPool) {
        self.request = request
        self.home = home
        self.pool = pool
        descriptorWait = DescriptorWait(pool)
        beginning = pool.loop.now
        generation = pool.generation
    }

    func start() {
        let dial = dial ?? makeDial()
        self.dial = dial
        dial.start()
        // The first use of TLS takes milliseconds, which pass here while the name is looked up. A failure comes again.
        if home.origin.isSecure { _ = try? pool.security.context() }
    }

    private func makeDial() -> Dial {
        let dial = Dial(to: home.origin, in: pool, for: self) { [weak self] in self?.dialEnded($0) }
        // Only the last try is told of: there may be any number of them.
        dial.onBeginning = { [weak self] in self?.events = [] }
        dial.onEvent = { [weak self] in self?.record($0) }
        return dial
    }

    func cancel() {
        guard !hasEnded else { return }
        hasEnded = true
        dial?.cancel()
        dial = nil
        secure?.cancel()
        secure = nil
        descriptorWait.end()
    }

    /// Somebody else waits for the connection now, or nobody for the moment.
    func setRequest(_ request: ConnectionRequest?) {
        self.request = request
        guard request != nil else { return }
        dial?.askerChanged()
        secure?.askerChanged()
    }

    var tunnelSpeaker: (any TunnelSpeaker)? { request?.taker?.tunnelSpeaker }

    func handshakeAsks(_ question: SecurityQuestion) -> Bool {
        isAsking = request?.taker?.connectionAsks(question) ?? false
        if isAsking { hasAsked = true }
        return isAsking
    }

    func handshakeGoesOn() {
        isAsking = false
        request?.taker?.connectionIsBeingMade()
        for other in home.sharing(self) { other.taker?.connectionIsBeingMade() }
    }

    private func record(_ kind: LoadEvent.Kind) {
        events.append(LoadEvent(time: EventLog.now, kind: kind))
    }

    private func dialEnded(_ outcome: Result<ByteStream, Dial.Failure>) {
        guard !hasEnded else { return }
        switch outcome {
        case .failure(.noDescriptor): waitForDescriptor()
        case .failure(.lost(let failure)): fail(failure)
        case .success(let stream):
            dial = nil
            secure(stream)
        }
    }

    private func secure(_ stream: ByteStream) {
        guard home.origin.isSecure else { return succeed(stream) }
        record(.secureConnectionStarted)
        secure = SecureHandshake(stream, to: home.origin, with: pool.security, carriesHTTP: true, for: self) {
            [weak self] in
            self?.handshakeEnded($0)
        }
        secure?.start()
    }

    private func waitForDescriptor() {
        descriptorWait.begin { [weak self] in self?.start() }
    }

    private func handshakeEnded(_ outcome: Result<ByteStream, LoadError>) {
        guard !hasEnded else { return }
        secure = nil
        switch outcome {
        case .failure(let error) where error.cause == .posix(EMFILE) || error.cause == .posix(ENFILE):
            // The roots that the server's certificate is judged by could not be read.
            waitForDescriptor()
        case .failure(let error): fail(ConnectionFailure(error))
        case .success(let stream):
            if let session = stream.tls?.session {
                record(.secureConnectionEnded(version: session.version.rawValue, cipherSuite: session.cipherSuite))
            }
            succeed(stream)
        }
    }

    private func succeed(_ stream: ByteStream) {
        hasEnded = true
        pool.succeeded(self, with: stream)
    }

    private func fail(_ failure: ConnectionFailure) {
        hasEnded = true
        pool.failed(self, with: failure)
    }
}
