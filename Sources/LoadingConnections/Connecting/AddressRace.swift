internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Finds the first of an origin's addresses that answers: does what `HappyEyeballs` says, with the resolver, something
/// that is begun with each address (a TCP connection, a QUIC handshake), and a timer. Confined to its loop; tells the outcome once, never within `start`, and nothing after `cancel`.
///
/// When none of the addresses answers and the resolver had them from memory, the name is asked anew, and what is new
/// among the addresses is tried.
final class AddressRace<Candidate: AddressRaceCandidate>: LoopTimerTarget {
    typealias Failure = AddressRaceFailure
    /// Begins with an address. How that ends is told once, and never before it returns.
    typealias Begin = (SocketAddress, @escaping (LoadError?) -> Void) throws(POSIXFailure) -> Candidate

    private let begin: Begin
    private let origin: ConnectionKey
    private let loop: EventLoop
    private let resolver: NameResolver
    private let literal: SocketAddress?
    private var eyeballs: HappyEyeballs
    private var running: [HappyEyeballs.Attempt: Candidate] = [:]
    private let timer = LoopTimer()
    private var record: ((LoadEvent.Kind) -> Void)?
    /// Told what a name leads to, before it is gone there. The race may be cancelled from within.
    var onAddresses: (([SocketAddress]) -> Void)?
    private var outcome: ((Result<Candidate, Failure>) -> Void)?
    private var tickets: [NameResolver.Ticket] = []
    private var resolvedCount = 0
    private var unresolvedFamilies = 0
    private var hasRememberedAddresses = false
    private var tried: Set<SocketAddress> = []
    private(set) var firstConnectTime: Int64 = .max
    /// What became of the remembered addresses, once the name is asked anew.
    private var rememberedFailure: LoadError?

    /// - Parameters:
    ///   - origin: Its name is looked up, and the addresses get its port.
    ///   - awaitsServices: Whether nothing is begun before `servicesKnown`, for a moment.
    init(
        to origin: ConnectionKey, on loop: EventLoop, resolver: NameResolver, awaitsServices: Bool = false,
        begin: @escaping Begin
    ) {
        self.begin = begin
        self.origin = origin
        self.loop = loop
        self.resolver = resolver
        literal = SocketAddress(literal: origin.host, port: origin.port)
        eyeballs = HappyEyeballs(
            families: literal.map { [$0.family] } ?? [.ipv4, .ipv6], awaitsServices: awaitsServices,
            limits: loop.limits)
    }

    func start(
        record: @escaping (LoadEvent.Kind) -> Void, outcome: @escaping (Result<Candidate, Failure>) -> Void
    ) {
        self.record = record
        self.outcome = outcome
        if let literal { return perform(.resolved(literal.family, [literal])) }
        if origin.service.requiresDNSSEC, !NameResolver.isLocal(origin.host) {
            // No resolver here validates DNSSEC (CONN-20).
            let box = LoopBox(self)
            return loop.post { box.value.end(.failure(.unreachable(.cannotFindHost))) }
        }
        record(.resolutionStarted(host: origin.host))
        resolve()
    }

    func cancel() {
        if !running.isEmpty, loop.now &- firstConnectTime > loop.limits.addressSilence { resolver.forget(origin.host) }
        outcome = nil
        perform(.cancelled)
        stop()
    }

    /// Whether an address was gone to.
    var hasBegun: Bool { !tried.isEmpty }

    /// What services there are is known, and changes nothing here.
    func servicesKnown() { perform(.servicesKnown) }

    // MARK: Names

