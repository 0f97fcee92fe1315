internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A connection that speaks HTTP/2: carries many exchanges at once, each as an `HTTPStream`. Confined to its loop, owned
/// by its pool.
///
/// What a turn has asked for goes out together, in the next one. Back-pressure is the streams' own: a reader that has
/// enough does not give back what its stream's window allowed, and the others go on.
///
/// No access to what is stored here lasts while a stream or the pool is called, so exclusive access is not checked.
final class HTTP2Connection: MultiplexedConnection, ByteStreamOwner, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    let pool: ConnectionPool
    @exclusivity(unchecked) var coalescedOrigins: [OriginConnections] = []
    @exclusivity(unchecked) var isRetired = false
    let isAlternative = false
    let version = HTTPVersion.http2
    let stream: ByteStream
    private lazy var session = HTTP2Session(observer: self)
    @exclusivity(unchecked) var streams: [Int64: HTTPStream] = [:]
    @exclusivity(unchecked) var gathering: [HTTPStream] = []
    /// Handed out, and not begun yet.
    @exclusivity(unchecked) private var reservedCount = 0
    /// What the socket did not take. Its memory is the session's until more is asked for.
    @exclusivity(unchecked) private var unsent = UnsafeRawBufferPointer(start: nil, count: 0)
    @exclusivity(unchecked) private var isHandlingReadiness = false
    @exclusivity(unchecked) private var isTurnPlanned = false
    /// Whether a waiting request may have a stream now.
    @exclusivity(unchecked) private var hasRoomForMore = false
    /// Why the connection was given up, once it was.
    private(set) var loss: LoadError?
    /// Why the server takes no more, if it has said so.
    var goodbye: HTTP2ErrorCode?
    private var hasWriteFailed = false
    /// How much the peer had taken when it was last asked for a sign of life.
    private var bytesAcknowledged: UInt64 = 0
    /// Streams that are done away with, until that goes out.
    var ending: Set<Int64> = []
    private(set) var answerCount = 0
    @exclusivity(unchecked) var requestCount = 0
    /// How many the server is expected to take, since it took no more on another connection.
    @exclusivity(unchecked) private var requestLimit: RequestLimit?
    /// The PING that is out to find out whether it takes more.
    private var limitQuestion: UInt64?
    /// How much the peer had taken, and when it was last heard of, when it was last looked whether it takes anything.
    private var stall = (bytesAcknowledged: 0 as UInt64, lastHeard: 0 as Int64)

    @exclusivity(unchecked) private(set) var idleSince: Int64
    /// When something came last.
    @exclusivity(unchecked) private(set) var lastHeard: Int64
    private let idleTimer = LoopTimer()
    private let answerTimer = LoopTimer()
    private let stallTimer = LoopTimer()

    /// Bytes of one connection that a turn reads before the others have theirs.
    private static let readBudget = 256 * 1024

    init(stream: ByteStream, primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.stream = stream
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        idleSince = pool.loop.now
        lastHeard = pool.loop.now
        requestLimit = pool.requestLimit(of: primaryOrigin.key)
        stream.owner = self
    }

    var isClosed: Bool { stream.isClosed }
    var isIdle: Bool { streams.isEmpty && reservedCount == 0 }
    var isTrusted: Bool { stream.tls?.isTrusted ?? false }

    var peer: ConnectedPeer? {
        // A client certificate was for this server only.
        guard let tls = stream.tls, !tls.isIdentityRequested, let address = stream.remoteAddress else { return nil }
        let session = tls.session
        return ConnectedPeer(
            address: address, certificates: session.peerCertificates,
            agreement: ServerTrustDecision.Agreement(
                version: session.version.rawValue, cipherSuite: session.cipherSuite))
    }

    var localAddresses: [SocketAddress] { stream.localAddresses }
    var remoteAddress: SocketAddress? { stream.remoteAddress }
    func localAddressWasLost() { lose(.networkConnectionLost(ENETDOWN)) }

    func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(of: stream, to: primaryOrigin.key, speaking: "h2", isReused: isReused)
    }

    /// Begins with what each connection begins with. What the server says first may have come with its handshake.
    func start() {
        pool.loop.arm(idleTimer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
        planTurn()
    }

    // MARK: Streams

    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream? {
        guard mayOpenStream else { return nil }
        let idleTime = pool.loop.now - max(idleSince, lastHeard)
        if isIdle, !isHandlingReadiness, !isRepeatable || idleTime > pool.loop.limits.unverifiedReuse {
            // The server may have closed it, or said goodbye, without the loop's having heard of that.
            hearNews()
            guard mayOpenStream else { return nil }
        }
        if pool.loop.now - lastHeard > pool.loop.limits.http2PingSilence, !answerTimer.isArmed {
            session.ping(UInt64(bitPattern: pool.loop.now))
            bytesAcknowledged = stream.bytesAcknowledged
            pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
        }
        reservedCount += 1
        return HTTPStream(on: self, for: origin)
    }

    var hasNoStreamCredit: Bool { !isClosed && isIdle && !session.mayOpenStream }
    var hasOtherWay: Bool { false }

    private var mayOpenStream: Bool {
        !isClosed && !isRetired && !hasWriteFailed && session.mayOpenStream
            && session.openStreamCount + reservedCount < session.maximumConcurrentStreams && !isAtLimit
    }

    // MARK: Servers that take few requests

    /// Whether as many requests were begun as the server is expected to take.
    private var isAtLimit: Bool {
        guard let count = requestLimit?.count else { return false }
        return requestCount + reservedCount >= count
    }

    /// Asks the server for an answer behind the last request that it is expected to take. If it takes no more it has said so
    /// before that answer; what it took on another connection may have had another reason, as that the server was restarted.
    private func askAboutLimit() {
        guard isAtLimit, limitQuestion == nil, reservedCount == 0, !isClosed, !isRetired, unsent.isEmpty,
            !session.hasUnsentRequests
        else { return }
        if requestLimit?.isFirm == true { return retire() }
        // Apart from the questions for a sign of life, which are times.
        let question = UInt64(bitPattern: pool.loop.now) | 1 << 63
        limitQuestion = question
        // A server that is long in answering is not lost; others go to another connection meanwhile.
        session.ping(question)
        stream.callAgain()
    }

    func receivedPingAnswer(_ payload: UInt64) {
        if payload == limitQuestion { liftLimit() }
    }

    func receivedResponse() {
        answerCount &+= 1
        primaryOrigin.lastAnswer = pool.loop.now
        // Also of a server that answers no PING.
        if let requestLimit, requestLimit.isDisproved(by: answerCount) { liftLimit() }
    }

    private func liftLimit() {
        guard requestLimit != nil, !isRetired, !isClosed else { return }
        requestLimit = nil
        pool.noteRequestLimit(nil, of: primaryOrigin.key)
        becameFree()
    }

    /// The server takes no requests behind that stream.
    func receivedGoodbye(lastStream: Int32, _ code: HTTP2ErrorCode) {
        goodbye = code
        pool.retire(self)
        // The first of two goodbyes does not say which was the last (RFC 9113 §6.8).
        guard lastStream > 0, lastStream < Int32.max else { return }
        let taken = min(requestCount, Int(lastStream / 2) + 1)
        if code == .noError, taken > 0 { pool.noteRequestLimit(.told(taken), of: primaryOrigin.key) }
    }

    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError> {
        reservedCount -= 1
        guard !isClosed else { return .failure(.notAllowed) }
        do throws(HTTPStreamRequestError) {
            let number = Int64(try session.submit(request))
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

    func cancel(_ number: Int64) {
        end(number, .cancel)
    }

    func stopRequest(of number: Int64) {
        end(number, .noError)
    }

    private func end(_ number: Int64, _ code: HTTP2ErrorCode) {
        // It may be told as closed at once.
        if streams[number] != nil { ending.insert(number) }
        session.reset(Int32(clamping: number), code: code)
        planTurn()
    }

    func resumeBody(of number: Int64) {
        session.resumeBody(of: Int32(clamping: number))
        planTurn()
    }

    func consumed(_ count: Int, on number: Int64) {
        session.consumed(count, on: Int32(clamping: number))
        planTurn()
    }

    func setUrgency(_ urgency: Int, isIncremental: Bool, of number: Int64) {
        session.setPriority(urgency: urgency, isIncremental: isIncremental, of: Int32(clamping: number))
        planTurn()
    }

    func bodyWireBytes(of number: Int64) -> Int64 {
        Int64(session.receivedBodyFrameBytes(on: Int32(clamping: number)))
    }

    /// What the socket has not taken is outstanding as well. What others have sent behind it may be among that.
    func acknowledgement(of number: Int64) -> Acknowledgement? {
        guard var acknowledgement = stream.acknowledgement else { return nil }
        acknowledgement.outstanding += UInt64(unsent.count)
        return acknowledgement
    }

    /// There may be a stream for a waiting request.
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
    private func planTurn() {
        guard !isTurnPlanned, !isHandlingReadiness, !isClosed else { return }
        isTurnPlanned = true
        stream.callAgain()
    }

    func streamBecameReady(_ stream: ByteStream) {
        isTurnPlanned = false
        isHandlingReadiness = true
        let isDrained = receive(into: pool.loop.scratch)
        if isDrained, hasWriteFailed { lose(.networkConnectionLost) }
        flush()
        askAboutLimit()
        isHandlingReadiness = false
        watchStall()
        // New and waiting requests are better served by another connection.
        if !isRetired, !isClosed, session.isFull && pool.mayHaveAnother(to: primaryOrigin) || !session.hasNumbersLeft {
            retire()
        }
        if hasRoomForMore {
            hasRoomForMore = false
            if !isClosed { pool.serve(from: self) }
        }
        closeIfDone()
    }

    /// Whether there is no more for now.
    @discardableResult
    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var budget = Self.readBudget
        defer { handOutGathered() }
        while !isClosed {
            guard budget > 0 else {
                stream.callAgain()
                return false
            }
            switch stream.read(into: buffer) {
            case .bytes(let count):
                budget -= count
                lastHeard = pool.loop.now
                pool.loop.disarm(answerTimer)
                do throws(HTTP2Error) {
                    try session.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                } catch {
                    giveUp(error)
                }
                if !stream.mayHaveMore { return true }
            case .wouldBlock: return true
            case .end, .truncated: lose(.networkConnectionLost)
            case .failed(let failure): lose(LoadError(failure))
            }
        }
        return true
    }

    /// Takes what the kernel has and the loop has not heard of.
    private func hearNews() {
        guard stream.hasPendingInput else { return }
        // What the loop reads into may be in use: this can be in the midst of another connection's turn, though not of its
        // own.
        isHandlingReadiness = true
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { _ = receive(into: $0) }
        isHandlingReadiness = false
        planTurn()
    }

    private func flush() {
        if hasWriteFailed { return }
        do throws(HTTP2Error) {
            while !isClosed {
                while !unsent.isEmpty {
                    switch stream.write(unsent) {
                    case .bytes(let count): unsent = UnsafeRawBufferPointer(rebasing: unsent[count...])
                    case .wouldBlock: return
                    case .failed:
                        // What the server has said before it closed is read first; the reading ends with the cause.
                        unsent = UnsafeRawBufferPointer(start: nil, count: 0)
                        hasWriteFailed = true
                        return stream.callAgain()
                    }
                }
                guard let next = try session.nextOutput() else { return }
                unsent = next
            }
        } catch {
            giveUp(error)
        }
    }

    // MARK: The end

    func retire() {
        pool.retire(self)
        session.goAway()
        planTurn()
    }

    private func closeIfDone() {
        guard !isClosed, isIdle, isRetired, unsent.isEmpty || session.isFinished else { return }
        if goodbye == nil, isAtLimit, requestLimit?.isFirm == true { pool.noteGoodEnd(of: primaryOrigin.key) }
        closeAtOnce()
    }

    func closeAtOnce() {
        close()
        pool.letGo(self)
    }

    /// The peer has violated the protocol.
    private func giveUp(_ error: HTTP2Error) {
        // The last words are for its log. Behind a part of a frame they would be read as the rest of it.
        while unsent.isEmpty, let words = try? session.nextOutput(), case .bytes(words.count) = stream.write(words) {}
        lose(.cannotParseResponse("HTTP/2: \(error)"))
    }

    private func lose(_ error: LoadError) {
        guard !isClosed else { return }
        loss = error
        if goodbye == nil, answerCount > 0, !streams.isEmpty {
            pool.noteLoss(after: answerCount, of: primaryOrigin.key)
        }
        shut()
        pool.letGo(self)
        session.fail()
    }

    func close() {
        for stream in streams.values { stream.detach() }
        shut()
        session.fail()
    }

    private func shut() {
        pool.loop.disarm(idleTimer)
        pool.loop.disarm(answerTimer)
        pool.loop.disarm(stallTimer)
        unsent = UnsafeRawBufferPointer(start: nil, count: 0)
        stream.close()
    }

    /// A peer that takes nothing does not take either that a stream is done away with, which would be there for as long as the
    /// connection. Nobody may be left who waits for it.
    private func watchStall() {
        guard !ending.isEmpty, !unsent.isEmpty, !isClosed, !stallTimer.isArmed else { return }
        stall = (stream.bytesAcknowledged, lastHeard)
        pool.loop.arm(stallTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === stallTimer {
            if ending.isEmpty || unsent.isEmpty { return }
            // Of some sockets it is not known how much was taken, or of one of several ways alone.
            let isKnown = stall.bytesAcknowledged > 0 && !stream.isMultipath
            let isGone = isKnown && stall == (stream.bytesAcknowledged, lastHeard)
            return isGone ? lose(.networkConnectionLost) : watchStall()
        }
        if timer === answerTimer {
            // The question may still stand behind what is being sent.
            let taken = stream.bytesAcknowledged
            if taken == bytesAcknowledged { return lose(.networkConnectionLost) }
            bytesAcknowledged = taken
            return pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
        }
        guard isIdle else { return }
        let end = idleSince + pool.loop.limits.multiplexedIdle
        guard end <= pool.loop.now else { return pool.loop.arm(idleTimer, at: end, for: self) }
        retire()
        // A peer that does not even take the goodbye is not waited for.
        bytesAcknowledged = stream.bytesAcknowledged
        pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
    }
}
