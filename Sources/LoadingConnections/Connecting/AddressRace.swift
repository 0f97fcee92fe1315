internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Finds the first of an origin's addresses that answers: name resolution, then connects that race as Happy Eyeballs
/// says (RFC 8305). Confined to its loop; tells the outcome once, and nothing after `cancel`.
final class AddressRace: ByteStreamOwner {
    enum Failure: Error {
        /// The process or the machine has no descriptor left.
        case noDescriptor
        case unreachable(LoadError)
    }

    private let origin: Origin
    private let loop: EventLoop
    private var outcome: ((Result<ByteStream, Failure>) -> Void)?
    private var record: ((LoadEvent.Kind) -> Void)?
    private var stream: ByteStream?

    init(to origin: Origin, on loop: EventLoop) {
        self.origin = origin
        self.loop = loop
    }

    func start(
        record: @escaping (LoadEvent.Kind) -> Void, outcome: @escaping (Result<ByteStream, Failure>) -> Void
    ) {
        self.record = record
        self.outcome = outcome
        if let literal = SocketAddress(literal: origin.host, port: origin.port) { return connect(to: literal) }
        record(.resolutionStarted(host: origin.host))
        let box = LoopBox(self)
        NameResolver.shared.resolve(origin.host, .ipv4, on: loop) { answer in
            let race = box.value
            guard race.outcome != nil else { return }
            switch answer {
            case .success(let addresses):
                race.record?(.resolutionEnded(addresses: addresses.count))
                race.connect(to: addresses[0].withPort(race.origin.port))
            case .failure(let failure): race.end(.failure(.unreachable(.cannotFindHost(failure.code))))
            }
        }
    }

    func cancel() {
        outcome = nil
        record = nil
        stream?.close()
        stream = nil
    }

    private func connect(to address: SocketAddress) {
        record?(.connectStarted(address: address.description))
        do {
            stream = try ByteStream.connect(to: address, on: loop, owner: self)
        } catch {
            let box = LoopBox(self)
            loop.post { box.value.failed(error) }
        }
    }

    func streamBecameReady(_ stream: ByteStream) {
        guard let result = stream.finishConnecting() else { return }
        switch result {
        case .success:
            self.stream = nil
            end(.success(stream))
        case .failure(let failure):
            stream.close()
            self.stream = nil
            failed(failure)
        }
    }

    private func failed(_ failure: POSIXFailure) {
        switch failure.code {
        case EMFILE, ENFILE: end(.failure(.noDescriptor))
        default: end(.failure(.unreachable(.connectionAttemptFailed(failure.code))))
        }
    }

    private func end(_ result: Result<ByteStream, Failure>) {
        guard let outcome else { return }
        self.outcome = nil
        record = nil
        outcome(result)
    }
}
