internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// An HTTP/2 connection over TLS. What is said of exclusive access in the superclass holds here too.
final class HTTP2Connection: MultiplexedConnectionState, MultiplexedConnection, ByteStreamOwner {
    let isAlternative = false
    let stream: ByteStream
    /// Stored, because it is compared with the addresses of each host that is looked up.
    let remoteAddress: SocketAddress?
    private(set) lazy var session = HTTP2Session(observer: self)
    /// Output that the socket did not take. The session owns its memory until the next output is requested.
    @exclusivity(unchecked) private var unsent = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The error code of the server's GOAWAY; nil if none was received.
    var goAwayCode: HTTP2ErrorCode?
    private var writeFailure: StreamFailure?
    /// The bytes that the peer had acknowledged when the answer timer was last armed.
    private var bytesAcknowledged: UInt64 = 0
    /// Streams that were reset, until their RST_STREAM frames go out.
    @exclusivity(unchecked) var ending: Set<Int64> = []
    /// The number of requests that the server is expected to accept, learned from an earlier connection.
    @exclusivity(unchecked) private(set) var requestLimit: HTTP2RequestLimit?
    /// The payload of the PING that verifies `requestLimit`, while it is outstanding.
    private(set) var limitPing: UInt64?
    /// The bytes that the peer had acknowledged, and the time of the last received data, at the last stall check.
    private var stall = (bytesAcknowledged: 0 as UInt64, lastHeard: 0 as Int64)

    private let stallTimer = LoopTimer()
    /// Limits the time at `requestLimit` in which requests wait for this connection.
    private let limitTimer = LoopTimer()

    init(stream: ByteStream, primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.stream = stream
        remoteAddress = stream.remoteAddress
        requestLimit = pool.requestLimits[primaryOrigin.key]
        super.init(.http2, primaryOrigin: primaryOrigin, pool: pool)
        stream.owner = self
    }

    var isClosed: Bool { stream.isClosed }
    var isTrusted: Bool { stream.isTrusted }
    var channelBinding: ChannelBinding? { stream.tls?.channelBinding }

    var peer: ConnectedPeer? {
        // A client certificate was for this server only.
        guard let tls = stream.tls, !tls.isIdentityRequested else { return nil }
        let session = tls.session
        return ConnectedPeer(
            certificates: session.peerCertificates, stapledResponse: tls.stapledResponse,
            agreement: ServerTrustDecision.Agreement(
                version: session.version.rawValue, cipherSuite: session.cipherSuite))
    }

    var localAddresses: [SocketAddress] { stream.localAddresses }

    func localAddressWasLost() {
        // What earlier losses have taught may have had its cause in the former network.
        pool.requestLimits[primaryOrigin.key] = nil
        lose(.networkConnectionLost(ENETDOWN))
    }

