internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// An HTTP/2 connection over TLS. What is said of exclusive access in the superclass holds here too.
final class HTTP2Connection: MultiplexedConnectionState, MultiplexedConnection, ByteStreamOwner {
    let isAlternative = false
    let stream: ByteStream
    private(set) lazy var session = HTTP2Session(observer: self)
    /// Output that the socket did not take. The session owns its memory until the next output is requested.
    @exclusivity(unchecked) private var unsent = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The error code of the server's GOAWAY; nil if none was received.
    var goodbye: HTTP2ErrorCode?
    private var hasWriteFailed = false
    /// The bytes that the peer had acknowledged when the answer timer was last armed.
    private var bytesAcknowledged: UInt64 = 0
    /// Streams that were reset, until their RST_STREAM frames go out.
    var ending: Set<Int64> = []
    /// The number of requests that the server is expected to accept, learned from an earlier connection.
    @exclusivity(unchecked) private(set) var requestLimit: HTTP2RequestLimit?
    /// The payload of the PING that verifies `requestLimit`, while it is outstanding.
    private(set) var limitQuestion: UInt64?
    /// The bytes that the peer had acknowledged, and the time of the last received data, at the last stall check.
    private var stall = (bytesAcknowledged: 0 as UInt64, lastHeard: 0 as Int64)

    private let stallTimer = LoopTimer()

    init(stream: ByteStream, primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.stream = stream
        requestLimit = pool.requestLimits[primaryOrigin.key]
        super.init(.http2, primaryOrigin: primaryOrigin, pool: pool)
        stream.owner = self
    }

    var isClosed: Bool { stream.isClosed }
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
            bytesAcknowledged = stream.bytesAcknowledged
            pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
        }
        return reserveStream(for: origin)
    }

    var mayWorkOverOtherTransport: Bool { false }
    var acceptsStreams: Bool { !hasWriteFailed && !isAtLimit }

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

    func liftLimit() {
        guard requestLimit != nil, !isRetired, !isClosed else { return }
        requestLimit = nil
        pool.requestLimits[primaryOrigin.key] = nil
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
        if isDrained, hasWriteFailed { lose(.networkConnectionLost) }
        flush()
        askAboutLimit()
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
            case .end, .truncated: lose(.networkConnectionLost)
            case .failed(let failure): lose(LoadError(failure))
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

    private func closeIfDone() {
        guard !isClosed, isIdle, isRetired, unsent.isEmpty || session.isFinished else { return }
        if goodbye == nil, isAtLimit, requestLimit?.isFirm == true { pool.noteGoodEnd(of: primaryOrigin.key) }
        closeAtOnce()
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
        pool.remove(self)
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
        guard isIdleTimeOver() else { return }
        retire()
        // A peer that does not even receive the GOAWAY is not waited for.
        bytesAcknowledged = stream.bytesAcknowledged
        pool.loop.arm(answerTimer, at: pool.loop.now + pool.loop.limits.http2PingTimeout, for: self)
    }
}
