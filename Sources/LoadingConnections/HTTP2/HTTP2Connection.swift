internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// An HTTP/2 connection. Carries many exchanges at once, each as an `HTTPStream`. Confined to its loop, owned by its
/// pool.
///
/// Output that is requested during one turn is sent together in the next turn. Back-pressure applies per stream: a full
/// reader does not return its stream's flow-control window, and the other streams continue.
///
/// No access to the properties here lasts while a stream or the pool is called, so exclusive access is not checked.
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
    /// Streams that were handed out and have not begun.
    @exclusivity(unchecked) private var reservedCount = 0
    /// Output that the socket did not take. The session owns its memory until the next output is requested.
    @exclusivity(unchecked) private var unsent = UnsafeRawBufferPointer(start: nil, count: 0)
    @exclusivity(unchecked) private var isHandlingReadiness = false
    @exclusivity(unchecked) private var isTurnPlanned = false
    /// Whether a waiting request may have a stream now.
    @exclusivity(unchecked) private var hasRoomForMore = false
    /// Why the connection was lost; nil while it is not.
    private(set) var loss: LoadError?
    /// The error code of the server's GOAWAY; nil if none was received.
    var goodbye: HTTP2ErrorCode?
    private var hasWriteFailed = false
    /// The bytes that the peer had acknowledged when the answer timer was last armed.
    private var bytesAcknowledged: UInt64 = 0
    /// Streams that were reset, until their RST_STREAM frames go out.
    var ending: Set<Int64> = []
    private(set) var answerCount = 0
    @exclusivity(unchecked) var requestCount = 0
    /// The number of requests that the server is expected to accept, learned from an earlier connection.
    @exclusivity(unchecked) private var requestLimit: RequestLimit?
    /// The payload of the PING that verifies `requestLimit`, while it is outstanding.
    private var limitQuestion: UInt64?
    /// The bytes that the peer had acknowledged, and the time of the last received data, at the last stall check.
    private var stall = (bytesAcknowledged: 0 as UInt64, lastHeard: 0 as Int64)

    @exclusivity(unchecked) private(set) var idleSince: Int64
    /// When the connection last received data.
    @exclusivity(unchecked) private(set) var lastHeard: Int64
    private let idleTimer = LoopTimer()
    private let answerTimer = LoopTimer()
    private let stallTimer = LoopTimer()

    /// The bytes that one turn reads from a connection before other connections get their turn.
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

    /// Sends the connection preface. The server's first frames may have arrived with its handshake.
    func start() {
        pool.loop.arm(idleTimer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
        planTurn()
    }

    // MARK: Streams

    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream? {
        guard mayOpenStream else { return nil }
        let idleTime = pool.loop.now - max(idleSince, lastHeard)
        if isIdle, !isHandlingReadiness, !isRepeatable || idleTime > pool.loop.limits.unverifiedReuse {
            // The server may have closed the connection or sent GOAWAY, and the loop may not have read that yet.
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
    var allowsExtendedConnect: Bool { session.allowsExtendedConnect }

    private var mayOpenStream: Bool {
        !isClosed && !isRetired && !hasWriteFailed && session.mayOpenStream
            && session.openStreamCount + reservedCount < session.maximumConcurrentStreams && !isAtLimit
    }

    // MARK: Request limits

    /// Whether the number of begun requests has reached the expected limit.
    private var isAtLimit: Bool {
        guard let count = requestLimit?.count else { return false }
        return requestCount + reservedCount >= count
    }

    /// Sends a PING behind the last request that the server is expected to accept. A server that accepts no more sends
    /// GOAWAY before the acknowledgement. The limit on the earlier connection may have had another cause, such as a
    /// server restart.
    private func askAboutLimit() {
        guard isAtLimit, limitQuestion == nil, reservedCount == 0, !isClosed, !isRetired, unsent.isEmpty,
            !session.hasUnsentRequests
        else { return }
        if requestLimit?.isFirm == true { return retire() }
        // Bit 63 distinguishes this payload from the payloads of liveness PINGs, which are times.
        let question = UInt64(bitPattern: pool.loop.now) | 1 << 63
        limitQuestion = question
        // A slow acknowledgement does not fail the connection. Meanwhile, other requests use another connection.
        session.ping(question)
        stream.callAgain()
    }

    func receivedPingAnswer(_ payload: UInt64) {
        if payload == limitQuestion { liftLimit() }
    }

    func receivedResponse() {
        answerCount &+= 1
        primaryOrigin.lastAnswer = pool.loop.now
        // This also works with a server that acknowledges no PING.
        if let requestLimit, requestLimit.isDisproved(by: answerCount) { liftLimit() }
    }

    private func liftLimit() {
        guard requestLimit != nil, !isRetired, !isClosed else { return }
        requestLimit = nil
        pool.noteRequestLimit(nil, of: primaryOrigin.key)
        becameFree()
    }

    /// The server takes no requests after stream `lastStream`.
    func receivedGoodbye(lastStream: Int32, _ code: HTTP2ErrorCode) {
        goodbye = code
        pool.retire(self)
        // The first of two GOAWAY frames does not name the last stream (RFC 9113 §6.8).
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
        // The session may report the stream as closed within `reset`.
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

    /// Bytes that the socket has not taken are outstanding too. They may include bytes of other streams.
    func acknowledgement(of number: Int64) -> Acknowledgement? {
        guard var acknowledgement = stream.acknowledgement else { return nil }
        acknowledgement.outstanding += UInt64(unsent.count)
        return acknowledgement
    }

    /// A waiting request may get a stream now.
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

    /// Returns whether all available input was read.
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

    /// Reads data that the kernel has and the loop has not reported yet.
    private func hearNews() {
        guard stream.hasPendingInput else { return }
        // The loop's read buffer may be in use: this call can happen within another connection's turn, but not within
        // its own.
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
                        // Data that the server sent before it closed is read first. The read then ends with the cause.
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
        // Sends the GOAWAY for the server's log. It is not sent behind a partial frame, where the server would read it
        // as the rest of that frame.
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

    /// Starts the stall check. A peer that receives nothing does not receive RST_STREAM either, and the reset stream
    /// would stay open as long as the connection. No request may remain that waits for it.
    private func watchStall() {
        guard !ending.isEmpty, !unsent.isEmpty, !isClosed, !stallTimer.isArmed else { return }
        stall = (stream.bytesAcknowledged, lastHeard)
        pool.loop.arm(stallTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === stallTimer {
            if ending.isEmpty || unsent.isEmpty { return }
            // For some sockets the number of acknowledged bytes is unknown, or covers only one of several paths.
            let isKnown = stall.bytesAcknowledged > 0 && !stream.isMultipath
            let isGone = isKnown && stall == (stream.bytesAcknowledged, lastHeard)
            return isGone ? lose(.networkConnectionLost) : watchStall()
        }
        if timer === answerTimer {
            // The PING may still be queued behind other output.
            let taken = stream.bytesAcknowledged
            if taken == bytesAcknowledged { return lose(.networkConnectionLost) }
            bytesAcknowledged = taken
            return pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
        }
        guard isIdle else { return }
        let end = idleSince + pool.loop.limits.multiplexedIdle
        guard end <= pool.loop.now else { return pool.loop.arm(idleTimer, at: end, for: self) }
        retire()
        // A peer that does not even receive the GOAWAY is not waited for.
        bytesAcknowledged = stream.bytesAcknowledged
        pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
    }
}
