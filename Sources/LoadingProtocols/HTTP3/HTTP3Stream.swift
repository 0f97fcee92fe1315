internal import LoadingSemantics

/// The state of one stream between its submission and its end.
struct HTTP3Stream: HTTPStreamState {
    /// -1: the slot is free.
    var number: Int64
    /// The stream in C, until the slot is free.
    let handle: OpaquePointer
    var window: StreamWindow
    var isHeadSent = false
    var isAnswered = false
    /// The response is complete.
    var hasEnded = false
    /// Only its end will be reported.
    var isMuted = false
    /// Why it ends, if that is known before.
    var failure: HTTPStreamFailure?
    var informationalCount = 0
    var progressLength = 0
    /// Bytes of heads on the wire.
    var headLength = 0

    init(number: Int64, handle: OpaquePointer, window: Int) {
        self.number = number
        self.handle = handle
        self.window = StreamWindow(size: window)
    }

    /// Both halves have ended.
    var end: HTTPStreamFailure? {
        if let failure { return failure }
        return hasEnded ? nil : .malformed("The response is not whole.")
    }

    /// The failure after the server's reset with `code`.
    func reset(_ code: HTTP3ErrorCode) -> HTTPStreamFailure {
        switch code {
        case .requestRejected where !isAnswered: .refused
        case .versionFallback where !isAnswered: .http11Required
        default: .reset(code: code.rawValue, after: progress)
        }
    }
}
