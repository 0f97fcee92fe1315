internal import LoadingSemantics
internal import LoadingTransport

final class SecureHandshake {
    init(_ stream: ByteStream, to origin: Origin, in environment: ConnectionEnvironment, outcome: @escaping (Result<ByteStream, LoadError>) -> Void) {}
    func start() {}
    func cancel() {}
}
