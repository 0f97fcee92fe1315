internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// An HTTP/3 connection over QUIC. Owned by the address race that makes it, then by its pool.
///
/// The session computes one deadline for QUIC's loss detection, retransmission and pacing. One timer here implements
/// it.
final class HTTP3Connection: MultiplexedConnectionState, MultiplexedConnection, DatagramSocketOwner {
    /// The service that this connection reaches.
    let service: AlternativeService
    var socket: DatagramSocket
    private(set) lazy var session = makeSession()
    /// The request that was sent as early data.
    var early: EarlyExchange?
    /// Output that the socket did not take. The session owns its memory until the next output is requested.
    var unsent: HTTP3Output?
    /// Whether the server closed the connection because of the handshake.
    var isRefusedByHandshake = false
    /// Whether the local address is gone and no other local address has a route to the server.
    var hasLostLocalAddress = false

    /// Called when the handshake has completed or failed, before the trust decision.
    var opened: ((LoadError?) -> Void)?
    var isHandshakeComplete = false
    /// The server's certificates in DER, the leaf first; empty until they are known.
    var certificates: [[UInt8]] = []
    var cipherSuite: UInt16?
    /// Whether the default evaluation trusts the server.
    var isTrusted = false
    var channelBinding: ChannelBinding? {
        certificates.first.flatMap { Certificate(der: $0) }.flatMap { ChannelBinding(endPoint: $0) }
    }
    /// The peer under which session tickets from the server are stored.
    let sessionPeer: ConnectionSecurity.QUICPeer
    /// The client identity to present if the server requests one.
    let identity: HTTP3Identity?
    /// The session that this connection tries to resume.
    private(set) var resumed: ConnectionSecurity.QUICSession?
    /// Whether a request is sent as early data. Without a request, no early data is sent (TLS-9).
    private let beginsEarly: Bool
    /// Resumption tickets for later connections, kept here until the trust decision.
    var resumptions: [HTTP3Resumption] = []
    /// When sessions made from the tickets end at the latest, in seconds since 1970. Set by `begin(isTrusted:)`.
    var sessionEnd: Int64 = 0
    /// Whether `begin(isTrusted:)` was called, which happens once the server is trusted.
    var hasBegun = false
    /// Whether the pool has, or had, this connection.
    var isAdopted = false

    /// The number of requests that the server is expected to accept, learned from an earlier connection (CONN-4).
    private let requestLimit: Int?
    /// Whether the server has sent GOAWAY.
    var hasReceivedGoAway = false
    /// The PING that verifies `requestLimit`; nil if none was sent.
    var limitPing: LimitPing?

    enum LimitPing { case sent, acknowledged }

    /// The generation of the session cache when the connection was made.
    let generation: Int
    let sessionTimer = LoopTimer()
    let streamCreditTimer = LoopTimer()
    /// When the last PING was sent.
    var pingTime: Int64 = 0
    /// Armed while streams are open. Schedules the next check for received datagrams.
    let silenceTimer = LoopTimer()

    /// Starts the handshake. Calls `opened` once, never before this initializer returns. If the connection is closed
    /// before, `opened` is not called.
    init(
        to address: SocketAddress, of service: AlternativeService, as sessionPeer: ConnectionSecurity.QUICPeer,
        knownBy identity: HTTP3Identity?, resuming resumed: ConnectionSecurity.QUICSession?,
        early: HTTPStreamRequest?, primaryOrigin: OriginConnections, pool: ConnectionPool,
        opened: @escaping (LoadError?) -> Void
    ) throws(POSIXFailure) {
        self.sessionPeer = sessionPeer
        self.identity = identity
        self.resumed = resumed
        beginsEarly = early != nil
        generation = pool.security.generation
        requestLimit = pool.http3RequestLimits[primaryOrigin.key]
        self.service = service
        self.opened = opened
        socket = try DatagramSocket(to: address, on: pool.loop)
        super.init(.http3, primaryOrigin: primaryOrigin, pool: pool)
        socket.owner = self
        if let early { sendEarly(early) }
        planTurn()
    }

