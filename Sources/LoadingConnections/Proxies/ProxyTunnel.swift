internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Has a proxy make a way through to an origin, over a stream that leads to the proxy. Confined to the stream's loop; tells
/// the outcome once, and nothing after `cancel`.
final class ProxyTunnel: ByteStreamOwner {
    private enum Machine {
        case connect(ConnectTunnel)
        case socks(SOCKSHandshake)
    }

    private let stream: ByteStream
    private let proxy: ProxyServer
    private var machine: Machine
    private var unsent: ArraySlice<UInt8> = []
    private var outcome: ((Result<ByteStream, ProxyFailure>) -> Void)?

    init(
        over stream: ByteStream, to origin: Origin, by proxy: ProxyServer,
        outcome: @escaping (Result<ByteStream, ProxyFailure>) -> Void
    ) {
        self.stream = stream
        self.proxy = proxy
        self.outcome = outcome
        let destination = ProxyDestination(
            traffic: origin.isSecure ? .https : .http, host: origin.host, port: origin.port)
        machine =
            SOCKSHandshake(to: destination, through: proxy).map { .socks($0) }
            ?? .connect(ConnectTunnel(to: destination))
        stream.owner = self
    }

    func start() {
        switch machine {
        case .connect(var tunnel):
            do throws(HTTP1EncodingError) {
                unsent = try tunnel.request(authorization: proxy.credential?.basic)[...]
            } catch {
                return end(.failure(.badCredentials))
            }
            machine = .connect(tunnel)
            write()
        case .socks(var handshake):
            let action = handshake.start()
            machine = .socks(handshake)
            perform(action)
        }
    }

    func cancel() {
        outcome = nil
        stream.close()
    }

    func streamBecameReady(_ stream: ByteStream) {
        write()
        read()
        // TLS may have had to read before it could write.
        write()
    }

    private func write() {
        while !unsent.isEmpty, outcome != nil {
            switch unsent.withUnsafeBytes({ stream.write($0) }) {
            case .bytes(let count): unsent = unsent.dropFirst(count)
            case .wouldBlock: return
            // Whatever the proxy has said is read first; the reading ends with the end.
            case .failed: return unsent = []
            }
        }
    }

    private func read() {
        while outcome != nil {
            let scratch = stream.loop.scratch
            switch stream.read(into: scratch) {
            case .bytes(let count):
                take(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                if outcome != nil, !stream.mayHaveMore { return }
            case .wouldBlock: return
            case .end, .truncated, .failed: return connectionEnded()
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        switch machine {
        case .connect(var tunnel):
            while outcome != nil, let event = tunnel.next(&input) {
                heed(event, hasMore: !input.isEmpty)
            }
            machine = .connect(tunnel)
        case .socks(var handshake):
            while outcome != nil, let action = handshake.next(&input) {
                if action == .open, !input.isEmpty { return end(.failure(.socks(.connectionLost))) }
                perform(action)
            }
            machine = .socks(handshake)
        }
    }

    /// - Parameter hasMore: Whether something has come behind it, where nobody speaks unasked.
    private func heed(_ event: ConnectTunnel.Event, hasMore: Bool) {
        switch event {
        case .open:
            end(hasMore ? .failure(.malformedTunnelResponse("bytes behind the answer")) : .success(stream))
        case .challenged(let head), .refused(let head): end(.failure(.tunnelRefused(status: head.status)))
        case .challengeEnded: break
        case .failed(let failure): end(.failure(failure))
        }
    }

    private func perform(_ action: SOCKSHandshake.Action) {
        switch action {
        case .send(let bytes):
            unsent += bytes
            write()
        case .open: end(.success(stream))
        case .fail(let failure): end(.failure(.socks(failure)))
        }
    }

    private func connectionEnded() {
        switch machine {
        case .connect(var tunnel):
            if let event = tunnel.connectionEnded() { heed(event, hasMore: false) }
        case .socks(var handshake):
            if let action = handshake.connectionEnded() { perform(action) }
        }
        end(.failure(.tunnelLost))
    }

    private func end(_ result: Result<ByteStream, ProxyFailure>) {
        guard let outcome else { return }
        self.outcome = nil
        if case .failure = result { stream.close() }
        outcome(result)
    }
}
