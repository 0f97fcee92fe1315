internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Connects to a host: name resolution, socket, and a tunnel through a proxy if the route has one. Starts again while
/// the process has no descriptor. Confined to the pool's loop. Reports the outcome once, never within `start`, and
/// nothing after `cancel`.
final class TransportConnector {
    private let key: ConnectionKey
    private let pool: ConnectionPool
    /// Nil for those of the pool.
    private let destinations: ConnectionDestinations?
    private weak var challengeDelegate: (any ConnectionChallengeDelegate)?
    /// Whether the host may send before the client does.
    private let serverMaySpeakFirst: Bool
    private var outcome: ((Result<ByteStream, ConnectionFailure>) -> Void)?
    private var race: AddressRace<ByteStream>?
    private var handshake: SecureHandshake?
    private var tunnel: ProxyTunnel?
    private let descriptorWait: DescriptorWait
    /// Whether a connection was made before all addresses of the host or the proxy were known.
    private(set) var mayHaveMoreAddresses = false
    /// When the current phase started.
    private var phaseBeginning: Int64 = 0
    /// When the host or the proxy accepted the connection.
    private var acceptance: Int64 = 0
    /// The credentials for the first request of the next connection to the proxy.
    private var introduction: ProxyTunnel.Introduction?

    /// Called at the start of the first try and of each further one.
    var onBeginning: (() -> Void)?
    var onEvent: ((LoadEvent.Kind) -> Void)?
    /// The addresses of the host's name. The callee may cancel the connector.
    var onAddresses: (([SocketAddress]) -> Void)?

    init(
        to key: ConnectionKey, in pool: ConnectionPool, destinations: ConnectionDestinations? = nil,
        serverMaySpeakFirst: Bool = false, for challengeDelegate: (any ConnectionChallengeDelegate)?,
        outcome: @escaping (Result<ByteStream, ConnectionFailure>) -> Void
    ) {
        self.key = key
        self.pool = pool
        self.destinations = destinations
        self.serverMaySpeakFirst = serverMaySpeakFirst
        self.challengeDelegate = challengeDelegate
        self.outcome = outcome
        descriptorWait = DescriptorWait(pool)
    }

    /// - Parameter awaitsServices: Whether connecting waits for `servicesKnown`, up to a short time limit.
    func start(awaitsServices: Bool = false) {
        onBeginning?()
        if key.proxyMode != nil, key.service.requiresDNSSEC, NameResolver.needsNameServer(key.host) {
            // A proxy that resolves the host gives no proof of DNSSEC validation, and the name of a forwarding proxy is
            // not validated either.
            var failure = ConnectionFailure(.cannotFindHost)
            if case .forwarding = key.proxyMode { failure.permitsNextRoute = true }
            return pool.loop.runLater { [failure] in self.fail(failure) }
        }
        phaseBeginning = pool.loop.now
        let race = AddressRace(
            to: key.firstHop, on: pool.loop, resolver: pool.resolver, awaitsServices: awaitsServices,
            avoiding: pool.silentAddresses.listed(at: pool.loop.now), destinations: destinations ?? pool.destinations)
        self.race = race
        race.onAddresses = { [weak self] in self?.onAddresses?($0) }
        race.start(record: { [weak self] in self?.onEvent?($0) }) { [weak self] in self?.raceEnded($0) }
    }

    /// Starts when a descriptor may be free.
    func startLater() { descriptorWait.begin { [weak self] in self?.start() } }

    /// Whether no address was tried yet.
    var isResolving: Bool { race?.hasBegun == false }

    var pendingPhase: PendingPhase? {
        if let race {
            return race.hasBegun
                ? PendingPhase(phase: .connection, since: race.firstConnectTime)
                : PendingPhase(phase: .resolution, since: phaseBeginning)
        }
        if handshake == nil, tunnel == nil { return nil }
        return PendingPhase(phase: tunnel == nil ? .connection : .tunnel, since: phaseBeginning)
    }

    /// The loop's time of the last activity of the host or the proxy: it accepted the connection, or sent bytes.
    /// 0 before the first.
    var lastArrival: Int64 { max(acceptance, handshake?.lastArrival ?? tunnel?.lastArrival ?? 0) }

    /// The lookup of services has ended and does not change this connector.
    func servicesKnown() { race?.servicesKnown() }

    func cancel() {
        outcome = nil
        descriptorWait.end()
        race?.cancel()
        race = nil
        handshake?.cancel()
        handshake = nil
        tunnel?.cancel()
        tunnel = nil
    }

    /// Another request waits for the connection now.
    func challengeDelegateChanged() {
        handshake?.challengeDelegateChanged()
        tunnel?.challengeDelegateChanged()
    }

    private func raceEnded(_ result: Result<ByteStream, LoadError>) {
        mayHaveMoreAddresses = race?.mayHaveMoreAddresses == true
        race = nil
        switch result {
        case .failure(let error) where error.isDescriptorShortage: startLater()
        case .failure(let error):
            if let proxyMode = key.proxyMode {
                return fail(ConnectionFailure(.unreachable(proxyMode.service, error), of: proxyMode.server))
            }
            var failure = ConnectionFailure(error)
            failure.permitsNextRoute = true
            fail(failure)
        case .success(let stream):
            acceptance = pool.loop.now
            onEvent?(.connectEnded)
            guard case .tunnel(let proxy) = key.proxyMode else { return succeed(stream) }
            if proxy.kind == .https { secure(stream, proxy) } else { openTunnel(stream, proxy) }
        }
    }

    /// The TLS handshake with an https proxy.
    private func secure(_ stream: ByteStream, _ proxy: ProxyServer) {
        phaseBeginning = pool.loop.now
        let handshake = SecureHandshake(
            stream, to: key.firstHop, with: pool.security, carriesHTTP: true, for: challengeDelegate
        ) { [weak self] result in
            guard let self else { return }
            if let result = self.handshake?.trustResult { onEvent?(.serverTrust(result)) }
            self.handshake = nil
            switch result {
            case .success(let stream): openTunnel(stream, proxy)
            case .failure(let error) where error.isDescriptorShortage: startLater()
            case .failure(let error): fail(ConnectionFailure(error, inHandshakeWith: proxy))
            }
        }
        self.handshake = handshake
        handshake.start()
    }

    private func openTunnel(_ stream: ByteStream, _ proxy: ProxyServer) {
        phaseBeginning = pool.loop.now
        let tunnel = ProxyTunnel(
            over: stream, to: key, by: proxy, serverMaySpeakFirst: serverMaySpeakFirst, introduction: introduction,
            for: challengeDelegate
        ) {
            [weak self] result in
            guard let self else { return }
            self.tunnel = nil
            introduction = nil
            switch result {
            case .open(let stream): succeed(stream)
            case .failed(let failure): fail(ConnectionFailure(failure, of: proxy))
            case .again(let introduction):
                self.introduction = introduction
                start()
            }
        }
        self.tunnel = tunnel
        tunnel.start()
    }

    private func succeed(_ stream: ByteStream) { outcome?(.success(stream)) }

    private func fail(_ failure: ConnectionFailure) { outcome?(.failure(failure)) }
}