    private func makeSession() -> HTTP3Session {
        let limits = pool.loop.limits
        var configuration = HTTP3Configuration(
            idleTimeout: limits.quicIdle, handshakeTimeout: limits.quicHandshake,
            keepAliveInterval: limits.quicKeepAlive)
        if let file = QlogFile(of: primaryOrigin.key.host, on: pool.loop) {
            configuration.qlog = { piece, _ in file.write(piece) }
        }
        if TLSKeyLog.hasFile { configuration.secretLog = { TLSKeyLog.write($0) } }
        return HTTP3Session(
            configuration: configuration, serverName: ServerName(host: primaryOrigin.key.host)?.indication,
            endpoints: HTTP3Endpoints(socket), resumption: resumed?.resumption, allowsEarlyData: beginsEarly,
            identity: identity, at: pool.loop.now, observer: self)
    }

    /// Starts over after a HelloRetryRequest: the early data and the handshake are void, because GnuTLS cannot send a
    /// second ClientHello after early data.
    func beginAnew() {
        early = nil
        unsent = nil
        if let words = try? session.nextOutput(at: pool.loop.now) { _ = send(words) }
        session.fail()
        resumed = nil
        session = makeSession()
        planTurn()
    }

    var isClosed: Bool { socket.isClosed }
    var isAlternative: Bool { !service.isOwn(of: primaryOrigin.key.hostPort) }
    /// Whether the server allows requests, once it is trusted.
    var takesRequests: Bool { !session.isGoingAway && session.maximumConcurrentStreams > 0 }

    var peer: ConnectedPeer? {
        // A client certificate identifies the client to this server only.
        guard let cipherSuite, !session.isIdentityRequested else { return nil }
        return ConnectedPeer(
            certificates: certificates, stapledResponse: stapledResponse,
            agreement: ServerTrustDecision.Agreement(version: TLSVersion.tls13.rawValue, cipherSuite: cipherSuite))
    }

    var localAddresses: [SocketAddress] { [socket.localAddress] }
    var canMigrate: Bool { true }
    var remoteAddress: SocketAddress? { socket.remoteAddress }

    func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(
            protocolName: "h3", isReused: isReused, isProxied: false, localAddress: socket.localAddress.description,
            localPort: Int(socket.localAddress.port), remoteAddress: socket.remoteAddress.description,
            remotePort: Int(socket.remoteAddress.port), tlsVersion: TLSVersion.tls13.rawValue,
            tlsCipherSuite: cipherSuite)
    }

    // MARK: Streams

    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream? {
        if !isRepeatable, mayBeForgotten {
            retire()
            return nil
        }
        guard mayOpenStream else {
            if hasNoStreamCredit, !streamCreditTimer.isArmed {
                pool.loop.arm(
                    streamCreditTimer, at: pool.loop.now + pool.loop.limits.http3StreamCreditTimeout, for: self)
            }
            return nil
        }
        if pool.loop.now - lastHeard > pool.loop.limits.http3PingSilence, !answerTimer.isArmed { ping() }
        return reserveStream(for: origin)
    }

    var acceptsStreams: Bool { !hasLostLocalAddress && !isAtLimit }

    /// Whether the number of begun requests has reached the expected limit. Another connection may have disproved it
    /// meanwhile.
    var isAtLimit: Bool {
        guard let requestLimit, pool.http3RequestLimits[primaryOrigin.key] != nil else { return false }
        return requestCount + reservedCount >= requestLimit
    }

    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError> {
        pool.loop.disarm(streamCreditTimer)
        if !isClosed {
            watchSilence()
            if let number = takeUpEarly(request, for: stream) {
                reservedCount -= 1
                return .success(number)
            }
        }
        return submit(request, for: stream)
    }

    func cancel(_ number: Int64) {
        session.reset(number)
        planTurn()
    }

    func stopRequest(of number: Int64) {
        session.reset(number, code: .noError)
        planTurn()
    }

    func resumeBody(of number: Int64) {
        session.resumeBody(of: number)
        planTurn()
    }

    func consumed(_ count: Int, on number: Int64) {
        session.consumed(count, on: number)
        planTurn()
    }

    func acknowledgement(of number: Int64) -> Acknowledgement? {
        Acknowledgement(acknowledged: 0, outstanding: UInt64(session.unacknowledgedBodyBytes(on: number)))
    }

    func bodyWireBytes(of number: Int64) -> Int64 {
        earlyWireBytes(of: number) ?? Int64(session.receivedBodyFrameBytes(on: number))
    }
}
