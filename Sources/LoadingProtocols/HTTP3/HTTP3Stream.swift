internal import LoadingSemantics

/// What a session knows of one stream between its submission and its end.
struct HTTP3Stream {
    /// -1: nobody's.
    var number: Int64
    /// The stream in C, as long as it is somebody's.
    let handle: OpaquePointer
    var window: HTTP2StreamWindow
    var isHeadSent = false
    /// Any response has begun, an interim one too.
    var isAnswered = false
    /// The response is whole.
    var hasEnded = false
    /// No more is told of it but its end.
    var isMuted = false
    /// Why it ends, if that is known before it does.
    var failure: HTTPStreamFailure?
    var informationalCount = 0
    /// Bytes of interim responses that tell of an upload's progress.
    var progressLength = 0
    /// Bytes of heads on the wire.
    var headLength = 0

    init(number: Int64, handle: OpaquePointer, window: Int) {
        self.number = number
        self.handle = handle
        self.window = HTTP2StreamWindow(size: window)
    }

    var progress: LostExchange.Progress {
        if isAnswered { return .answered }
        return isHeadSent ? .sent : .unsent
    }

    /// Both halves are at their end.
    var end: HTTPStreamFailure? {
        if let failure { return failure }
        return hasEnded ? nil : .malformed("The response is not whole.")
    }

    /// Why it ends that the server has reset it with `code`.
    func reset(_ code: HTTP3ErrorCode) -> HTTPStreamFailure {
        switch code {
        case .requestRejected where !isAnswered: .refused
        case .versionFallback where !isAnswered: .http11Required
        default: .reset(code: code.rawValue, after: progress)
        }
    }
}
