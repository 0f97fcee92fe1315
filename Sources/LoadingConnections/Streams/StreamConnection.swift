internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport

/// A connection of plain bytes that belongs to one owner and never to a pool: made for him, or taken over from HTTP.
/// Confined to its loop; nothing is told after `close`, and nothing within `connect`.
package final class StreamConnection: ByteStreamOwner, ConnectionChallengeDelegate {
    private let origin: ConnectionKey
    private let pool: ConnectionPool
    /// Held until the connection is closed or given away.
    private var owner: (any StreamConnectionOwner)?
    private var dial: TransportConnector?
    private var handshake: SecureHandshake?
    private var stream: ByteStream?
    private let descriptorWait: DescriptorWait
    private var isClosingWriting = false
    /// The question about the connection that is open.
    private var question: ConnectionChallenge?

    /// - Parameter origin: host and port, and the name by which a server has to prove itself once TLS is wanted.
    package init(to origin: ConnectionKey, in pool: ConnectionPool, owner: any StreamConnectionOwner) {
        self.origin = origin
        isSecure = false
        self.pool = pool
        descriptorWait = DescriptorWait(pool)
        self.owner = owner
    }

    /// Goes on with a connection that carried HTTP.
    package init(_ handed: DetachedConnection, in pool: ConnectionPool, owner: any StreamConnectionOwner) {
        origin = handed.origin
        isSecure = handed.origin.isSecure
        stream = handed.stream
        self.pool = pool
        descriptorWait = DescriptorWait(pool)
        self.owner = owner
        handed.stream.owner = self
    }

    // MARK: Connecting

    /// Finds the host and connects to it; the owner hears how that went.
    package func connect() {
        let dial =
            dial
            ?? TransportConnector(to: origin, in: pool, isGreeted: true, for: self) { [weak self] in self?.dialEnded($0)
            }
        self.dial = dial
        dial.start()
    }

    private func dialEnded(_ outcome: Result<ByteStream, TransportConnector.Failure>) {
        switch outcome {
        case .success(let stream):
            dial = nil
            question = nil
            self.stream = stream
            stream.owner = self
            owner?.connectionOpened()
        case .failure(.noDescriptor):
            descriptorWait.begin { [weak self] in self?.connect() }
        case .failure(.lost(let failure)):
            dial = nil
            owner?.connectionFailed(failure)
        }
    }

    /// The step that the first hop has not completed, and since when; nil if something else is awaited.
    package var awaits: PendingPhase? { isAsking ? nil : dial?.awaits }

    // MARK: TLS

    /// Whether TLS is spoken with the host. What ends at a proxy is not that.
    package private(set) var isSecure: Bool

    /// Puts TLS over the open connection; the owner hears how that went.
    package func secure() {
        guard let stream else { return }
        let handshake = SecureHandshake(stream, to: origin, with: pool.security, carriesHTTP: false, for: self) {
            [weak self] in
            self?.handshakeEnded($0)
        }
        self.handshake = handshake
        handshake.start()
    }

    private func handshakeEnded(_ outcome: Result<ByteStream, LoadError>) {
        handshake = nil
        question = nil
        switch outcome {
        case .success(let stream):
            stream.owner = self
            isSecure = true
            owner?.connectionSecured()
        case .failure(let error):
            stream = nil
            owner?.connectionFailed(ConnectionFailure(error))
        }
    }

    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool {
        self.question = question
        return owner?.connectionReceived(challenge: question) ?? false
    }

    var proxyAuthorizer: (any ProxyAuthorizer)? { owner?.proxyAuthorizer }

    func handshakeContinues() { owner?.connectionIsActive() }

    /// Whether a challenge is open. The connection waits for its answer.
    package var isAsking: Bool { question?.isOpen ?? false }

    // MARK: Bytes

    package func streamBecameReady(_ stream: ByteStream) {
        if isClosingWriting { closeWriting() }
        owner?.connectionIsReady()
    }

    /// Has the owner called in the next turn though the kernel has nothing new to say.
    package func callAgain() { stream?.callAgain() }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        stream?.read(into: buffer) ?? .wouldBlock
    }

    /// Whether a read may bring something.
    package var mayHaveMore: Bool { stream?.mayHaveMore ?? false }

    package func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite { stream?.write(bytes) ?? .wouldBlock }

    /// Tells the peer that nothing more is written.
    package func closeWriting() { isClosingWriting = stream?.closeWriting() == false }

    /// Whether the machine would now take another way to the peer than this connection does.
    package var hasBetterRoute: Bool {
        guard let stream, let local = stream.localAddress, let remote = stream.remoteAddress,
            let source = remote.preferredSource
        else { return false }
        return source.with(port: 0) != local.with(port: 0)
    }

    // MARK: The end

    /// Gives the open connection away.
    package func detachConnection() -> ByteStream? {
        owner = nil
        defer { stream = nil }
        return stream
    }

    /// The owner is done in order: what was written still arrives, though the peer may go on speaking.
    package func closeWhenHeard() {
        if let stream = detachConnection() { LingeringClose.begin(on: stream, isClosingWriting: isClosingWriting) }
        close()
    }

    package func close() {
        owner = nil
        dial?.cancel()
        dial = nil
        handshake?.cancel()
        handshake = nil
        question = nil
        descriptorWait.end()
        stream?.close()
        stream = nil
    }
}

/// The owner of a `StreamConnection`. Called on its loop.
package protocol StreamConnectionOwner: AnyObject {
    func connectionOpened()
    func connectionSecured()
    /// It could not be made, or not be made secure.
    func connectionFailed(_ failure: ConnectionFailure)
    /// A handshake needs an answer. False to have the default apply.
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// An answer has come; the network has its turn again.
    func connectionIsActive()
    /// It may be read or written again.
    func connectionIsReady()
}

/// A connection that carried HTTP, and belongs to no pool any more.
package struct DetachedConnection {
    package let stream: ByteStream
    package let origin: ConnectionKey
    /// What was read behind the head of the response.
    package let rest: [UInt8]
}
