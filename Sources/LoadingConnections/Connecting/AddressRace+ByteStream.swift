internal import LoadingSemantics
internal import LoadingTransport

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
