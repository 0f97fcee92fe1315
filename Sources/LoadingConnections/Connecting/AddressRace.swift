internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Finds the first address of an origin that answers. Runs `HappyEyeballs` with the resolver, a timer, and one
/// candidate for each address (a TCP connection or a QUIC handshake). Confined to its loop. Reports the outcome once,
/// never within `start`, and nothing after `cancel`. A failure is a descriptor shortage also if there is no thread for
/// the lookup.
///
/// If the addresses are from the resolver's cache, and none answers for a second, the name is resolved again, and those
/// addresses that are new are tried too.
final class AddressRace<Candidate: AnyObject & SendableMetatype>: LoopTimerTarget {
    /// Starts a candidate for an address. Its outcome is reported once, never before this returns.
    typealias Begin = (SocketAddress, @escaping (LoadError?) -> Void) throws(POSIXFailure) -> Candidate
    /// The same for a local socket.
    typealias BeginLocally = (String, @escaping (LoadError?) -> Void) throws(POSIXFailure) -> Candidate

    private let begin: Begin
    /// The first candidate that succeeds wins, and the others are closed. No requirement of a protocol, because the
    /// runtime would search all conformances for it with a process's first race.
    private let close: (Candidate) -> Void
    private let key: ConnectionKey
    private let destinations: ConnectionDestinations
    /// The host and port that is connected to: those of the key, unless the session has other ones for it.
    private let hostPort: HostPort
    private let beginLocally: BeginLocally?
    private let loop: EventLoop
    private let resolver: NameResolver
    private let literal: SocketAddress?
    private var eyeballs: HappyEyeballs
    private var running: [HappyEyeballs.Attempt: Candidate] = .withRoom()
    private let timer = LoopTimer()
    private var record: ((LoadEvent.Kind) -> Void)?
    /// Called with the addresses of a name before any of them is tried. The callee may cancel the race.
    var onAddresses: (([SocketAddress]) -> Void)?
    private var outcome: ((Result<Candidate, LoadError>) -> Void)?
    private var tickets: [QueryTicket] = []
    private var resolvedCount = 0
    private var unresolvedFamilies = 0
    /// Few, so that an array costs less than a set.
    private var tried: [SocketAddress] = []
    private(set) var firstConnectTime: Int64 = .max

    /// - Parameters:
    ///   - key: Its name is resolved, and its port is added to the addresses.
    ///   - awaitsServices: Whether connecting waits for `servicesKnown`, up to a short time limit.
    ///   - avoided: Addresses that are tried last.
    init(
        to key: ConnectionKey, on loop: EventLoop, resolver: NameResolver, awaitsServices: Bool = false,
        avoiding avoided: Set<SocketAddress> = [],
        destinations: ConnectionDestinations = ConnectionDestinations(), close: @escaping (Candidate) -> Void,
        beginLocally: BeginLocally? = nil, begin: @escaping Begin
    ) {
        self.begin = begin
        self.close = close
        self.beginLocally = beginLocally
        self.key = key
        self.destinations = destinations
        self.loop = loop
        self.resolver = resolver
        hostPort = destinations.destination(of: key.hostPort)
        literal = SocketAddress(literal: hostPort.host, port: hostPort.port)
        eyeballs = HappyEyeballs(
            families: literal.map { [$0.family] } ?? destinations.addressFamilies, awaitsServices: awaitsServices,
            avoiding: avoided, limits: loop.limits)
    }

    func start(
        record: @escaping (LoadEvent.Kind) -> Void, outcome: @escaping (Result<Candidate, LoadError>) -> Void
    ) {
        self.record = record
        self.outcome = outcome
        if let path = destinations.socketPath { return connect(locally: path) }
        if let literal {
            guard destinations.addressFamilies.contains(literal.family) else {
                return fail(.connectionAttemptFailed(EAFNOSUPPORT))
            }
            return perform(.resolved(literal.family, [literal]))
        }
        if let literals = destinations.addresses(of: hostPort) { return connect(toGiven: literals) }
        if key.service.requiresDNSSEC, !NameResolver.isLocal(hostPort.host) {
            // The resolver does not validate DNSSEC (CONN-20).
            return fail(.cannotFindHost)
        }
        record(.resolutionStarted(host: hostPort.host))
        resolve()
    }

