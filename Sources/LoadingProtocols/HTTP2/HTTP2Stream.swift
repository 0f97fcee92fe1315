internal import LoadingSemantics

/// The state of one stream between its submission and its end.
struct HTTP2Stream: HTTPStreamState {
    /// 0: the slot is free.
    var number: Int32
    var window: StreamWindow
    let hasBody: Bool
    /// Whether the request's method is HEAD.
    let isHead: Bool
    var isHeadSent = false
    var isAnswered = false
    /// The final response has begun.
    var hasHead = false
    /// The response is complete.
    var hasEnded = false
    /// Only its end will be reported.
    var isMuted = false
    /// Why it ends, if that is known before.
    var failure: HTTPStreamFailure?
    var informationalCount = 0
    var progressLength = 0
    var receivedBodyFrameBytes = 0
    /// How much of the body is still to come, when its length is announced.
    var missing: Int64 = 0

    init(number: Int32, window: Int, hasBody: Bool, isHead: Bool) {
        self.number = number
        self.window = StreamWindow(size: window)
        self.hasBody = hasBody
        self.isHead = isHead
    }

    /// - Parameter code: What nghttp2 closes the stream with.
    func end(_ code: HTTP2ErrorCode) -> HTTPStreamFailure? {
        if let failure { return failure }
        if hasEnded { return nil }
        switch code {
        // No RST_STREAM has come, or `failure` would say so: it lies above a GOAWAY's last stream, or was never sent.
        case .refusedStream: return isAnswered ? .reset(code: UInt64(code.rawValue), after: progress) : .refused
        case .noError: return .reset(code: UInt64(code.rawValue), after: progress)
        // This side has reset it, for a reason that nghttp2 does not report.
        default: return .malformed("The frames of the response do not make one.")
        }
    }

    /// The server has reset it.
    mutating func wasReset(_ code: HTTP2ErrorCode) {
        if failure != nil || hasEnded { return }
        switch code {
        case .refusedStream where !isAnswered: failure = .refused
        case .http11Required where !isAnswered: failure = .http11Required
        default: failure = .reset(code: UInt64(code.rawValue), after: progress)
        }
    }
}
