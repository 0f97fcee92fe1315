internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// An HTTP/3 connection over QUIC. Carries many exchanges at once, each as an `HTTPStream`. Confined to its loop. Owned
/// by the address race that makes it, then by its pool.
///
/// The session computes one deadline for QUIC's loss detection, retransmission and pacing. One timer here implements
/// it. Output that is requested during one turn is sent together in the next turn.
final class HTTP3Connection: MultiplexedConnection, AddressRaceCandidate, DatagramSocketOwner, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    let pool: ConnectionPool
    var coalescedOrigins: [OriginConnections] = []
    var isRetired = false
    /// The service that this connection reaches.
    let service: AlternativeService
    private var answerCount = 0
    /// Changes with each request. Accesses to this integer cannot overlap, so exclusivity is not checked.
    @exclusivity(unchecked) var requestCount = 0
    /// Whether the connection has received a response. Until then HTTP/3 may prove unusable there.
    var hasAnswered: Bool { answerCount > 0 }
    let version = HTTPVersion.http3
    private var socket: DatagramSocket
    private(set) lazy var session = makeSession()
    var streams: [Int64: HTTPStream] = [:]
    var gathering: [HTTPStream] = []
    /// Streams that were handed out and have not begun.
    private var reservedCount = 0
    /// The request that was sent as early data.
    var early: EarlyExchange?
    /// Output that the socket did not take. The session owns its memory until the next output is requested.
    private var unsent: HTTP3Output?
    private var isHandlingReadiness = false
    private var isTurnPlanned = false
    /// Whether a waiting request may get a stream now.
    private var hasRoomForMore = false
    /// Why the connection was lost; nil while it is not.
    private(set) var loss: LoadError?
    /// Whether the server closed the connection because of the handshake.
    private(set) var isRefusedByHandshake = false
    /// Whether the local address is gone and no other local address has a route to the server.
    private(set) var hasLostLocalAddress = false

    /// Called when the handshake has completed or failed, before the trust decision.
    private var opened: ((LoadError?) -> Void)?
    private var isHandshakeComplete = false
    /// The server's certificates in DER, the leaf first; empty until they are known.
    private(set) var certificates: [[UInt8]] = []
    private(set) var cipherSuite: UInt16?
    /// Whether the default evaluation trusts the server.
    private(set) var isTrusted = false
    /// The peer under which session tickets from the server are stored.
    private let origin: ConnectionSecurity.QUICPeer
    /// The client identity to present if the server requests one.
    private let identity: HTTP3Identity?
    /// The session that this connection tries to resume.
    private var resumed: ConnectionSecurity.QUICSession?
    /// Whether a request is sent as early data. Without a request, no early data is sent (TLS-9).
    private let beginsEarly: Bool
    /// Resumption tickets for later connections, kept here until the trust decision.
    private var resumptions: [HTTP3Resumption] = []
    /// Whether `begin(isTrusted:)` was called, which happens once the server is trusted.
    private var hasBegun = false

    /// The generation of the session cache when the connection was made.
    private let generation: Int
    private(set) var idleSince: Int64
    /// When the connection last received a datagram.
    private var lastHeard: Int64
    private let sessionTimer = LoopTimer()
    private let idleTimer = LoopTimer()
    private let answerTimer = LoopTimer()
    private let streamCreditTimer = LoopTimer()
    /// Armed while streams are open. Schedules the next check for received datagrams.
    private let silenceTimer = LoopTimer()

    /// The bytes that one turn reads from a connection before other connections get their turn. With a larger budget, a
    /// client that keeps up would still have full buffers in each turn, and the bytes that it does not take at once are
    /// copied twice.
    private static let readBudget = 256 * 1024
    /// The bytes that one turn sends before other connections get their turn.
    private static let writeBudget = 1024 * 1024

    /// Starts the handshake. Calls `opened` once, never before this initializer returns. If the connection is closed
    /// before, `opened` is not called.
    init(
        to address: SocketAddress, of service: AlternativeService, as origin: ConnectionSecurity.QUICPeer,
        knownBy identity: HTTP3Identity?, resuming resumed: ConnectionSecurity.QUICSession?,
        early: HTTPStreamRequest?, primaryOrigin: OriginConnections, pool: ConnectionPool,
        opened: @escaping (LoadError?) -> Void
    ) throws(POSIXFailure) {
        self.origin = origin
        self.identity = identity
        self.resumed = resumed
        beginsEarly = early != nil
        generation = pool.security.generation
        self.primaryOrigin = primaryOrigin
        self.service = service
        self.pool = pool
        self.opened = opened
        idleSince = pool.loop.now
        lastHeard = pool.loop.now
        socket = try DatagramSocket(to: address, on: pool.loop)
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
        return HTTP3Session(
            configuration: configuration,
            serverName: SocketAddress(literal: primaryOrigin.key.host, port: 0) == nil ? primaryOrigin.key.host : nil,
            endpoints: HTTP3Endpoints(socket), resumption: resumed?.resumption, allowsEarlyData: beginsEarly,
            identity: identity, at: pool.loop.now, observer: self)
    }

    var isClosed: Bool { socket.isClosed }
    var isIdle: Bool { streams.isEmpty && reservedCount == 0 }
    var isAlternative: Bool { !service.isOwn(of: primaryOrigin.key.place) }
    /// Whether the server allows requests, once it is trusted.
    var takesRequests: Bool { !session.isGoingAway && session.maximumConcurrentStreams > 0 }

    var peer: ConnectedPeer? {
        // A client certificate identifies the client to this server only.
        guard let cipherSuite, !session.isIdentityRequested else { return nil }
        return ConnectedPeer(
            address: socket.remoteAddress, certificates: certificates,
            agreement: ServerTrustDecision.Agreement(version: TLSVersion.tls13.rawValue, cipherSuite: cipherSuite))
    }

    var localAddresses: [SocketAddress] { [socket.localAddress] }
    var canMigrate: Bool { true }
    var remoteAddress: SocketAddress? { socket.remoteAddress }

    /// Migrates the connection to another local address (RFC 9000 §9). Without another address, open streams wait for
    /// one until QUIC's own timer ends the connection. The connection takes no new streams meanwhile.
    func localAddressWasLost() {
        let before = socket
        guard !isClosed, opened == nil else { return lose(.networkConnectionLost(ENETDOWN)) }
        guard let next = try? DatagramSocket(to: before.remoteAddress, on: pool.loop, owner: self) else {
            hasLostLocalAddress = true
            // Without a local address no PING acknowledgement can arrive.
            pool.loop.disarm(answerTimer)
            if isIdle { return lose(.networkConnectionLost(ENETDOWN)) }
            // New requests fail because there is no route, or wait for one (CONN-12, CONN-14).
            if isAdopted, !isRetired { pool.retire(self) }
            return
        }
        hasLostLocalAddress = false
        hasRoomForMore = true
        socket = next
        before.close()
        unsent = nil
        guard session.endpointsChanged(to: HTTP3Endpoints(next), at: pool.loop.now) else {
            return lose(.networkConnectionLost(ENETDOWN))
        }
        isTurnPlanned = false
        planTurn()
    }

    func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(
            protocolName: "h3", isReused: isReused, isProxied: false, localAddress: socket.localAddress.description,
            localPort: Int(socket.localAddress.port), remoteAddress: socket.remoteAddress.description,
            remotePort: Int(socket.remoteAddress.port), tlsVersion: TLSVersion.tls13.rawValue,
            tlsCipherSuite: cipherSuite)
    }

    // MARK: Opening

    /// The handshake is complete. The race is notified at the end of the turn.
    func completedHandshake() { isHandshakeComplete = true }

    private func tellOpened() {
        guard isHandshakeComplete, let opened, !isClosed else { return }
        self.opened = nil
        opened(nil)
    }

    func presented(_ chain: [[UInt8]], cipherSuite: UInt16) {
        certificates = chain
        self.cipherSuite = cipherSuite
    }

    /// Whether the default evaluation trusted the server when the session that is resumed here was established.
    var wasEvaluated: Bool { session.isResumed && resumed?.wasEvaluated == true }

    /// The server's request for a client certificate; nil if it sends none.
    var identityRequest: TLSIdentityRequest? {
        guard session.isIdentityRequested else { return nil }
        return TLSIdentityRequest(serverName: primaryOrigin.key.host, distinguishedNames: session.issuers)
    }

    var stapledResponse: [UInt8]? { session.stapledResponse }

    /// Maps a TLS alert of the server to the error for a missing or rejected client certificate (TLS-5).
    private func meaning(of error: HTTP3Error) -> LoadError {
        if error == .unusableIdentity {
            return LoadError(TLSError(code: TLSError.clientCertificateRejected, reason: "HTTP/3: \(error)"))
        }
        guard case .closedByPeer(let code, false, _) = error, code >> 8 == 1, session.isIdentityRequested else {
            return LoadError(error)
        }
        let state = identity == nil ? ClientCertificateState.notProvided : .provided
        return LoadError(
            TLSError(code: state.errorCode(alert: Int32(code & 0xFF)), reason: "HTTP/3: \(error)"))
    }

    /// Stores a ticket for the next connection, with the trust decision of this connection. If the server requested a
    /// client certificate, no ticket is stored, so that the server requests it again.
    func keep(_ resumption: HTTP3Resumption) {
        guard hasBegun else { return resumptions.append(resumption) }
        if session.isIdentityRequested { return }
        pool.security.keep(resumption, of: generation, wasEvaluated: isTrusted, for: origin)
    }

    /// The server is trusted. From now on the pool owns the connection.
    func begin(isTrusted: Bool) {
        self.isTrusted = isTrusted
        hasBegun = true
        for resumption in resumptions { keep(resumption) }
        resumptions = []
        session.trust()
        pool.loop.arm(idleTimer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
        planTurn()
    }

    /// The server is not trusted. Sends it a TLS alert and closes the connection.
    func reject() {
        session.reject(alert: 42)
        flush()
        close()
    }

    // MARK: Streams

    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream? {
        guard mayOpenStream else {
            if hasNoStreamCredit, !streamCreditTimer.isArmed {
                pool.loop.arm(
                    streamCreditTimer, at: pool.loop.now + pool.loop.limits.http3StreamCreditTimeout, for: self)
            }
            return nil
        }
        if pool.loop.now - lastHeard > pool.loop.limits.http3PingSilence, !answerTimer.isArmed {
            session.ping()
            let loop = pool.loop
            let timeout = isIdle ? loop.limits.http3PingTimeout : loop.limits.http3StreamPingTimeout
            loop.arm(answerTimer, at: loop.now + timeout, for: self)
        }
        reservedCount += 1
        return HTTPStream(on: self, for: origin)
    }

    var hasNoStreamCredit: Bool { !isClosed && isIdle && !hasLostLocalAddress && !session.mayOpenStream }

    var allowsExtendedConnect: Bool { session.allowsExtendedConnect }

    private var mayOpenStream: Bool {
        !isClosed && !isRetired && !hasLostLocalAddress && session.mayOpenStream
            && session.openStreamCount + reservedCount < session.maximumConcurrentStreams
    }

    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError> {
        reservedCount -= 1
        pool.loop.disarm(streamCreditTimer)
        guard !isClosed else { return .failure(.notAllowed) }
        watchSilence()
        if let number = takeUpEarly(request, for: stream) { return .success(number) }
        do throws(HTTPStreamRequestError) {
            let number = try session.submit(request, isEarly: false)
            streams[number] = stream
            planTurn()
            return .success(number)
        } catch {
            becameFree()
            return .failure(error)
        }
    }

    func returnUnused() {
        reservedCount -= 1
        becameFree()
    }

    /// The server acknowledged a PING: it is alive and still has the state of this connection.
    func receivedAnswer() { pool.loop.disarm(answerTimer) }

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

    func setUrgency(_ urgency: Int, isIncremental: Bool, of number: Int64) {
        session.setPriority(urgency: urgency, isIncremental: isIncremental, of: number)
        planTurn()
    }

    func acknowledgement(of number: Int64) -> Acknowledgement? {
        Acknowledgement(acknowledged: 0, outstanding: UInt64(session.unacknowledgedBodyBytes(on: number)))
    }

    func bodyWireBytes(of number: Int64) -> Int64 {
        earlyWireBytes(of: number) ?? Int64(session.receivedBodyFrameBytes(on: number))
    }

    /// The peer may accept more streams than before.
    func roomChanged() {
        guard !isClosed else { return }
        pool.loop.disarm(streamCreditTimer)
        hasRoomForMore = true
        planTurn()
    }

    /// A stream was released. A waiting request may get a stream now.
    func becameFree() {
        guard !isClosed else { return }
        hasRoomForMore = true
        if isIdle {
            idleSince = pool.loop.now
            pool.loop.arm(idleTimer, at: idleSince + pool.loop.limits.multiplexedIdle, for: self)
        }
        planTurn()
    }

    // MARK: Turns

    /// Schedules the next turn, which sends the pending output.
    func planTurn() {
        guard !isTurnPlanned, !isHandlingReadiness, !isClosed else { return }
        isTurnPlanned = true
        socket.callAgain()
    }

    func socketBecameReady(_ socket: DatagramSocket) {
        isTurnPlanned = false
        turn { receive(into: pool.loop.scratch) }
    }

    private func turn(_ body: () -> Void) {
        isHandlingReadiness = true
        replayEarly()
        body()
        handOutGathered()
        flush()
        isHandlingReadiness = false
        setDeadline()
        // New and waiting requests are better served by another connection.
        if isAdopted, !isRetired, !isClosed, session.isFull, pool.mayHaveAnother(to: primaryOrigin) { retire() }
        if hasRoomForMore {
            hasRoomForMore = false
            if !isClosed { pool.serve(from: self) }
        }
        tellOpened()
        closeIfDone()
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) {
        var budget = Self.readBudget
        while !isClosed {
            guard budget > 0 else { return socket.callAgain() }
            switch socket.read(into: buffer) {
            case .datagrams(let count, let segment, let mark):
                // A small datagram costs as much as a larger one.
                budget -= max(count, 512)
                lastHeard = pool.loop.now
                receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), segment: segment, mark: mark)
            case .wouldBlock: return
            // The port is closed, or there is no route. This ends the connection during the handshake. Later, the error
            // may be forged by any host on the path, so QUIC's own timers decide.
            case .failed(let failure):
                if opened != nil { return lose(.connectionAttemptFailed(failure.code)) }
                return socket.callAgain()
            }
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, segment: Int, mark: UInt8) {
        do throws(HTTP3Error) {
            try session.receive(bytes, segment: segment, ecn: mark, at: pool.loop.now)
        } catch {
            giveUp(error)
        }
    }

    private func flush() {
        var budget = Self.writeBudget
        do throws(HTTP3Error) {
            while !isClosed {
                if let output = unsent {
                    switch send(output) {
                    case .wouldBlock: return
                    case .sent, .tooLong: break
                    case .failed(let failure):
                        if opened != nil { return lose(.connectionAttemptFailed(failure.code)) }
                    }
                    budget -= output.bytes.count
                    unsent = nil
                }
                guard budget > 0 else { return socket.callAgain() }
                guard let next = try session.nextOutput(at: pool.loop.now) else { return }
                unsent = next
            }
        } catch {
            giveUp(error)
        }
    }

    private func send(_ output: HTTP3Output) -> DatagramWrite {
        let mark = output.ecn | primaryOrigin.key.service.trafficClass << 2
        return socket.write(output.bytes, segment: output.segmentSize, mark: mark)
    }

    private func setDeadline() {
        guard !isClosed else { return }
        if let deadline = session.deadline {
            // Postponing a timer is cheap. Moving it to an earlier time costs little.
            pool.loop.arm(sessionTimer, at: deadline, for: self)
        } else {
            pool.loop.disarm(sessionTimer)
        }
    }

    // MARK: The end

    func retire() {
        pool.retire(self)
        session.goAway()
        planTurn()
    }

    private func watchSilence() {
        if silenceTimer.isArmed { return }
        pool.loop.arm(silenceTimer, at: pool.loop.now + pool.loop.limits.http3StreamSilence, for: self)
    }

    /// A crashed server sends no notice, and exchanges whose responses stall would wait for their own timeouts. A slow
    /// server still acknowledges the PING.
    private func lookForSilence() {
        if isIdle { return }
        let end = lastHeard + pool.loop.limits.http3StreamSilence
        if pool.loop.now >= end, !hasLostLocalAddress, !answerTimer.isArmed {
            session.ping()
            pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http3StreamPingTimeout, for: self)
            planTurn()
        }
        let next = end > pool.loop.now ? end : pool.loop.now + pool.loop.limits.http3StreamSilence
        pool.loop.arm(silenceTimer, at: next, for: self)
    }

    /// HTTP/3 counts as failed at a server that has answered all requests and grants no more streams. Requests use TCP
    /// instead.
    private func streamCreditTimedOut() {
        guard hasNoStreamCredit, !isRetired else { return }
        pool.http3Services.failed(service, of: primaryOrigin.key.place, at: pool.loop.now)
        retire()
    }

    private func closeIfDone() {
        guard !isClosed, isIdle, opened == nil, isAdopted, isRetired || hasLostLocalAddress else { return }
        closeAtOnce()
    }

    /// Whether the pool has, or had, this connection.
    var isAdopted = false

    func closeAtOnce() {
        close()
        pool.letGo(self)
    }

    private func giveUp(_ error: HTTP3Error) {
        if error == .helloRetryRequest, resumed != nil { return beginAnew() }
        isRefusedByHandshake = error.isOfHandshake && !session.isHandshakeConfirmed
        // Sends the CONNECTION_CLOSE for the server's log.
        if let words = try? session.nextOutput(at: pool.loop.now) { _ = send(words) }
        lose(meaning(of: error))
    }

    /// A response has begun. This proves that the server supports HTTP/3.
    func answered() {
        answerCount &+= 1
        primaryOrigin.lastAnswer = pool.loop.now
        guard answerCount == 1 else { return }
        pool.http3Services.succeeded(service, of: primaryOrigin.key.place)
    }

    /// The server refused a request. If it has never answered one, it may refuse all of them, and requests use TCP
    /// instead. If it has answered one, the next connection would be as good as this one.
    func refused() {
        guard !hasAnswered else { return }
        pool.http3Services.failed(service, of: primaryOrigin.key.place, at: pool.loop.now)
        if isAdopted, !isRetired { retire() }
    }

    /// The failure that is reported to a stream. A server that closes the connection because of the handshake has read
    /// no request, so the request can use TCP. A server that requested a client certificate would fail in the same
    /// manner over TCP.
    func told(_ failure: HTTPStreamFailure) -> HTTPStreamFailure {
        let isElsewhereBetter = isRefusedByHandshake && !hasAnswered && !session.isIdentityRequested
        if case .connectionLost(after: .sent) = failure, isElsewhereBetter { return .refused }
        return failure
    }

    /// A connection without any response may be lost because of QUIC, so another transport may work. A server that
    /// requested a client certificate may have required a different one, and would do so over TCP too.
    var hasOtherWay: Bool {
        guard let loss else { return false }
        return !hasAnswered && !loss.isNoRoute && !session.isIdentityRequested
    }

    /// Starts over after a HelloRetryRequest: the early data and the handshake are void, because GnuTLS cannot send a
    /// second ClientHello after early data.
    private func beginAnew() {
        early = nil
        unsent = nil
        if let words = try? session.nextOutput(at: pool.loop.now) { _ = send(words) }
        session.fail()
        resumed = nil
        session = makeSession()
        planTurn()
    }

    private func lose(_ error: LoadError) {
        guard !isClosed else { return }
        replayEarly()
        guard !isClosed else { return }
        loss = error
        if opened == nil, !hasAnswered, !streams.isEmpty, !error.isNoRoute {
            pool.http3Services.failed(service, of: primaryOrigin.key.place, at: pool.loop.now)
        }
        shut()
        if let opened {
            self.opened = nil
            session.fail()
            // This is called from turns only, so never before `init` has returned.
            return opened(error)
        }
        if isAdopted { pool.letGo(self) }
        session.fail()
    }

    /// The observers of open streams are not notified.
    func close() {
        guard !isClosed else { return }
        opened = nil
        early = nil
        for stream in streams.values { stream.detach() }
        let mark = primaryOrigin.key.service.trafficClass << 2
        session.close(at: pool.loop.now).withUnsafeBytes { words in
            if !words.isEmpty { _ = socket.write(words, segment: words.count, mark: mark) }
        }
        shut()
        session.fail()
    }

    private func shut() {
        pool.loop.disarm(idleTimer)
        pool.loop.disarm(sessionTimer)
        pool.loop.disarm(answerTimer)
        pool.loop.disarm(streamCreditTimer)
        pool.loop.disarm(silenceTimer)
        unsent = nil
        socket.close()
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === sessionTimer {
            return turn {
                do throws(HTTP3Error) { try session.handleDeadline(at: pool.loop.now) } catch { giveUp(error) }
            }
        }
        if timer === answerTimer { return lose(.networkConnectionLost(ETIMEDOUT)) }
        if timer === streamCreditTimer { return streamCreditTimedOut() }
        if timer === silenceTimer { return lookForSilence() }
        guard isIdle else { return }
        let end = idleSince + pool.loop.limits.multiplexedIdle
        guard end <= pool.loop.now else { return pool.loop.arm(idleTimer, at: end, for: self) }
        retire()
    }
}

extension HTTP3Endpoints {
    fileprivate init(_ socket: DatagramSocket) {
        self.init(local: socket.localAddress.octets, remote: socket.remoteAddress.octets)
    }
}

extension SocketAddress {
    /// The bytes of the `sockaddr`.
    fileprivate var octets: [UInt8] {
        withSockaddr { Array(UnsafeRawBufferPointer(start: $0, count: Int($1))) }
    }
}