    func cancel() {
        if !running.isEmpty, !eyeballs.hasResolvedAgain, loop.now &- firstConnectTime > loop.limits.addressSilence {
            resolver.forget(hostPort.host)
        }
        outcome = nil
        perform(.cancelled)
        stop()
    }

    /// Whether the name may have more addresses than those that were found.
    var mayHaveMoreAddresses: Bool { unresolvedFamilies > 0 }

    /// Whether at least one address was tried.
    var hasBegun: Bool { !tried.isEmpty }

    /// The lookup of services has ended and does not change this race.
    func servicesKnown() { perform(.servicesKnown) }

    // MARK: Names

    private func resolve() {
        for family in [SocketAddress.Family.ipv6, .ipv4] where destinations.addressFamilies.contains(family) {
            unresolvedFamilies += 1
            let box = LoopBox(self)
            let ticket = resolver.resolve(
                AddressQuery(hostPort.host, family), on: loop, usesCache: !eyeballs.hasResolvedAgain
            ) { answer, isRemembered in
                box.value.resolved(family, answer, isRemembered: isRemembered)
            }
            tickets.append(ticket)
        }
    }

    private func resolved(_ family: SocketAddress.Family, _ answer: AddressAnswer, isRemembered: Bool) {
        guard outcome != nil else { return }
        unresolvedFamilies -= 1
        switch answer {
        case .success(let addresses):
            resolvedCount += addresses.count
            // The first usable answer ends the phase; the other may arrive while a connect is in progress.
            if resolvedCount == addresses.count { recordResolution() }
            if !addresses.isEmpty { onAddresses?(addresses) }
            guard outcome != nil else { return }
            let new = addresses.map { $0.with(port: hostPort.port) }.filter { !tried.contains($0) }
            perform(.resolved(family, new, isCached: isRemembered))
        case .failure(let failure) where resolvedCount == 0 && running.isEmpty && failure.isLackOfMeans:
            // The resolver needs descriptors and threads too.
            end(.failure(.connectionAttemptFailed(EMFILE)))
        case .failure(let failure):
            if unresolvedFamilies == 0, resolvedCount == 0 { recordResolution() }
            perform(.resolutionFailed(family, error(for: failure)))
        }
    }

    /// The resolution phase is recorded once: a later resolution is part of the time for connecting.
    private func recordResolution() {
        if !eyeballs.hasResolvedAgain { record?(.resolutionEnded(addresses: resolvedCount)) }
    }

    /// If no name server is reachable and there is no route, the error is that of a missing network (CONN-12).
    private func error(for failure: NameFailure) -> LoadError {
        guard failure.isTemporary, !RouteWatch.hasRoute else { return .cannotFindHost(failure.code) }
        return LoadError(code: LoadError.notConnectedToInternet.code, cause: .dns(failure.code))
    }

    /// No address answers: the next request resolves the name again.
    private func failedAll(_ error: LoadError) {
        if resolvedCount > 0, error.code != LoadError.notConnectedToInternet.code { resolver.forget(hostPort.host) }
        end(.failure(error))
    }

    private func resolveAgain() {
        // The next request asks anew too, if this one ends before its answers are there.
        resolver.forget(hostPort.host)
        resolvedCount = 0
        tickets = []
        resolve()
    }

    // MARK: Addresses

    private func perform(_ input: HappyEyeballs.Input) {
        for action in eyeballs.handle(input, at: loop.now) {
            switch action {
            case .connect(let attempt, let address): connect(attempt, to: address)
            case .resolveAgain: resolveAgain()
            case .abandon(let attempt): closeCandidate(of: attempt)
            case .setDeadline(let time): loop.arm(timer, at: time, for: self)
            case .clearDeadline: loop.disarm(timer)
            case .succeeded(let attempt):
                guard let candidate = running.removeValue(forKey: attempt) else { continue }
                end(.success(candidate))
            case .failed(let error): failedAll(error)
            }
        }
    }

