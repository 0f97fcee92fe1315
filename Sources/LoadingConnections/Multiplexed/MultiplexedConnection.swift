internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A connection that carries many exchanges at once, each as an `HTTPStream`: HTTP/2 over TLS, HTTP/3 over QUIC.
/// Confined to its loop, owned by its pool.
///
/// Output that is requested during one turn is sent together in the next turn. Back-pressure applies per stream: a full
/// reader does not return its stream's flow-control window, and the other streams continue.
///
/// What both versions do alike is in extensions of this protocol, which the compiler specialises for each.
protocol MultiplexedConnection: MultiplexedConnectionState, RoutedConnection, HTTPStreamObserver, LoopTimerTarget {
    associatedtype Session: HTTPStreamSession
    var session: Session { get }
    var isClosed: Bool { get }
    /// Whether the default evaluation trusts the server, and not only a delegate.
    var isTrusted: Bool { get }
    /// Binds an authentication to the server's certificate; nil if that is impossible. Computed anew at each call.
    var channelBinding: ChannelBinding? { get }
    /// Whether the connection reaches an alternative service of its origin.
    var isAlternative: Bool { get }
    /// The server and the negotiated parameters. Nil if they are not known, or if the server requested a client
    /// certificate.
    var peer: ConnectedPeer? { get }
    func facts(isReused: Bool) -> ConnectionFacts
    /// Whether the server may be reachable over another transport, now that this connection is lost.
    var mayWorkOverOtherTransport: Bool { get }
    /// Whether the server's settings, as far as they are known, allow extended CONNECT.
    var allowsExtendedConnect: Bool { get }

    // MARK: Interface to the pool

    /// Whether the connection has no streams and the server grants none.
    var hasNoStreamCredit: Bool { get }
    /// Reserves a stream for one more exchange; nil if there is no room.
    ///
    /// - Parameter isRepeatable: Whether the request may be sent again if the connection turns out to be lost
    ///   (CONN-10).
    func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream?
    /// Takes no new exchanges, and closes the connection after the last open exchange.
    func retire()
    func closeAtOnce()
    /// The observers of open streams are not notified.
    func close()

    // MARK: Interface to streams

    /// Begins a stream. Returns its number, or why it did not begin.
    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError>
    /// Returns a stream that was handed out and is not used.
    func returnUnused()
    /// Resets a stream whose response is not needed.
    func cancel(_ number: Int64)
    /// Stops a request whose response is complete. The server does not need the rest of the request.
    func stopRequest(of number: Int64)
    // These two are called for each piece of a body, and call a session whose type is known.
    func resumeBody(of number: Int64)
    func consumed(_ count: Int, on number: Int64)
    func setUrgency(_ urgency: Int, isIncremental: Bool, of number: Int64)
    func bodyWireBytes(of number: Int64) -> Int64
    func acknowledgement(of number: Int64) -> Acknowledgement?

    // MARK: What differs inside

    /// Schedules a turn.
    func callAgain()
    /// Whether this side may use one more stream.
    var acceptsStreams: Bool { get }
    /// A final response has begun.
    func responseBegan()
    /// Whether the server requires the request again (425, RFC 8470). If so, it is sent again.
    func isTooEarly(_ head: HTTPStreamResponseHead, on number: Int64) -> Bool
    /// Keeps the event of a stream that no request has adopted. Returns false if no request may adopt it.
    @discardableResult
    func keepEarly(_ event: @autoclosure () -> EarlyExchange.Event, on number: Int64) -> Bool
    /// A stream is about to be reported as closed.
    func willClose(_ number: Int64, with failure: HTTPStreamFailure?)
    /// The failure that is reported to a stream, and its cause.
    func reported(_ failure: HTTPStreamFailure) -> (HTTPStreamFailure, loss: LoadError?)
}

extension MultiplexedConnection {
    var allowsExtendedConnect: Bool { session.allowsExtendedConnect }
    var hasNoStreamCredit: Bool { !isClosed && isIdle && !hasLostLocalAddress && !session.mayOpenStream }

    func reserveStream(for origin: OriginConnections) -> HTTPStream {
        reservedCount += 1
        return HTTPStream(on: self, for: origin)
    }

    var mayOpenStream: Bool {
        !isClosed && !isRetired && acceptsStreams && session.mayOpenStream
            && session.openStreamCount + reservedCount < session.maximumConcurrentStreams
    }

    func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError> {
        submit(request, for: stream)
    }

    func submit(
        _ request: HTTPStreamRequest, for stream: HTTPStream
    ) -> Result<Int64, HTTPStreamRequestError> {
        reservedCount -= 1
        guard !isClosed else { return .failure(.notAllowed) }
        do throws(HTTPStreamRequestError) {
            let number = try session.submit(request)
            streams.insert(stream, number: number)
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

    func setUrgency(_ urgency: Int, isIncremental: Bool, of number: Int64) {
        session.setPriority(urgency: urgency, isIncremental: isIncremental, of: number)
        planTurn()
    }

    func bodyWireBytes(of number: Int64) -> Int64 { Int64(session.receivedBodyFrameBytes(on: number)) }

    /// A stream was released. A waiting request may get a stream now.
    func becameFree() {
        guard !isClosed else { return }
        hasRoomForMore = true
        if isIdle {
            idleSince = pool.loop.now
            armIdleTimer()
        }
        planTurn()
    }

    // MARK: Turns

    /// Schedules the next turn, which sends the pending output.
    func planTurn() {
        guard !isTurnPlanned, !isHandlingReadiness, !isClosed else { return }
        isTurnPlanned = true
        callAgain()
    }

    /// Delivers the body bytes that the streams gathered in this turn, in the order of the streams' first bytes.
    func handOutGathered() {
        // A stream that is called may add others, or close the connection.
        var index = 0
        while index < gathering.count {
            gathering[index].turnEnded()
            index += 1
        }
        gathering.removeAll(keepingCapacity: true)
    }

    /// Whether new and waiting requests are better served by another connection.
    var isOverfull: Bool { session.isFull && pool.mayHaveAnother(to: primaryOrigin) }

    /// Serves waiting requests at the end of a turn.
    func serveWaiting() {
        guard hasRoomForMore else { return }
        hasRoomForMore = false
        if isClosed { return }
        pool.serve(from: self)
        // It counts no longer against the limit, and may stay open for a while.
        if isRetired, isIdle { pool.startAttempts(at: primaryOrigin) }
    }

    // MARK: The end

    func armIdleTimer() { pool.loop.arm(idleTimer, at: idleSince + pool.loop.limits.multiplexedIdle, for: self) }

    /// Whether the connection has been idle for long enough. If not, the timer is armed again.
    func isIdleTimeOver() -> Bool {
        guard isIdle else { return false }
        if idleSince + pool.loop.limits.multiplexedIdle <= pool.loop.now { return true }
        armIdleTimer()
        return false
    }

    func retire() {
        pool.retire(self)
        session.goAway()
        planTurn()
    }

    func closeAtOnce() {
        close()
        pool.remove(self)
    }

    // MARK: What HTTP/2 lacks

    func isTooEarly(_ head: HTTPStreamResponseHead, on number: Int64) -> Bool { false }
    func keepEarly(_ event: @autoclosure () -> EarlyExchange.Event, on number: Int64) -> Bool { false }
}

/// The server of a connection.
struct ConnectedPeer {
    /// In DER, the leaf first.
    let certificates: [[UInt8]]
    let stapledResponse: [UInt8]?
    let agreement: ServerTrustDecision.Agreement
}
