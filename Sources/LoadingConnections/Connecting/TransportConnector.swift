internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Reaches a host: name, address, socket, and a way through a proxy where one leads there. Confined to the pool's loop;
/// tells the outcome once for each `start`, never within it, and nothing after `cancel`.
final class TransportConnector {
    enum Failure: Error {
        case noDescriptor
        case lost(ConnectionFailure)
    }

    private let origin: ConnectionKey
    private let pool: ConnectionPool
    private weak var challengeDelegate: (any ConnectionChallengeDelegate)?
    /// Whether the host may speak first.
    private let isGreeted: Bool
    private var outcome: ((Result<ByteStream, Failure>) -> Void)?
    private var race: AddressRace<ByteStream>?
    private var handshake: SecureHandshake?
    private var tunnel: ProxyTunnel?
    /// When the step that is under way was begun.
    private var stepBeginning: Int64 = 0
    /// What the proxy is told on the next connection to it.
    private var introduction: ProxyTunnel.Introduction?

    /// A try begins, the first one or another.
    var onBeginning: (() -> Void)?
    var onEvent: ((LoadEvent.Kind) -> Void)?
    /// What the name of the host leads to. It may be cancelled from within.
    var onAddresses: (([SocketAddress]) -> Void)?

    init(
        to origin: ConnectionKey, in pool: ConnectionPool, isGreeted: Bool = false,
        for challengeDelegate: (any ConnectionChallengeDelegate)?,
        outcome: @escaping (Result<ByteStream, Failure>) -> Void
    ) {
        self.origin = origin
        self.pool = pool
        self.isGreeted = isGreeted
        self.challengeDelegate = challengeDelegate
        self.outcome = outcome
    }

    /// - Parameter awaitsServices: Whether it connects to nothing before `servicesKnown`, for a moment.
    func start(awaitsServices: Bool = false) {
        onBeginning?()
        if origin.proxyMode != nil, origin.service.requiresDNSSEC, !NameResolver.needsNoNameServer(origin.host) {
            // A proxy that is to find the host proves nothing to us; and one that loads the request is not found itself.
            var failure = ConnectionFailure(.cannotFindHost)
            if case .forwarding = origin.proxyMode { failure.permitsNextRoute = true }
            let told = LoopBox((self, failure))
            return pool.loop.post { told.value.0.fail(told.value.1) }
        }
        stepBeginning = pool.loop.now
        let race = AddressRace(
            to: origin.firstHop, on: pool.loop, resolver: pool.resolver, awaitsServices: awaitsServices)
        self.race = race
        race.onAddresses = { [weak self] in self?.onAddresses?($0) }
        race.start(record: { [weak self] in self?.onEvent?($0) }) { [weak self] in self?.raceEnded($0) }
    }

    /// Whether no address was gone to yet.
    var isResolving: Bool { race?.hasBegun == false }

    /// The step that the first hop has not completed, and since when; nil if something else is awaited.
    var awaits: PendingPhase? {
        if let race {
            return race.hasBegun
                ? PendingPhase(step: .connection, since: race.firstConnectTime)
                : PendingPhase(step: .resolution, since: stepBeginning)
        }
        if handshake == nil, tunnel == nil { return nil }
        return PendingPhase(step: tunnel == nil ? .connection : .tunnel, since: stepBeginning)
    }

    /// What services there are is known, and changes nothing here.
    func servicesKnown() { race?.servicesKnown() }

    func cancel() {
        outcome = nil
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

    private func raceEnded(_ result: Result<ByteStream, AddressRaceFailure>) {
        race = nil
        switch result {
        case .failure(.noDescriptor): outcome?(.failure(.noDescriptor))
        case .failure(.unreachable(let error)):
            if let proxyMode = origin.proxyMode {
                return fail(ConnectionFailure(.unreachable(proxyMode.service, error), of: proxyMode.server))
            }
            var failure = ConnectionFailure(error)
            failure.permitsNextRoute = true
            fail(failure)
        case .success(let stream):
            onEvent?(.connectEnded)
            guard case .tunnel(let proxy) = origin.proxyMode else { return succeed(stream) }
            if proxy.kind == .https { secure(stream, proxy) } else { openTunnel(stream, proxy) }
        }
    }

    /// TLS that ends at the proxy.
    private func secure(_ stream: ByteStream, _ proxy: ProxyServer) {
        stepBeginning = pool.loop.now
        let handshake = SecureHandshake(
            stream, to: origin.firstHop, with: pool.security, carriesHTTP: true, for: challengeDelegate
        ) { [weak self] result in
            guard let self else { return }
            self.handshake = nil
            switch result {
            case .success(let stream): openTunnel(stream, proxy)
            case .failure(let error) where error.isDescriptorShortage:
                outcome?(.failure(.noDescriptor))
            case .failure(let error): fail(ConnectionFailure(error, inHandshakeWith: proxy))
            }
        }
        self.handshake = handshake
        handshake.start()
    }

    private func openTunnel(_ stream: ByteStream, _ proxy: ProxyServer) {
        stepBeginning = pool.loop.now
        let tunnel = ProxyTunnel(
            over: stream, to: origin, by: proxy, isGreeted: isGreeted, introduction: introduction,
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

    private func fail(_ failure: ConnectionFailure) { outcome?(.failure(.lost(failure))) }
}