    private func connect(_ attempt: HappyEyeballs.Attempt, to address: SocketAddress) {
        // Before the event, whose receiver may advance a stepped clock.
        firstConnectTime = min(firstConnectTime, loop.now)
        record?(.connectStarted(address: "\(address)"))
        tried.append(address)
        do throws(POSIXFailure) {
            // The candidate retains the race until it has ended.
            running[attempt] = try begin(address) { [self] failure in ended(attempt, failure) }
        } catch {
            // Reported in a later turn, so that many requests to an unreachable address do not recurse.
            loop.runLater { self.ended(attempt, .connectionAttemptFailed(error.code)) }
        }
    }

    private func ended(_ attempt: HappyEyeballs.Attempt, _ failure: LoadError?) {
        guard outcome != nil else { return }
        guard let failure else { return perform(.attemptSucceeded(attempt)) }
        closeCandidate(of: attempt)
        if failure.isDescriptorShortage { return end(.failure(failure)) }
        perform(.attemptFailed(attempt, failure))
    }

    private func closeCandidate(of attempt: HappyEyeballs.Attempt) {
        if let candidate = running.removeValue(forKey: attempt) { close(candidate) }
    }

    func timerFired(_ timer: LoopTimer) { perform(.deadline) }

    // MARK: Given destinations

    /// Tries the addresses that the session has for the host, without a query.
    private func connect(toGiven literals: [String]) {
        let families = destinations.addressFamilies
        let given = literals.compactMap { SocketAddress(literal: $0, port: hostPort.port) }
            .filter { families.contains($0.family) }
        guard !given.isEmpty else { return fail(.cannotFindHost) }
        for family in [SocketAddress.Family.ipv6, .ipv4] where families.contains(family) {
            perform(.resolved(family, given.filter { $0.family == family }))
        }
    }

    private func connect(locally path: String) {
        guard let beginLocally else { return fail(.connectionAttemptFailed(EPROTONOSUPPORT)) }
        record?(.connectStarted(address: path))
        firstConnectTime = loop.now
        do throws(POSIXFailure) {
            let candidate = try beginLocally(path) { [self] failure in
                guard outcome != nil, let candidate = running.removeValue(forKey: 0) else { return }
                guard let failure else { return end(.success(candidate)) }
                close(candidate)
                end(.failure(failure))
            }
            running[0] = candidate
        } catch {
            fail(.connectionAttemptFailed(error.code))
        }
    }

    /// Reports a failure in a later turn.
    private func fail(_ error: LoadError) {
        loop.runLater { self.end(.failure(error)) }
    }

    // MARK: The end

    private func end(_ result: Result<Candidate, LoadError>) {
        let outcome = outcome
        self.outcome = nil
        stop()
        outcome?(result)
    }

    private func stop() {
        record = nil
        loop.disarm(timer)
        for ticket in tickets { ticket.withdraw() }
        tickets = []
        for candidate in running.values { close(candidate) }
        running = [:]
    }
}

extension AddressRace<ByteStream> {
    /// A race of TCP connections.
    convenience init(
        to key: ConnectionKey, on loop: EventLoop, resolver: NameResolver, awaitsServices: Bool = false,
        avoiding avoided: Set<SocketAddress> = [],
        destinations: ConnectionDestinations = ConnectionDestinations()
    ) {
        self.init(
            to: key, on: loop, resolver: resolver, awaitsServices: awaitsServices, avoiding: avoided,
            destinations: destinations, close: { $0.close() },
            beginLocally: { path, connected throws(POSIXFailure) in
                try ByteStream.connect(toPath: path, on: loop, owner: ConnectingStream(connected))
            },
            begin: { address, connected throws(POSIXFailure) in
                try ByteStream.connect(
                    to: address, treatedAs: key.service, on: loop, owner: ConnectingStream(connected))
            })
    }
}

/// Owns a stream while it connects.
private final class ConnectingStream: ByteStreamOwner {
    private let connected: (LoadError?) -> Void

    init(_ connected: @escaping (LoadError?) -> Void) { self.connected = connected }

    func streamBecameReady(_ stream: ByteStream) {
        switch stream.finishConnecting() {
        case nil: break
        case .success: connected(nil)
        case .failure(let failure): connected(.connectionAttemptFailed(failure.code))
        }
    }
}

extension ConnectionDestinations {
    fileprivate var addressFamilies: [SocketAddress.Family] {
        switch families {
        case .all: [.ipv4, .ipv6]
        case .ipv4: [.ipv4]
        case .ipv6: [.ipv6]
        }
    }
}