    func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(of: stream, to: primaryOrigin.key, protocolName: "h2", isReused: isReused)
    }

    /// Sends the connection preface. The server's first frames may have arrived with its handshake.
    func start() {
        armIdleTimer()
        planTurn()
    }

    // MARK: Streams

    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream? {
        guard mayOpenStream else { return nil }
        let idleTime = pool.loop.now - max(idleSince, lastHeard)
        if isIdle, !isHandlingReadiness, !isRepeatable || idleTime > pool.loop.limits.unverifiedReuse {
            // The server may have closed the connection or sent GOAWAY, and the loop may not have read that yet.
            readPendingInput()
            guard mayOpenStream else { return nil }
        }
        if pool.loop.now - lastHeard > pool.loop.limits.http2PingSilence, !answerTimer.isArmed {
            session.ping(UInt64(bitPattern: pool.loop.now))
            armAnswerTimer()
        }
        return reserveStream(for: origin)
    }

    var mayWorkOverOtherTransport: Bool { false }
    var acceptsStreams: Bool { writeFailure == nil && !isAtLimit }

    // MARK: Request limits

    /// Whether the number of begun requests has reached the expected limit.
    private var isAtLimit: Bool {
        guard let count = requestLimit?.count else { return false }
        return requestCount + reservedCount >= count
    }

    /// Sends a PING behind the last request that the server is expected to accept. A server that accepts no more sends
    /// GOAWAY before the acknowledgement. The limit on the earlier connection may have had another cause, such as a
    /// server restart.
    private func verifyLimit() {
        guard isAtLimit, limitPing == nil, !isClosed, !isRetired else {
            // A place may have been given back.
            if limitTimer.isArmed, !isAtLimit { pool.loop.disarm(limitTimer) }
            return
        }
        // Until the acknowledgement, other requests wait for this connection. They do not wait long for a slow upload,
        // or for a server that is gone.
        if !limitTimer.isArmed {
            pool.loop.arm(limitTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
        }
        // The session sends the PING ahead of the bodies, so the socket need not have taken all output.
        guard reservedCount == 0, !session.hasUnsentRequests else { return }
        if requestLimit?.isFirm == true { return retire() }
        // Bit 63 distinguishes this payload from the payloads of liveness PINGs, which are times.
        let question = UInt64(bitPattern: pool.loop.now) | 1 << 63
        limitPing = question
        session.ping(question)
        stream.callAgain()
    }

    func liftLimit() {
        // The connection may have been retired before a slow acknowledgement.
        guard requestLimit != nil, goAwayCode == nil, !isClosed else { return }
        requestLimit = nil
        pool.loop.disarm(limitTimer)
        pool.requestLimits[primaryOrigin.key] = nil
        if !isRetired { becameFree() }
    }

    func cancel(_ number: Int64) { end(number, .cancel) }

    func stopRequest(of number: Int64) { end(number, .noError) }

    private func end(_ number: Int64, _ code: HTTP2ErrorCode) {
        // The session may report the stream as closed within `reset`.
        if streams[number] != nil { ending.insert(number) }
        session.reset(number, code: code)
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

    /// Bytes that the socket has not taken are outstanding too. They may include bytes of other streams.
    func acknowledgement(of number: Int64) -> Acknowledgement? {
        guard var acknowledgement = stream.acknowledgement else { return nil }
        acknowledgement.outstanding += UInt64(unsent.count)
        return acknowledgement
    }

    // MARK: Turns

    func callAgain() { stream.callAgain() }

    func streamBecameReady(_ stream: ByteStream) {
        isTurnPlanned = false
        isHandlingReadiness = true
        let isDrained = receive(into: pool.loop.scratch)
        if isDrained, writeFailure != nil { ended(with: .networkConnectionLost) }
        flush()
        verifyLimit()
        isHandlingReadiness = false
        watchStall()
        if !isRetired, !isClosed, isOverfull || !session.hasNumbersLeft { retire() }
        serveWaiting()
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
            case .end, .truncated: ended(with: .networkConnectionLost)
            case .failed(let failure): ended(with: LoadError(failure), because: failure)
            }
        }
        return true
    }

    /// Reads data that the kernel has and the loop has not reported yet.
    private func readPendingInput() {
        guard stream.hasPendingInput else { return }
        // The loop's read buffer may be in use: this call can happen within another connection's turn, but not within
        // its own.
        isHandlingReadiness = true
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { _ = receive(into: $0) }
        isHandlingReadiness = false
        planTurn()
    }

    private func flush() {
        if writeFailure != nil { return }
        do throws(HTTP2Error) {
            while !isClosed {
                while !unsent.isEmpty {
                    switch stream.write(unsent) {
                    case .bytes(let count): unsent = UnsafeRawBufferPointer(rebasing: unsent[count...])
                    case .wouldBlock: return
                    case .failed(let failure):
                        // Data that the server sent before it closed is read first. The read then ends with the cause.
                        unsent = UnsafeRawBufferPointer(start: nil, count: 0)
                        writeFailure = failure
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

    private func closeIfDone() {
        guard !isClosed, isIdle, isRetired, unsent.isEmpty || session.isFinished else { return }
        if goAwayCode == nil, isAtLimit, requestLimit?.isFirm == true { pool.noteGoodEnd(of: primaryOrigin.key) }
        closeAtOnce()
    }

    /// The peer has violated the protocol.
    private func giveUp(_ error: HTTP2Error) {
        // Sends the GOAWAY for the server's log. It is not sent behind a partial frame, where the server would read it
        // as the rest of that frame.
        while unsent.isEmpty, let words = try? session.nextOutput(), case .bytes(words.count) = stream.write(words) {}
        lose(.cannotParseResponse("HTTP/2: \(error)"))
    }

    /// The socket has ended. If that was done by the server, it may accept a limited number of requests.
    private func ended(with error: LoadError, because failure: StreamFailure? = nil) {
        guard !isClosed else { return }
        let isByServer = ![failure, writeFailure].contains { $0?.isOfNetwork == true }
        if isByServer, goAwayCode == nil, answerCount > 0, !streams.isEmpty {
            pool.noteLoss(after: answerCount, of: primaryOrigin.key)
        }
        lose(error)
    }

    private func lose(_ error: LoadError) {
        guard !isClosed else { return }
        loss = error
        shut()
        pool.remove(self)
        session.fail()
    }

    func close() {
        for stream in streams.all { stream.detach() }
        shut()
        session.fail()
    }

    private func shut() {
        gathering = []
        for timer in [idleTimer, answerTimer, stallTimer, limitTimer] { pool.loop.disarm(timer) }
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
        if timer === stallTimer { return checkStall() }
        if timer === answerTimer { return checkAnswer() }
        if timer === limitTimer {
            // Open streams continue, because a slow acknowledgement is no failure. Waiting requests get another
            // connection.
            if isAtLimit, !isRetired { retire() }
            return
        }
        guard isIdleTimeOver() else { return }
        retire()
        // A peer that does not even receive the GOAWAY is not waited for.
        armAnswerTimer()
    }

    private func checkStall() {
        if ending.isEmpty || unsent.isEmpty { return }
        // For some sockets the number of acknowledged bytes is unknown, or covers only one of several paths.
        let isKnown = stall.bytesAcknowledged > 0 && !stream.isMultipath
        let isGone = isKnown && stall == (stream.bytesAcknowledged, lastHeard)
        if isGone { lose(.networkConnectionLost) } else { watchStall() }
    }

    /// Acknowledged bytes count as an answer, because the PING may still be queued behind other output.
    private func checkAnswer() {
        let before = bytesAcknowledged
        armAnswerTimer()
        if bytesAcknowledged == before { lose(.networkConnectionLost) }
    }

    private func armAnswerTimer() {
        bytesAcknowledged = stream.bytesAcknowledged
        pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
    }
}

extension StreamFailure {
    /// Whether the kernel ended the connection because of the network, and not because the peer closed or reset it.
    fileprivate var isOfNetwork: Bool {
        [ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN].contains(code)
    }
}
