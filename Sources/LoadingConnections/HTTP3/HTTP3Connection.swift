internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A connection that speaks HTTP/3 over QUIC: carries many exchanges at once, each as an `HTTPStream`. Confined to its
/// loop; owned by the race that makes it, then by its pool.
///
/// QUIC's own clockwork (what is lost, what is sent again, and how fast) is a deadline of the session's, which is one
/// timer here. What a turn has asked for goes out together, in the next one.
final class HTTP3Connection: MultiplexedConnection, AddressRaceCandidate, DatagramSocketOwner, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    let pool: ConnectionPool
    var coalescedOrigins: [OriginConnections] = []
    var isRetired = false
    /// Where it leads.
    let service: AlternativeService
    private var answerCount = 0
    /// A number, changed for each request: no access can overlap another, so that is not checked.
    @exclusivity(unchecked) var requestCount = 0
    /// Whether a response has come over it. Before that it may turn out to be of no use.
    var hasAnswered: Bool { answerCount > 0 }
    let version = HTTPVersion.http3
    private var socket: DatagramSocket
    private(set) lazy var session = makeSession()
    var streams: [Int64: HTTPStream] = [:]
    var gathering: [HTTPStream] = []
    /// Given out, and not begun yet.
    private var reservedCount = 0
    /// What went out before the handshake was through.
    var early: EarlyExchange?
    /// What the socket did not take. Its memory is the session's until more is asked for.
    private var unsent: HTTP3Output?
    private var isHandlingReadiness = false
    private var isTurnPlanned = false
    /// Whether somebody who waits may have a stream now.
    private var hasRoomForMore = false
    /// Why the connection was given up, once it was.
    private(set) var loss: LoadError?
    /// Whether the server has ended the connection for what it saw of the handshake.
    private(set) var isRefusedByHandshake = false
    /// Whether its address is gone and there is no way from another one.
    private(set) var hasLostLocalAddress = false

    /// Told when the handshake is through, or has failed; before anybody has looked at the certificates.
    private var opened: ((LoadError?) -> Void)?
    private var isHandshakeComplete = false
    /// The server's certificates in DER, the leaf first, once they are known.
    private(set) var certificates: [[UInt8]] = []
    private(set) var cipherSuite: UInt16?
    /// Whether the default evaluation trusts the server.
    private(set) var isTrusted = false
    /// For whom the sessions are that the server offers to resume.
    private let origin: ConnectionSecurity.QUICPeer
    /// What this side is known by, should the server ask.
    private let identity: HTTP3Identity?
    /// The session that is offered to be resumed.
    private var resumed: ConnectionSecurity.QUICSession?
    /// Whether a request goes out with the beginning of the handshake; else nothing does (TLS-9).
    private let beginsEarly: Bool
    /// Those for the next connections, until it is known what they are worth.
    private var resumptions: [HTTP3Resumption] = []
    /// The server is trusted.
    private var hasBegun = false

    /// Which sessions are of its time.
    private let generation: Int
    private(set) var idleSince: Int64
    /// When something came last.
    private var lastHeard: Int64
    private let sessionTimer = LoopTimer()
    private let idleTimer = LoopTimer()
    private let answerTimer = LoopTimer()
    private let streamCreditTimer = LoopTimer()
    /// Armed while streams are open, for the next look whether anything has come.
    private let silenceTimer = LoopTimer()

    /// Bytes of one connection that a turn reads before the others have theirs. With more a client that keeps up would
    /// still be full in each turn, and what it does not take at once is copied twice.
    private static let readBudget = 256 * 1024
    /// Bytes that a turn sends before the others have theirs.
    private static let writeBudget = 1024 * 1024

    /// Begins with the handshake. `opened` is told once, never before this returns, unless the connection is closed
    /// before.
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
    /// Whether the server lets requests be made, once it is trusted.
    var takesRequests: Bool { !session.isGoingAway && session.maximumConcurrentStreams > 0 }

    var peer: ConnectedPeer? {
        // Who has told this server who he is has not told another.
        guard let cipherSuite, !session.isIdentityRequested else { return nil }
        return ConnectedPeer(
            address: socket.remoteAddress, certificates: certificates,
            agreement: ServerTrustDecision.Agreement(version: TLSVersion.tls13.rawValue, cipherSuite: cipherSuite))
    }

    var localAddresses: [SocketAddress] { [socket.localAddress] }
    var canMigrate: Bool { true }
    var remoteAddress: SocketAddress? { socket.remoteAddress }

    /// The connection goes on from another address of this machine's (RFC 9000 §9). Where there is none, the streams wait
    /// for one until QUIC's own timer ends the connection, and new ones are not let wait with them.
    func localAddressWasLost() {
        let before = socket
        guard !isClosed, opened == nil else { return lose(.networkConnectionLost(ENETDOWN)) }
        guard let next = try? DatagramSocket(to: before.remoteAddress, on: pool.loop, owner: self) else {
            hasLostLocalAddress = true
            // No answer can come.
            pool.loop.disarm(answerTimer)
            if isIdle { return lose(.networkConnectionLost(ENETDOWN)) }
            // Who comes now hears that there is no way, or waits for one (CONN-12, CONN-14).
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

    /// The handshake is through. Whoever races for the connection is told when the turn is over.
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

    /// Whether the default evaluation has trusted the server when the session was made that goes on here.
    var wasEvaluated: Bool { session.isResumed && resumed?.wasEvaluated == true }

    /// What the server wants to know this side by; nil if it does not ask.
    var identityRequest: TLSIdentityRequest? {
        guard session.isIdentityRequested else { return nil }
        return TLSIdentityRequest(serverName: primaryOrigin.key.host, distinguishedNames: session.issuers)
    }

    var stapledResponse: [UInt8]? { session.stapledResponse }

    /// Servers say by the alerts of TLS what they think of a certificate, or of none (TLS-5).
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

    /// A session for the next connection, which is worth what this one is. Where the server has asked for a certificate
    /// there is none, so that it asks again.
    func keep(_ resumption: HTTP3Resumption) {
        guard hasBegun else { return resumptions.append(resumption) }
        if session.isIdentityRequested { return }
        pool.security.keep(resumption, of: generation, wasEvaluated: isTrusted, for: origin)
    }

    /// The server is trusted. From now on the connection is the pool's.
    func begin(isTrusted: Bool) {
        self.isTrusted = isTrusted
        hasBegun = true
        for resumption in resumptions { keep(resumption) }
        resumptions = []
        session.trust()
        pool.loop.arm(idleTimer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
        planTurn()
    }

    /// The server is not trusted, and is told so.
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

    /// The server is there, and knows the connection.
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

    /// The peer may take more than before.
    func roomChanged() {
        guard !isClosed else { return }
        pool.loop.disarm(streamCreditTimer)
        hasRoomForMore = true
        planTurn()
    }

    /// A stream is nobody's any more: there may be room for somebody who waits.
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

    /// Has what was asked for go out in the next turn.
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
        // Who comes now is better off elsewhere, and so is who waits.
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
                // Small ones cost as much as others.
                budget -= max(count, 512)
                lastHeard = pool.loop.now
                receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), segment: segment, mark: mark)
            case .wouldBlock: return
            // Nobody listens, or there is no way: while the handshake is on this is the end. Later anybody on the way may
            // have said so, and QUIC's own timers decide.
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
            // Postponing a timer is cheap, moving it to an earlier time is not dear.
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

    /// A server that has crashed tells nobody, and those whose responses do not go on would wait for their own time. One
    /// that is slow acknowledges the question.
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

    /// A server that has answered all requests and allows no others is one whose HTTP/3 has failed: there is TCP.
    private func streamCreditTimedOut() {
        guard hasNoStreamCredit, !isRetired else { return }
        pool.http3Services.failed(service, of: primaryOrigin.key.place, at: pool.loop.now)
        retire()
    }

    private func closeIfDone() {
        guard !isClosed, isIdle, opened == nil, isAdopted, isRetired || hasLostLocalAddress else { return }
        closeAtOnce()
    }

    /// Whether the pool has it, or had.
    var isAdopted = false

    func closeAtOnce() {
        close()
        pool.letGo(self)
    }

    private func giveUp(_ error: HTTP3Error) {
        if error == .helloRetryRequest, resumed != nil { return beginAnew() }
        isRefusedByHandshake = error.isOfHandshake && !session.isHandshakeConfirmed
        // The last words are for its log.
        if let words = try? session.nextOutput(at: pool.loop.now) { _ = send(words) }
        lose(meaning(of: error))
    }

    /// A response has begun: whoever is there speaks HTTP/3.
    func answered() {
        answerCount &+= 1
        primaryOrigin.lastAnswer = pool.loop.now
        guard answerCount == 1 else { return }
        pool.http3Services.succeeded(service, of: primaryOrigin.key.place)
    }

    /// A request was refused. Who has never answered one may refuse all, and there is TCP; had he answered one before, the next
    /// connection would be as good as this one.
    func refused() {
        guard !hasAnswered else { return }
        pool.http3Services.failed(service, of: primaryOrigin.key.place, at: pool.loop.now)
        if isAdopted, !isRetired { retire() }
    }

    /// What a stream is told of its end. A server that ends the connection for what it saw of the handshake has read no request;
    /// and there is TCP. But one that has asked for a certificate would say the same there.
    func told(_ failure: HTTPStreamFailure) -> HTTPStreamFailure {
        let isElsewhereBetter = isRefusedByHandshake && !hasAnswered && !session.isIdentityRequested
        if case .connectionLost(after: .sent) = failure, isElsewhereBetter { return .refused }
        return failure
    }

    /// A connection without any response may be lost because it is one over QUIC; but one that has asked for a certificate may
    /// have wanted another, and would over TCP.
    var hasOtherWay: Bool {
        guard let loss else { return false }
        return !hasAnswered && !loss.isNoRoute && !session.isIdentityRequested
    }

    /// What went out early was for nothing, and so was the handshake: GnuTLS cannot say hello once more after that.
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
            // Never before `init` has returned: this is called from turns alone.
            return opened(error)
        }
        if isAdopted { pool.letGo(self) }
        session.fail()
    }

    /// Those whose streams these are hear nothing.
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
    /// The bytes of its `sockaddr`.
    fileprivate var octets: [UInt8] {
        withSockaddr { Array(UnsafeRawBufferPointer(start: $0, count: Int($1))) }
    }
}
