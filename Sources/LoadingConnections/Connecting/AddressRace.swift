internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Finds the first of an origin's addresses that answers: does what `HappyEyeballs` says, with the resolver, sockets
/// and a timer. Confined to its loop; tells the outcome once, never within `start`, and nothing after `cancel`.
final class AddressRace: ByteStreamOwner, LoopTimerTarget {
    enum Failure: Error {
        /// The process or the machine has no descriptor left.
        case noDescriptor
        case unreachable(LoadError)
    }

    private let origin: Origin
    private let loop: EventLoop
    private var eyeballs: HappyEyeballs
    private var running: [HappyEyeballs.Attempt: ByteStream] = [:]
    private let timer = LoopTimer()
    private var record: ((LoadEvent.Kind) -> Void)?
    private var outcome: ((Result<ByteStream, Failure>) -> Void)?
    private var resolvedCount = 0
    private var unresolvedFamilies = 0

    init(to origin: Origin, on loop: EventLoop) {
        self.origin = origin
        self.loop = loop
        literal = SocketAddress(literal: origin.host, port: origin.port)
        eyeballs = HappyEyeballs(families: literal.map { [$0.family] } ?? [.ipv4, .ipv6])
    }

    private let literal: SocketAddress?

    func start(
        record: @escaping (LoadEvent.Kind) -> Void, outcome: @escaping (Result<ByteStream, Failure>) -> Void
    ) {
        self.record = record
        self.outcome = outcome
        if let literal { return perform(.resolved(literal.family, [literal])) }
        record(.resolutionStarted(host: origin.host))
        for family in [SocketAddress.Family.ipv6, .ipv4] {
            unresolvedFamilies += 1
            let box = LoopBox(self)
            NameResolver.shared.resolve(origin.host, family, on: loop) { box.value.resolved(family, $0) }
        }
    }

    func cancel() {
        outcome = nil
        perform(.cancelled)
        stop()
    }

    private func resolved(_ family: SocketAddress.Family, _ answer: NameResolver.Answer) {
        guard outcome != nil else { return }
        unresolvedFamilies -= 1
        switch answer {
        case .success(let addresses):
            resolvedCount += addresses.count
            // The first answer that can be used ends the phase; the other may come while a connect is under way.
            if resolvedCount == addresses.count { record?(.resolutionEnded(addresses: resolvedCount)) }
            perform(.resolved(family, addresses.map { $0.with(port: origin.port) }))
        case .failure(let failure) where resolvedCount == 0 && [EMFILE, ENFILE].contains(failure.posixCode):
            // The resolver needs descriptors too.
            end(.failure(.noDescriptor))
        case .failure(let failure):
            if unresolvedFamilies == 0, resolvedCount == 0 { record?(.resolutionEnded(addresses: 0)) }
            perform(.resolutionFailed(family, .cannotFindHost(failure.code)))
        }
    }

    private func perform(_ input: HappyEyeballs.Input) {
        for action in eyeballs.handle(input, at: loop.now) {
            switch action {
            case .connect(let attempt, let address): connect(attempt, to: address)
            case .abandon(let attempt): running.removeValue(forKey: attempt)?.close()
            case .setDeadline(let time): loop.arm(timer, at: time, for: self)
            case .clearDeadline: loop.disarm(timer)
            case .succeeded(let attempt):
                guard let stream = running.removeValue(forKey: attempt) else { continue }
                end(.success(stream))
            case .failed(let error): end(.failure(.unreachable(error)))
            }
        }
    }

    private func connect(_ attempt: HappyEyeballs.Attempt, to address: SocketAddress) {
        record?(.connectStarted(address: "\(address)"))
        do {
            running[attempt] = try ByteStream.connect(to: address, on: loop, owner: self)
        } catch {
            // Told in a turn of its own, so that a long line of requests to a dead address is no recursion.
            let box = LoopBox(self)
            loop.post { box.value.failed(attempt, error) }
        }
    }

    func streamBecameReady(_ stream: ByteStream) {
        guard let attempt = running.first(where: { $0.value === stream })?.key,
            let result = stream.finishConnecting()
        else { return }
        switch result {
        case .success: perform(.attemptSucceeded(attempt))
        case .failure(let failure):
            running.removeValue(forKey: attempt)?.close()
            failed(attempt, failure)
        }
    }

    private func failed(_ attempt: HappyEyeballs.Attempt, _ failure: POSIXFailure) {
        guard outcome != nil else { return }
        switch failure.code {
        case EMFILE, ENFILE: end(.failure(.noDescriptor))
        default: perform(.attemptFailed(attempt, .connectionAttemptFailed(failure.code)))
        }
    }

    func timerFired(_ timer: LoopTimer) { perform(.deadline) }

    private func end(_ result: Result<ByteStream, Failure>) {
        let outcome = outcome
        self.outcome = nil
        stop()
        outcome?(result)
    }

    private func stop() {
        record = nil
        loop.disarm(timer)
        for stream in running.values { stream.close() }
        running = [:]
    }
}
