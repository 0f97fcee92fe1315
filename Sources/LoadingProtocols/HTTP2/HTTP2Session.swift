internal import CLoadingHTTP2
internal import LoadingSemantics

/// The client's side of one HTTP/2 connection (RFC 9113), over nghttp2.
///
/// It owns no socket, reads no clock and has no thread: bytes go in by `receive(_:)` and come out of `nextOutput()`, and
/// what happens on the streams is told to the observer meanwhile. Whoever has made it confines it.
///
/// nghttp2 knows frames, header compression, flow control and the rules of a message. What is watched here is how much a
/// peer has this side do (`HTTP2Allowance`, `HTTP2Limits`) and how far it may go ahead of its readers (`HTTP2Windows`).
///
/// No access to what is stored here lasts while the observer is called, so exclusive access need not be checked: that
/// would be a tenth of what a small request costs.
package final class HTTP2Session {
    let configuration: HTTP2Configuration
    private weak var weakObserver: (any HTTP2SessionObserver)?
    /// The observer, while something is going on.
    @exclusivity(unchecked) private(set) var observer: (any HTTP2SessionObserver)?

    /// nil if there was no memory for it. Freed when this object goes, which cannot be while something is going on.
    private(set) var session: OpaquePointer?
    @exclusivity(unchecked) private(set) var isBusy = false
    /// `fail()` was called while something was going on.
    @exclusivity(unchecked) var failsAfterwards = false
    /// Nothing is sent, received or told any more once this is set, but `lastWords` and what `fail()` tells.
    @exclusivity(unchecked) var error: HTTP2Error?
    var isErrorThrown = false

    // What comes in.
    @exclusivity(unchecked) var scanner = HTTP2FrameScanner()
    /// What has come of the first frame, until its head is whole.
    @exclusivity(unchecked) var opening: [UInt8]? = []
    @exclusivity(unchecked) var allowance: HTTP2Allowance
    /// Bytes of all streams that were told and not consumed.
    @exclusivity(unchecked) var unread = 0
    /// Bytes that the connection's window has not got back.
    @exclusivity(unchecked) var unreturned = 0
    private var growth: HTTP2WindowGrowth
    /// What is unread of streams that are closed.
    private var lingering: [Int32: Int] = [:]
    /// How much of the content of the DATA frame in work was told.
    @exclusivity(unchecked) var frameContent = 0
    /// The stream that is being told as closed, and how many bytes of its body's frames have come.
    @exclusivity(unchecked) private var closing = (number: 0 as Int32, bytes: 0)

    // What goes out.
    let output = HTTP2Output()
    var hasSentSettings = false
    /// What the peer is told before the connection is closed.
    var lastWords: [UInt8] = []
    /// Bytes of the head that is going out.
    @exclusivity(unchecked) var headLength = 0

    // The streams. nghttp2 keeps the slot of each; those whose head has not gone out it does not know yet.
    @exclusivity(unchecked) var streams: [HTTP2Stream] = []
    @exclusivity(unchecked) private var freeSlots: [Int] = []
    /// The oldest is first.
    @exclusivity(unchecked) private var unsent: [(number: Int32, slot: Int)] = []
    @exclusivity(unchecked) private var encoder = HTTPStreamRequestEncoder()
    /// What nghttp2 has not yet looked at of what was dropped.
    @exclusivity(unchecked) var droppedCount = 0
    @exclusivity(unchecked) private var lastNumber: Int32 = 0

    /// The peer has sent GOAWAY.
    var isPeerLeaving = false
    private var isLeaving = false
    private var hasSaidGoodbye = false

    package init(configuration: HTTP2Configuration = HTTP2Configuration(), observer: any HTTP2SessionObserver) {
        self.configuration = configuration
        weakObserver = observer
        allowance = HTTP2Allowance(limits: configuration.limits)
        growth = HTTP2WindowGrowth(configuration.windows)
        var callbacks = HTTP2Session.callbacks
        var limits = clh_limits(configuration)
        session = clh_session_new(&callbacks, Unmanaged.passUnretained(self).toOpaque(), &limits)
        if session == nil { error = .outOfMemory }
    }

    deinit {
        if let session { clh_session_free(session) }
    }

    /// The session as long as it is of use.
    var usable: OpaquePointer? { error == nil ? session : nil }

    /// Between this and `end()` the observer is called, and may call back.
    func begin() {
        isBusy = true
        observer = weakObserver
    }

    func end() {
        observer = nil
        isBusy = false
        if failsAfterwards {
            failsAfterwards = false
            fail()
        }
    }

    // MARK: What may be asked

    /// How many streams the peer wants to have open at a time.
    package var maximumConcurrentStreams: Int { session.map { Int(clh_peer_maximum_streams($0)) } ?? 0 }
    /// Submitted and not yet closed.
    package var openStreamCount: Int { streams.count - freeSlots.count }
    /// Whether the peer takes CONNECT with a protocol (RFC 8441).
    package var allowsExtendedConnect: Bool { session.map { clh_peer_allows_extended_connect($0) } ?? false }
    /// The peer or this side has said that no more streams are taken.
    package var isGoingAway: Bool { isPeerLeaving || isLeaving }
    /// So much is unread that the connection's window closes, until somebody reads.
    package var isFull: Bool { unread > configuration.windows.maximumUnread }
    /// Whether a request that is submitted now goes out at once.
    package var mayOpenStream: Bool { allowsRequests && openStreamCount < maximumConcurrentStreams }
    /// Whether `nextOutput()` has something to say.
    package var wantsOutput: Bool {
        guard let session = usable else { return !lastWords.isEmpty || (error != nil && !isErrorThrown) }
        return clh_wants_write(session)
    }
    /// Nothing is left to be sent or read: the connection can be closed.
    package var isFinished: Bool {
        guard let session = usable else { return lastWords.isEmpty }
        return !clh_wants_read(session) && !clh_wants_write(session)
    }
    /// Bytes of the DATA frames of a stream, with their heads and padding; until `closed` returns.
    package func receivedBodyFrameBytes(on stream: Int32) -> Int {
        guard let slot = slot(of: stream) else { return closing.number == stream ? closing.bytes : 0 }
        return streams[slot].receivedBodyFrameBytes
    }

    private var allowsRequests: Bool {
        guard let session = usable, !isGoingAway, !failsAfterwards else { return false }
        return clh_allows_requests(session)
    }

    /// Whether a number is left for another stream. Where there is none, nghttp2 says no to requests as it does when it
    /// has given up.
    package var hasNumbersLeft: Bool { lastNumber < Int32.max - 2 }

    /// Whether the head of a request has not gone out.
    package var hasUnsentRequests: Bool { !unsent.isEmpty }

    /// Requests in nghttp2's queue: those that are to go out, and those that were dropped since.
    var queuedRequestCount: Int { unsent.count &+ droppedCount }

    // MARK: Requests

    /// Has a stream begin with the next output. Its number is the stream's name in all other calls.
    package func submit(_ request: HTTPStreamRequest) throws(HTTPStreamRequestError) -> Int32 {
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
        allowance.add(HTTP2Allowance.request)
        return number
    }

    /// There is more of a body that `HTTPStreamBodyRead.later` was said of.
    package func resumeBody(of stream: Int32) {
        if let session = usable { clh_resume(session, stream) }
    }

    /// The reader has done with so many bytes of a body: of a stream that may be closed by now, too.
    ///
    /// Opens the windows of stream and connection, and has them grow, as `HTTP2Windows` says.
    package func consumed(_ count: Int, on stream: Int32) {
        guard let slot = slot(of: stream) else {
            guard let left = lingering[stream] else { return }
            let taken = min(max(count, 0), left)
            lingering[stream] = taken < left ? left &- taken : nil
            unread &-= taken
            return returnToConnection()
        }
        let taken = streams[slot].window.consumed(count)
        if taken == 0 { return }
        unread &-= taken
        if let session = usable, !streams[slot].hasEnded, !streams[slot].isMuted {
            clh_consume_stream(session, stream, taken)
            if let size = growth.grow(&streams[slot].window, upTo: configuration.windows.maximumStream) {
                clh_set_stream_window(session, stream, Int32(clamping: size))
            }
        }
        returnToConnection()
    }

    /// Ends a stream. No more is told of it but `closed`, and its bytes need not be consumed any more.
    ///
    /// Of a stream that is closed already, it lets go of what is not consumed.
    package func reset(_ stream: Int32, code: HTTP2ErrorCode = .cancel) {
        if let slot = slot(of: stream) {
            if let session = usable { clh_reset(session, stream, code.rawValue) }
            if isUnheard(slot) { return drop(slot, .cancelled) }
            mute(slot, .cancelled)
        } else if let left = lingering.removeValue(forKey: stream) {
            unread &-= left
            returnToConnection()
        }
    }

    /// Tells the peer of another urgency (RFC 9218), 0 to 7, if it listens to that. What the stream begins with is said
    /// by its `priority` field.
    package func setPriority(urgency: Int, isIncremental: Bool, of stream: Int32) {
        guard let session = usable, slot(of: stream) != nil else { return }
        let value = "u=\(min(max(urgency, 0), 7))" + (isIncremental ? ", i" : "")
        clh_set_priority(session, stream, value, value.utf8.count)
    }

    /// Has the peer answer, with the same payload.
    package func ping(_ payload: UInt64) {
        guard let session = usable else { return }
        withUnsafeBytes(of: payload.bigEndian) { octets in
            clh_ping(session, octets.assumingMemoryBound(to: UInt8.self).baseAddress)
        }
    }

    /// Takes no more requests. Those that are there run to their end, then `isFinished`.
    package func goAway() {
        isLeaving = true
        sayGoodbye()
    }

    /// Not before all requests are out: a server may not look at what comes behind a GOAWAY.
    private func sayGoodbye() {
        guard let session = usable, isLeaving, !hasSaidGoodbye, unsent.isEmpty else { return }
        hasSaidGoodbye = true
        clh_go_away(session)
    }

    /// The connection is lost or given up: every stream is told as closed, and nothing is sent or taken any more.
    package func fail() {
        if isBusy {
            failsAfterwards = true
            return
        }
        error = error ?? .closed
        isErrorThrown = true
        lastWords = []
        begin()
        for slot in streams.indices where streams[slot].number != 0 {
            let stream = streams[slot]
            let lost = HTTPStreamFailure.connectionLost(after: stream.progress)
            let failure = stream.hasEnded ? stream.failure : stream.failure ?? lost
            release(slot)
            observer?.session(self, closed: stream.number, with: failure)
        }
        // Whatever was asked meanwhile was asked of an ended session.
        failsAfterwards = false
        end()
    }

    // MARK: Streams

    func slot(of stream: Int32) -> Int? {
        guard let session else { return nil }
        let slot = clh_slot(session, stream)
        if slot >= 0, slot < streams.count, streams[slot].number == stream { return slot }
        return unsent.first { $0.number == stream }?.slot
    }

    private func takeSlot() -> Int {
        if let slot = freeSlots.popLast() { return slot }
        streams.append(HTTP2Stream(number: 0, window: 0, hasBody: false, isHead: false))
        return streams.count &- 1
    }

    /// A stream is nobody's any more. What was not consumed of it still is to be.
    func release(_ slot: Int) {
        let number = streams[slot].number
        closing = (number, streams[slot].receivedBodyFrameBytes)
        growth.takeBack(streams[slot].window)
        if streams[slot].window.unread > 0 { lingering[number] = streams[slot].window.unread }
        if !streams[slot].isHeadSent { headWasSent(number) }
        streams[slot].number = 0
        freeSlots.append(slot)
    }

    /// Has nothing more told of a stream but its end, which is for that reason unless there is an earlier one.
    func mute(_ slot: Int, _ failure: HTTPStreamFailure) {
        if !streams[slot].isMuted { allowance.addPromised(streams[slot].window.size) }
        streams[slot].isMuted = true
        if streams[slot].failure == nil, !streams[slot].hasEnded { streams[slot].failure = failure }
        unread &-= streams[slot].window.consumed(streams[slot].window.unread)
        returnToConnection()
    }

    /// From now on nghttp2 knows the stream's slot.
    func headWasSent(_ stream: Int32) {
        if let index = unsent.firstIndex(where: { $0.number == stream }) { unsent.remove(at: index) }
        sayGoodbye()
    }

    /// Whether nothing of the stream has gone out. nghttp2 holds back what is beyond the peer's limit, whatever becomes of it, so
    /// that its end is told here.
    private func isUnheard(_ slot: Int) -> Bool {
        guard let session else { return true }
        return !streams[slot].isHeadSent && clh_slot(session, streams[slot].number) != slot
    }

    /// Ends a stream that the peer has not heard of.
    private func drop(_ slot: Int, _ failure: HTTPStreamFailure) {
        let number = streams[slot].number
        release(slot)
        droppedCount &+= 1
        let isAlone = !isBusy
        if isAlone { begin() }
        observer?.session(self, closed: number, with: failure)
        if isAlone { end() }
    }

    /// Gives back the requests that cannot go out: the youngest, but for as many as the peer may still be asked, in their order.
    func dropUnsent(beyond count: Int) {
        guard let session = usable else { return }
        let tooMany = unsent.filter { isUnheard($0.slot) }.suffix(max(0, openStreamCount &- count))
        for (number, slot) in tooMany where streams[slot].number == number {
            clh_reset(session, number, HTTP2ErrorCode.cancel.rawValue)
            drop(slot, .refused)
        }
    }

    /// Gives the connection's window back what may go back: all, as long as not too much of it is unread.
    func returnToConnection() {
        guard let session = usable else { return }
        let held = max(0, unread &- configuration.windows.maximumUnread)
        if unreturned <= held { return }
        clh_consume_connection(session, unreturned &- held)
        unreturned = held
    }
}
