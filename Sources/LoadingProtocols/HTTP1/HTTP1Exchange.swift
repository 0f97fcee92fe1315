package import LoadingSemantics

/// One HTTP/1.1 connection as a sequence of exchanges: what may be sent, and what becomes of the connection.
///
/// The connection tells what happened and does what it is told in return; bytes go through `HTTP1RequestEncoder` and
/// `HTTP1ResponseParser`. Times are nanoseconds of a clock of the caller's that never runs backwards. A call that
/// makes no sense in the present state changes nothing and answers `.wait`.
package struct HTTP1Exchange: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        case wait
        case sendHead
        case sendBody
        /// Send the body at that time, unless an answer comes first: then call `deadlinePassed`.
        case awaitContinue(until: UInt64)
        /// Send nothing more. The response is read to its end, then the connection closes.
        case stopSending
        /// The exchange is over; the connection goes back to the pool, or closes.
        case finish(mayReuse: Bool)
        /// The connection belongs to the new protocol, as do the bytes left over.
        case handOver
        /// No exchange is concerned; close the connection.
        case close
        /// The exchange has failed; close the connection.
        case fail(LostExchange.Progress)
    }

    private enum Sending: Equatable {
        case head
        case awaitingContinue(until: UInt64)
        case body
        case done
        case stopped
    }

    private enum State: Equatable {
        case idle
        case active(Sending, hasFinalHead: Bool)
        case closed
    }

    private var state = State.idle
    private var body = HTTP1RequestBody.none
    private var expectsContinue = false
    private var asksToClose = false
    private var hasSentBytes = false
    private var hasReceivedBytes = false

    package init() {}

    /// Whether a request may begin.
    package var isIdle: Bool { state == .idle }

    /// When to call `deadlinePassed`, if at all.
    package var deadline: UInt64? {
        if case .active(.awaitingContinue(let time), _) = state { time } else { nil }
    }

    /// How far the request has come (CONN-10).
    package var progress: LostExchange.Progress {
        if hasReceivedBytes { return .answered }
        return hasSentBytes ? .sent : .unsent
    }

    // MARK: Sending

    /// A request takes the connection: `.sendHead`, if the connection is free.
    ///
    /// - Parameters:
    ///   - expectsContinue: The request carries `Expect: 100-continue`. Without a body that means nothing.
    ///   - asksToClose: The request carries `Connection: close`.
    package mutating func begin(
        body: HTTP1RequestBody, expectsContinue: Bool = false, asksToClose: Bool = false
    ) -> Action {
        guard state == .idle else { return .wait }
        state = .active(.head, hasFinalHead: false)
        self.body = body
        self.expectsContinue = expectsContinue
        self.asksToClose = asksToClose
        hasSentBytes = false
        hasReceivedBytes = false
        return .sendHead
    }

    /// The transport has accepted some of the request's bytes.
    package mutating func sentBytes() { hasSentBytes = true }

    /// The transport has accepted the whole head.
    ///
    /// - Parameter continueTimeout: How long a request with `Expect: 100-continue` waits before it sends its body all the same
    ///   (CONN-23), in the unit of `time`.
    package mutating func sentHead(
        at time: UInt64, continueTimeout: Int64 = TimeLimits.standard.continueTimeout
    ) -> Action {
        guard case .active(.head, let hasFinalHead) = state else { return .wait }
        hasSentBytes = true
        if body == .none || body == .known(0) {
            state = .active(.done, hasFinalHead: hasFinalHead)
            return .wait
        }
        if expectsContinue, !hasFinalHead {
            let (deadline, overflowed) = time.addingReportingOverflow(UInt64(max(continueTimeout, 0)))
            let until = overflowed ? UInt64.max : deadline
            state = .active(.awaitingContinue(until: until), hasFinalHead: false)
            return .awaitContinue(until: until)
        }
        state = .active(.body, hasFinalHead: hasFinalHead)
        return .sendBody
    }

    /// The transport has accepted the whole body.
    package mutating func sentBody() -> Action {
        if case .active(.body, let hasFinalHead) = state { state = .active(.done, hasFinalHead: hasFinalHead) }
        return .wait
    }

    /// Nobody answered `Expect: 100-continue` in time.
    package mutating func deadlinePassed(at time: UInt64) -> Action {
        guard case .active(.awaitingContinue(let until), let hasFinalHead) = state, time >= until else { return .wait }
        state = .active(.body, hasFinalHead: hasFinalHead)
        return .sendBody
    }

    // MARK: Receiving

    /// Bytes have come, before they are parsed. Between exchanges nobody asked for them.
    package mutating func receivedBytes() -> Action {
        switch state {
        case .active:
            hasReceivedBytes = true
            return .wait
        case .idle, .closed:
            state = .closed
            return .close
        }
    }

    package mutating func receivedInformational(status: Int) -> Action {
        guard status == 100, case .active(.awaitingContinue, let hasFinalHead) = state else { return .wait }
        state = .active(.body, hasFinalHead: hasFinalHead)
        return .sendBody
    }

    /// A final response begins.
    ///
    /// One that comes before the body went out means that the server does not want it: neither after an `Expect`
    /// nor, if it redirects or refuses, in the middle of the body. A 2xx in the middle may be the answer of a server
    /// that works while it reads, so sending goes on.
    package mutating func receivedHead(status: Int) -> Action {
        guard case .active(let sending, hasFinalHead: false) = state else { return .wait }
        switch sending {
        case .awaitingContinue:
            state = .active(.stopped, hasFinalHead: true)
            return .stopSending
        case .head, .body:
            guard status >= 300 else {
                state = .active(sending, hasFinalHead: true)
                return .wait
            }
            state = .active(.stopped, hasFinalHead: true)
            return .stopSending
        case .done, .stopped:
            state = .active(sending, hasFinalHead: true)
            return .wait
        }
    }

    /// The response is whole. The connection lives on only if both directions ended in order and nothing follows.
    package mutating func receivedEnd(mayReuse: Bool, hasLeftover: Bool) -> Action {
        guard case .active(let sending, _) = state else { return .wait }
        let reuses = mayReuse && !hasLeftover && !asksToClose && sending == .done
        state = reuses ? .idle : .closed
        return .finish(mayReuse: reuses)
    }

    /// The connection is now a tunnel, or speaks the protocol that the request asked for.
    package mutating func receivedSwitch() -> Action {
        guard case .active = state else { return .wait }
        state = .closed
        return .handOver
    }

    /// The connection broke, ended before the response did, or carried something that is no response.
    package mutating func failed() -> Action {
        guard case .active = state else {
            state = .closed
            return .close
        }
        state = .closed
        return .fail(progress)
    }
}