    private func resolve() {
        for family in [SocketAddress.Family.ipv6, .ipv4] {
            unresolvedFamilies += 1
            let box = LoopBox(self)
            let ticket = resolver.resolve(AddressQuery(origin.host, family), on: loop) { answer, isRemembered in
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
            if isRemembered { hasRememberedAddresses = true }
            resolvedCount += addresses.count
            // The first answer that can be used ends the phase; the other may come while a connect is under way.
            if resolvedCount == addresses.count { recordResolution() }
            if !addresses.isEmpty { onAddresses?(addresses) }
            guard outcome != nil else { return }
            let new = addresses.map { $0.with(port: origin.port) }.filter { !tried.contains($0) }
            perform(.resolved(family, new))
        case .failure(let failure) where resolvedCount == 0 && failure.isLackOfMeans:
            // The resolver needs descriptors too.
            end(.failure(.noDescriptor))
        case .failure(let failure):
            if unresolvedFamilies == 0, resolvedCount == 0 { recordResolution() }
            perform(.resolutionFailed(family, error(for: failure)))
        }
    }

    /// The time for names is told once: what is asked anew later lies within the time for connecting.
    private func recordResolution() {
        if rememberedFailure == nil { record?(.resolutionEnded(addresses: resolvedCount)) }
    }

    /// If no name server can be reached and there is no route, the network is to blame (CONN-12).
    private func error(for failure: NameFailure) -> LoadError {
        guard failure.isTemporary, !RouteWatch.hasRoute else { return .cannotFindHost(failure.code) }
        return LoadError(code: LoadError.notConnectedToInternet.code, cause: .dns(failure.code))
    }

    /// None of the addresses answers: the next request resolves the name again.
    private func failedAll(_ error: LoadError) {
        let worst = rememberedFailure.map { $0.tellingRank >= error.tellingRank ? $0 : error } ?? error
        // Without a network no address answers, and no name server either.
        guard literal == nil, resolvedCount > 0, worst.code != LoadError.notConnectedToInternet.code else {
            return end(.failure(.unreachable(worst)))
        }
        resolver.forget(origin.host)
        guard hasRememberedAddresses else { return end(.failure(.unreachable(worst))) }
        hasRememberedAddresses = false
        rememberedFailure = worst
        resolvedCount = 0
        tickets = []
        eyeballs = HappyEyeballs(limits: loop.limits)
        resolve()
    }

    // MARK: Addresses

    private func perform(_ input: HappyEyeballs.Input) {
        for action in eyeballs.handle(input, at: loop.now) {
            switch action {
            case .connect(let attempt, let address): connect(attempt, to: address)
            case .abandon(let attempt): running.removeValue(forKey: attempt)?.close()
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
        record?(.connectStarted(address: "\(address)"))
        tried.insert(address)
        firstConnectTime = min(firstConnectTime, loop.now)
        do throws(POSIXFailure) {
            // What has been begun holds the race until it has ended.
            running[attempt] = try begin(address) { [self] failure in ended(attempt, failure) }
        } catch {
            // Told in a turn of its own, so that a long line of requests to a dead address is no recursion.
            let box = LoopBox(self)
            loop.post { box.value.ended(attempt, .connectionAttemptFailed(error.code)) }
        }
    }

    private func ended(_ attempt: HappyEyeballs.Attempt, _ failure: LoadError?) {
        guard outcome != nil else { return }
        guard let failure else { return perform(.attemptSucceeded(attempt)) }
        running.removeValue(forKey: attempt)?.close()
        if failure.isDescriptorShortage { return end(.failure(.noDescriptor)) }
        perform(.attemptFailed(attempt, failure))
    }

    func timerFired(_ timer: LoopTimer) { perform(.deadline) }

    // MARK: The end

    private func end(_ result: Result<Candidate, Failure>) {
        let outcome = outcome
        self.outcome = nil
        stop()
        outcome?(result)
    }

    private func stop() {
        record = nil
        loop.disarm(timer)
        for ticket in tickets { resolver.withdraw(ticket) }
        tickets = []
        for candidate in running.values { candidate.close() }
        running = [:]
    }
}

/// What an `AddressRace` begins with an address: the first that comes through wins, and the others are closed.
protocol AddressRaceCandidate: AnyObject, SendableMetatype {
    func close()
}

/// Why none of an origin's addresses was reached.
enum AddressRaceFailure: Error {
    /// The process or the machine has no descriptor left, or no thread to ask with.
    case noDescriptor
    case unreachable(LoadError)
}

extension ByteStream: AddressRaceCandidate {}

extension AddressRace<ByteStream> {
    /// A race of TCP connections.
    convenience init(to origin: ConnectionKey, on loop: EventLoop, resolver: NameResolver, awaitsServices: Bool = false)
    {
        self.init(to: origin, on: loop, resolver: resolver, awaitsServices: awaitsServices) {
            (address, told) throws(POSIXFailure) in
            try ByteStream.connect(
                to: address, treatedAs: origin.service, on: loop, owner: ConnectingStream(told))
        }
    }
}

/// Owns a stream that is being connected.
private final class ConnectingStream: ByteStreamOwner {
    private let told: (LoadError?) -> Void

    init(_ told: @escaping (LoadError?) -> Void) { self.told = told }

    func streamBecameReady(_ stream: ByteStream) {
        switch stream.finishConnecting() {
        case nil: break
        case .success: told(nil)
        case .failure(let failure): told(.connectionAttemptFailed(failure.code))
        }
    }
}
