internal import Glibc
package import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport

/// A connection of plain bytes that belongs to one owner and never to a pool: made for that owner, or detached from
/// HTTP. Confined to its loop. The owner is not called after `close`, and never within `connect`.
package final class StreamConnection: ByteStreamOwner, ConnectionChallengeDelegate {
    private let key: ConnectionKey
    private let pool: ConnectionPool
    /// Retained until the connection is closed or detached.
    private var owner: (any StreamConnectionOwner)?
    private var connector: TransportConnector?
    private var handshake: SecureHandshake?
    private var stream: ByteStream?
    /// Nil without TLS.
    private var buffers: RecordBuffers?
    /// Whether close_notify waits for room in the send buffer.
    package private(set) var isClosingWriting = false
    /// Of the last handshake with the host, or with a proxy before it. Nil if nothing was decided.
    package private(set) var trustResult: ServerTrustResult?
    private var question: ConnectionChallenge?

    /// - Parameter key: The host and port, and the name that the server must authenticate as if TLS is used.
    package init(to key: ConnectionKey, in pool: ConnectionPool, owner: any StreamConnectionOwner) {
        self.key = key
        self.pool = pool
        self.owner = owner
    }

    /// Takes over a connection that carried HTTP.
    package init(_ detached: DetachedConnection, in pool: ConnectionPool, owner: any StreamConnectionOwner) {
        key = detached.key
        self.pool = pool
        self.owner = owner
        take(detached.stream)
    }

    private func take(_ stream: ByteStream) {
        // TLS with a proxy may have come before.
        endBuffers()
        self.stream = stream
        stream.owner = self
        buffers = stream.isPlain ? nil : RecordBuffers(of: stream)
    }

    // MARK: Connecting

    /// Resolves the host and connects to it. The owner is notified of the result.
    package func connect() {
        let connector = TransportConnector(to: key, in: pool, serverMaySpeakFirst: true, for: self) { [weak self] in
            self?.connectorEnded($0)
        }
        self.connector = connector
        connector.onEvent = { [weak self] in if case .serverTrust(let result) = $0 { self?.trustResult = result } }
        connector.start()
    }

    private func connectorEnded(_ outcome: Result<ByteStream, ConnectionFailure>) {
        connector = nil
        switch outcome {
        case .success(let stream):
            question = nil
            take(stream)
            owner?.connectionOpened()
        case .failure(let failure): owner?.connectionFailed(failure)
        }
    }

    package var pendingPhase: PendingPhase? { isAsking ? nil : connector?.pendingPhase }

    /// The loop's time at which the peer last sent something for the step in progress: the connection, or TLS over it.
    /// 0 before that.
    package var lastArrival: Int64 { connector?.lastArrival ?? handshake?.lastArrival ?? 0 }

    // MARK: TLS

    /// Starts TLS with the host over the open connection, which has none yet. The owner is notified of the result.
    package func secure() {
        guard let stream else { return }
        let handshake = SecureHandshake(stream, to: key, with: pool.security, carriesHTTP: false, for: self) {
            [weak self] in
            self?.handshakeEnded($0)
        }
        self.handshake = handshake
        handshake.start()
    }

    private func handshakeEnded(_ outcome: Result<ByteStream, LoadError>) {
        trustResult = handshake?.trustResult
        handshake = nil
        question = nil
        switch outcome {
        case .success(let stream):
            take(stream)
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

    /// Calls the owner in the next turn, even if the kernel reports nothing new.
    package func callAgain() { stream?.callAgain() }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard let stream else { return .wouldBlock }
        let result = stream.read(into: buffer)
        if let buffers, case .bytes = result { buffers.noteRead() }
        return result
    }

    /// Whether a read may return something.
    package var mayHaveMore: Bool { stream?.mayHaveMore ?? false }

    package func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite { stream?.write(bytes) ?? .wouldBlock }

    /// Closes the sending side, so that the peer reads the end of the stream.
    package func closeWriting() { isClosingWriting = stream?.closeWriting() == false }

    /// Whether the machine's current route to the peer uses another local address than this connection.
    package var hasBetterRoute: Bool {
        guard let stream, let local = stream.localAddress, let remote = stream.remoteAddress,
            let source = remote.preferredSource
        else { return false }
        return source.with(port: 0) != local.with(port: 0)
    }

    // MARK: The end

    /// Detaches the open connection from its owner.
    package func detachConnection() -> ByteStream? {
        owner = nil
        endBuffers()
        defer { stream = nil }
        return stream
    }

    /// Closes in order: written data still arrives, even if the peer continues to send.
    package func closeAfterAcknowledgement() {
        if let stream = detachConnection() { LingeringClose.begin(on: stream, isClosingWriting: isClosingWriting) }
        close()
    }

    package func close() {
        owner = nil
        connector?.cancel()
        connector = nil
        handshake?.cancel()
        handshake = nil
        question = nil
        endBuffers()
        stream?.close()
        stream = nil
    }

    private func endBuffers() {
        buffers?.end()
        buffers = nil
    }
}

/// The owner of a `StreamConnection`. Called on its loop.
package protocol StreamConnectionOwner: AnyObject {
    func connectionOpened()
    func connectionSecured()
    /// The connection could not be made, or could not be secured.
    func connectionFailed(_ failure: ConnectionFailure)
    /// A handshake needs an answer. Return false to apply the default.
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// The challenge was answered, and the handshake continues.
    func connectionIsActive()
    /// The connection may be readable or writable again.
    func connectionIsReady()
}

/// A connection that carried HTTP and no longer belongs to a pool.
package struct DetachedConnection {
    package let stream: ByteStream
    package let key: ConnectionKey
    /// Bytes that were read after the head of the response.
    package let rest: [UInt8]
}
