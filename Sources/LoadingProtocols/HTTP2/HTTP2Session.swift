internal import CLoadingHTTP2
internal import LoadingSemantics

/// The client's side of one HTTP/2 connection (RFC 9113), over nghttp2.
///
/// It owns no socket, reads no clock and has no thread. Bytes go in by `receive(_:)` and come out of `nextOutput()`;
/// the observer receives the events of the streams. The session is confined to its owner's thread.
///
/// nghttp2 implements frames, header compression, flow control and the rules of messages. This class limits the work
/// that a peer may cause (`HTTP2FrameBudget`, `HTTPStreamLimits`) and the bytes ahead of the readers
/// (`StreamWindowSizes`).
///
/// No access to a stored property lasts while the observer is called, so exclusive access need not be checked: that
/// check would be a tenth of the cost of a small request.
package final class HTTP2Session: HTTPStreamSession {
    let configuration: HTTP2Configuration
    /// The connection, which owns this object and so exists during each call. Not a weak reference, because with one
    /// each retain of the connection would take longer.
    private unowned let owner: any HTTP2SessionObserver
    /// The observer, during a call.
    @exclusivity(unchecked) private(set) var observer: (any HTTP2SessionObserver)?

    /// nil if there was no memory for it. Freed with this object, which never happens during a call.
    private(set) var session: OpaquePointer?
    @exclusivity(unchecked) private(set) var isBusy = false
    /// `fail()` was called by the observer.
    @exclusivity(unchecked) var failsAfterwards = false
    /// Once set, nothing is sent, received or reported, except `goAwayBytes` and the events of `fail()`.
    @exclusivity(unchecked) var error: HTTP2Error?
    var isErrorThrown = false

    // Input.
    @exclusivity(unchecked) var scanner = HTTP2FrameScanner()
    /// The received part of the first frame's head, until that is complete.
    @exclusivity(unchecked) var opening: [UInt8]? = []
    @exclusivity(unchecked) var budget: HTTP2FrameBudget
    @exclusivity(unchecked) var unread = UnreadContent()
    /// Received bytes for which the connection's window was not opened again.
    @exclusivity(unchecked) var unreturned = 0
    @exclusivity(unchecked) private var growth: StreamWindowGrowth
    /// How much content of the current DATA frame was reported.
    @exclusivity(unchecked) var frameContent = 0
    /// The stream that is being reported as closed, and the received bytes of its DATA frames.
    @exclusivity(unchecked) private var closing = (number: 0 as Int64, bytes: 0)

    // Output.
    let output = HTTP2Output()
    var hasSentSettings = false
    /// The output up to the GOAWAY, before the connection is closed.
    var goAwayBytes: [UInt8] = []
    /// Bytes of the head that is being sent.
    @exclusivity(unchecked) var headLength = 0

    // The streams. nghttp2 keeps the slot of each stream whose head was sent.
    @exclusivity(unchecked) var streams: [HTTP2Stream] = []
    @exclusivity(unchecked) private var freeSlots: [Int] = []
    /// The oldest is first.
    @exclusivity(unchecked) private var unsent: [(number: Int32, slot: Int)] = []
    @exclusivity(unchecked) private var encoder = HTTPStreamRequestEncoder()
    /// Dropped requests that are still in nghttp2's queue.
    @exclusivity(unchecked) var droppedCount = 0
    @exclusivity(unchecked) private var lastNumber: Int32 = 0

    /// The peer has sent GOAWAY.
    var isPeerLeaving = false
    private var isLeaving = false
    private var hasSentGOAWAY = false

    /// Whether nghttp2 can be loaded. The first access waits for that.
    package static let isAvailable = clh_is_available()

    package init(configuration: HTTP2Configuration = HTTP2Configuration(), observer: any HTTP2SessionObserver) {
        self.configuration = configuration
        owner = observer
        budget = HTTP2FrameBudget(limits: configuration.limits)
        growth = StreamWindowGrowth(configuration.windows)
        var callbacks = HTTP2Session.callbacks
        var limits = clh_limits(configuration)
        session = clh_session_new(&callbacks, Unmanaged.passUnretained(self).toOpaque(), &limits)
        if session == nil { error = .outOfMemory }
    }

    deinit {
        if let session { clh_session_free(session) }
    }

    /// The C session, if it has not failed.
    var usable: OpaquePointer? { error == nil ? session : nil }

    /// Between this call and `end()` the observer is called, and may call back.
    func begin() {
        isBusy = true
        observer = owner
    }

    func end() {
        observer = nil
        isBusy = false
        if failsAfterwards {
            failsAfterwards = false
            fail()
        }
    }

    // MARK: State

    /// The peer's limit of open streams.
    package var maximumConcurrentStreams: Int { session.map { Int(clh_peer_maximum_streams($0)) } ?? 0 }
    package var openStreamCount: Int { streams.count - freeSlots.count }
    package var allowsExtendedConnect: Bool { session.map { clh_peer_allows_extended_connect($0) } ?? false }
    /// The peer or this side has sent GOAWAY.
    package var isGoingAway: Bool { isPeerLeaving || isLeaving }
    /// So much is unread that the connection's window is closed until a reader consumes some.
    package var isFull: Bool { unread.count > configuration.windows.maximumUnread }
    /// Whether a request that is submitted now is sent at once.
    package var mayOpenStream: Bool { allowsRequests && openStreamCount < maximumConcurrentStreams }
    /// Whether `nextOutput()` has output, or an error.
    package var wantsOutput: Bool {
        guard let session = usable else { return !goAwayBytes.isEmpty || (error != nil && !isErrorThrown) }
        return clh_wants_write(session)
    }
    /// Nothing is left to send or receive: the connection can be closed.
    package var isFinished: Bool {
        guard let session = usable else { return goAwayBytes.isEmpty }
        return !clh_wants_read(session) && !clh_wants_write(session)
    }
    /// Bytes of the DATA frames of a stream, with their heads and padding; until `closed` returns.
    package func receivedBodyFrameBytes(on stream: Int64) -> Int {
        guard let slot = slot(of: stream) else { return closing.number == stream ? closing.bytes : 0 }
        return streams[slot].receivedBodyFrameBytes
    }

    private var allowsRequests: Bool {
        guard let session = usable, !isGoingAway, !failsAfterwards else { return false }
        return clh_allows_requests(session)
    }

    /// Whether a number is left for another stream. Without one, nghttp2 refuses requests as it does when it
    /// has given up.
    package var hasNumbersLeft: Bool { lastNumber < Int32.max - 2 }

    /// Whether the head of a request was not sent yet.
    package var hasUnsentRequests: Bool { !unsent.isEmpty }

    /// Requests in nghttp2's queue, including dropped ones.
    var queuedRequestCount: Int { unsent.count &+ droppedCount }

    // MARK: Requests

    package func submit(_ request: HTTPStreamRequest) throws(HTTPStreamRequestError) -> Int64 {
        guard let session, allowsRequests else { throw .notAllowed }
        let slot = takeSlot()
        // The closure would have a copy of the whole request.
        let hasBody = request.hasBody
        let number: Int32
        do throws(HTTPStreamRequestError) {
            number = try encoder.withFields(of: request) { fields in
                clh_submit(session, fields.baseAddress, fields.count, slot, hasBody)
            }
        } catch {
            freeSlots.append(slot)
            throw error
        }
        guard number > 0 else {
            freeSlots.append(slot)
            throw .notAllowed
        }
        streams[slot] = HTTP2Stream(
            number: number, window: configuration.windows.initialStream, hasBody: hasBody,
            isHead: request.method == "HEAD")
        unsent.append((number, slot))
        lastNumber = number
        budget.addRequest()
        return Int64(number)
    }

    /// A body for which `HTTPStreamBodyRead.later` was returned has more bytes.
    package func resumeBody(of stream: Int64) {
        if let session = usable { clh_resume(session, Int32(clamping: stream)) }
    }

    /// The reader has consumed so many bytes of a body. The stream may be closed already.
    ///
    /// Opens the windows of the stream and of the connection, which may grow by `StreamWindowSizes`.
    package func consumed(_ count: Int, on stream: Int64) {
        guard let slot = slot(of: stream) else {
            if unread.consumed(count, ofClosed: stream) { returnToConnection() }
            return
        }
        let taken = streams[slot].window.consumed(count)
        if taken == 0 { return }
        unread.consumed(taken)
        if let session = usable, !streams[slot].hasEnded, !streams[slot].isMuted {
            clh_consume_stream(session, streams[slot].number, taken)
            if let size = growth.grow(&streams[slot].window, upTo: configuration.windows.maximumStream) {
                clh_set_stream_window(session, streams[slot].number, Int32(clamping: size))
            }
        }
        returnToConnection()
    }

    /// Resets a stream. Only `closed` is reported after that, and its bytes need not be consumed.
    ///
    /// If the stream is closed already, its unread bytes are dropped.
    package func reset(_ stream: Int64, code: HTTP2ErrorCode = .cancel) {
        if let slot = slot(of: stream) {
            if let session = usable { clh_reset(session, streams[slot].number, code.rawValue) }
            if isUnsent(slot) { return drop(slot, .cancelled) }
            mute(slot, .cancelled)
        } else if unread.dropped(ofClosed: stream) {
            returnToConnection()
        }
    }

    package func setPriority(urgency: Int, isIncremental: Bool, of stream: Int64) {
        guard let session = usable, let slot = slot(of: stream) else { return }
        let value = "u=\(min(max(urgency, 0), 7))" + (isIncremental ? ", i" : "")
        clh_set_priority(session, streams[slot].number, value, value.utf8.count)
    }

    /// Sends a PING. The peer answers with the same payload.
    package func ping(_ payload: UInt64) {
        guard let session = usable else { return }
        withUnsafeBytes(of: payload.bigEndian) { octets in
            clh_ping(session, octets.assumingMemoryBound(to: UInt8.self).baseAddress)
        }
    }

    package func goAway() {
        isLeaving = true
        sendGOAWAY()
    }

    /// The GOAWAY follows all requests: a server may ignore requests after it.
    private func sendGOAWAY() {
        guard let session = usable, isLeaving, !hasSentGOAWAY, unsent.isEmpty else { return }
        hasSentGOAWAY = true
        clh_go_away(session)
    }

    package func fail() {
        if isBusy {
            failsAfterwards = true
            return
        }
        error = error ?? .closed
        isErrorThrown = true
        goAwayBytes = []
        begin()
        for slot in streams.indices where streams[slot].number != 0 {
            let stream = streams[slot]
            let lost = HTTPStreamFailure.connectionLost(after: stream.progress)
            let failure = stream.hasEnded ? stream.failure : stream.failure ?? lost
            release(slot)
            observer?.closed(Int64(stream.number), with: failure)
        }
        // The session has ended, so calls of the observer have no effect.
        failsAfterwards = false
        end()
    }

    // MARK: Streams

    func slot(of stream: Int64) -> Int? {
        guard let session else { return nil }
        let stream = Int32(clamping: stream)
        let slot = clh_slot(session, stream)
        if slot >= 0, slot < streams.count, streams[slot].number == stream { return slot }
        return unsent.first { $0.number == stream }?.slot
    }

    private func takeSlot() -> Int {
        if let slot = freeSlots.popLast() { return slot }
        streams.append(HTTP2Stream(number: 0, window: 0, hasBody: false, isHead: false))
        return streams.count &- 1
    }

    /// Frees the slot of a stream. Its unread bytes must still be consumed.
    func release(_ slot: Int) {
        let number = Int64(streams[slot].number)
        closing = (number, streams[slot].receivedBodyFrameBytes)
        growth.takeBack(streams[slot].window)
        unread.close(number, unread: streams[slot].window.unread)
        if !streams[slot].isHeadSent { headWasSent(streams[slot].number) }
        streams[slot].number = 0
        freeSlots.append(slot)
    }

    /// Reports only the end of a stream from now on, for this reason unless there is an earlier one.
    func mute(_ slot: Int, _ failure: HTTPStreamFailure) {
        if !streams[slot].isMuted { budget.addCancelledWindow(streams[slot].window.size) }
        streams[slot].isMuted = true
        if streams[slot].failure == nil, !streams[slot].hasEnded { streams[slot].failure = failure }
        unread.consumed(streams[slot].window.consumed(streams[slot].window.unread))
        returnToConnection()
    }

    /// From now on nghttp2 has the stream's slot.
    func headWasSent(_ stream: Int32) {
        if let index = unsent.firstIndex(where: { $0.number == stream }) { unsent.remove(at: index) }
        sendGOAWAY()
    }

    /// Whether nothing of the stream was sent. nghttp2 holds back what is beyond the peer's limit, whatever becomes
    /// of it, so that its end is reported here.
    private func isUnsent(_ slot: Int) -> Bool {
        guard let session else { return true }
        return !streams[slot].isHeadSent && clh_slot(session, streams[slot].number) != slot
    }

    /// Ends a stream that is unknown to the peer.
    private func drop(_ slot: Int, _ failure: HTTPStreamFailure) {
        let number = streams[slot].number
        release(slot)
        droppedCount &+= 1
        let isAlone = !isBusy
        if isAlone { begin() }
        observer?.closed(Int64(number), with: failure)
        if isAlone { end() }
    }

    /// Returns the requests that exceed the peer's limit, in their order. The oldest ones stay queued.
    func dropUnsent(beyond count: Int) {
        guard let session = usable else { return }
        let tooMany = unsent.filter { isUnsent($0.slot) }.suffix(max(0, openStreamCount &- count))
        for (number, slot) in tooMany where streams[slot].number == number {
            clh_reset(session, number, HTTP2ErrorCode.cancel.rawValue)
            drop(slot, .refused)
        }
    }

    /// Opens the connection's window again, unless too many bytes are unread.
    func returnToConnection() {
        guard let session = usable else { return }
        let held = max(0, unread.count &- configuration.windows.maximumUnread)
        if unreturned <= held { return }
        clh_consume_connection(session, unreturned &- held)
        unreturned = held
    }
}

/// The settings and limits of a session.
package struct HTTP2Configuration: Sendable, Equatable {
    package var limits: HTTPStreamLimits
    package var windows: StreamWindowSizes

    package init(limits: HTTPStreamLimits = HTTPStreamLimits(), windows: StreamWindowSizes = StreamWindowSizes()) {
        self.limits = limits
        self.windows = windows
    }
}

/// Receives the events of a session. The first call of `peerSettingsChanged` means that the peer supports HTTP/2.
package protocol HTTP2SessionObserver: HTTPStreamObserver {
    /// No request can be submitted any more. Streams above `lastStream` are reported as refused next.
    func peerIsGoingAway(lastStream: Int64, code: HTTP2ErrorCode)
    func receivedPingAnswer(_ payload: UInt64)
}
