/// Decides whether a load is tried again, with curl's rules. Has no clock.
struct RetryPolicy {
    /// Why a try has failed.
    enum Cause {
        case failure(ExitCode)
        /// - Parameter retryAfter: Seconds, from the field `Retry-After`.
        case status(Int, retryAfter: Double?)
    }

    private let options: RetryOptions
    private var tries = 0
    private var nextDelay = 1.0

    /// The longest doubled delay, in seconds.
    private static let longestDelay = 600.0

    /// The longest delay of all, ten years, in seconds: Foundation traps on times that it cannot represent.
    private static let longestWait = 10 * 365 * 86_400.0

    init(_ options: RetryOptions) { self.options = options }

    var triesLeft: Int { options.count - tries }

    /// Whether the cause may pass.
    func allows(_ cause: Cause) -> Bool {
        guard triesLeft > 0 else { return false }
        switch cause {
        case .failure(.interrupted), .failure(.terminated), .failure(.brokenPipe), .failure(.writeError): return false
        case .failure(.timedOut), .failure(.hostNotFound): return true
        case .failure(.cannotConnect): return options.afterRefusal || options.afterAllErrors
        case .failure: return options.afterAllErrors
        case .status(let status, _): return [408, 429, 500, 502, 503, 504].contains(status)
        }
    }

    /// The time until the next try in seconds; nil if there is none.
    ///
    /// - Parameter elapsed: Seconds since the first try.
    mutating func delay(after cause: Cause, elapsed: Double) -> Double? {
        guard allows(cause) else { return nil }
        var delay = options.delay.flatMap { $0 > 0 ? $0 : nil } ?? nextDelay
        if case .status(_, let retryAfter?) = cause { delay = max(delay, retryAfter) }
        delay = min(delay, Self.longestWait)
        if let limit = options.maximumTime, limit > 0, elapsed + delay > limit { return nil }
        tries += 1
        nextDelay = min(nextDelay * 2, Self.longestDelay)
        return delay
    }
}
