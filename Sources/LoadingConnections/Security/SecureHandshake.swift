internal import CLoadingLinux
internal import LoadingSemantics
internal import LoadingTransport

/// Puts TLS over a connected stream: handshake, evaluation of the server's certificate, and a session to resume at the
/// next connection. Confined to the stream's loop; tells the outcome once, and nothing after `cancel`.
final class SecureHandshake: ByteStreamOwner {
    private let stream: ByteStream
    private let origin: Origin
    private let security: ConnectionSecurity
    private var outcome: ((Result<ByteStream, LoadError>) -> Void)?

    init(
        _ stream: ByteStream, to origin: Origin, with security: ConnectionSecurity,
        outcome: @escaping (Result<ByteStream, LoadError>) -> Void
    ) {
        self.stream = stream
        self.origin = origin
        self.security = security
        self.outcome = outcome
        stream.owner = self
    }

    func start() {
        do throws(TLSError) {
            let tls = try TLSStream(
                context: try security.context(), descriptor: stream.descriptor, serverName: origin.host,
                resuming: security.takeResumption(for: origin))
            tls.onResumption = { [security, origin] in security.keep($0, for: origin) }
            stream.secure(with: tls)
        } catch {
            return fail(LoadError(error))
        }
        proceed()
    }

    func cancel() {
        outcome = nil
        stream.close()
    }

    func streamBecameReady(_ stream: ByteStream) { proceed() }

    private func proceed() {
        while outcome != nil {
            switch stream.handshake() {
            case .wantsRead, .wantsWrite: return
            case .wantsTrust(let peer): stream.tls?.decideTrust(security.verdict(on: peer))
            case .wantsIdentity: stream.tls?.provideIdentity(nil)
            case .failed(let error): return fail(LoadError(error))
            case .complete:
                let outcome = outcome
                self.outcome = nil
                outcome?(.success(stream))
            }
        }
    }

    private func fail(_ error: LoadError) {
        let outcome = outcome
        cancel()
        outcome?(.failure(error))
    }
}
