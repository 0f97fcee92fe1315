/// The two timeouts of a load: the idle timeout (C-6) and the total timeout from its start (C-8). Neither runs while
/// the load is suspended (CONN-16).
///
/// Times are the loop's, in nanoseconds. Timeouts are in seconds. Each call passes them, because a redirect may change
/// them.
struct LoadClock: Equatable {
    /// The time of the last network activity, or of the end of the last wait for the client.
    private(set) var lastActivity: Int64 = 0
    /// The start of the load, moved forward by the duration of suspensions.
    private var start: Int64 = 0
    /// The idle time of earlier attempts that the server has not processed. The activity of the next attempt does not
    /// end it, because that would be repeated without an end.
    private var earlierIdleTime: Int64 = 0
    private var suspension: Int64 = 0

    mutating func begin(at now: Int64) {
        start = now
        lastActivity = now
    }

    mutating func noteActivity(at now: Int64) { lastActivity = now }

    /// Bytes have arrived then, as it turns out now.
    mutating func noteArrival(at time: Int64) { lastActivity = max(lastActivity, time) }

    /// The server has not processed the request, which is sent again now: the idle time continues.
    mutating func noteUnprocessed(at now: Int64) {
        earlierIdleTime += max(now - lastActivity, 0)
        lastActivity = now
    }

    /// The server has processed the request.
    mutating func noteResponse(at now: Int64) {
        earlierIdleTime = 0
        lastActivity = now
    }

    /// The time when the idle timeout expires.
    private func idleEnd(_ idle: Double) -> Int64 {
        lastActivity.addingSeconds(idle) - earlierIdleTime
    }

    mutating func suspend(at now: Int64) { suspension = now }

    mutating func resume(at now: Int64) {
        lastActivity = now
        start += now - suspension
    }

    /// Whether a timeout has expired. `idle` is nil while the idle time does not run.
    func isOver(at now: Int64, idle: Double?, total: Double) -> Bool {
        if now >= start.addingSeconds(total) { return true }
        guard let idle else { return false }
        return now >= idleEnd(idle)
    }

    /// The time of the next check.
    ///
    /// - Parameters:
    ///   - idle: Nil if there is no idle timeout.
    ///   - idleTimeRuns: Whether the idle time runs now. If not, it may run by the time of the next check.
    ///   - checks: How often in one idle timeout the load checks for progress that is not reported.
    ///   - shortest: The minimum interval between checks, in seconds, unless a timeout ends earlier. It prevents a
    ///     busy loop for a request with a timeout of almost zero.
    func nextCheck(
        at now: Int64, idle: Double?, total: Double, idleTimeRuns: Bool, checks: Double = 1, shortest: Double
    ) -> Int64 {
        let end = start.addingSeconds(total)
        guard let idle else { return end }
        let pause = max(idle / max(checks, 1), shortest)
        guard idleTimeRuns else { return min(end, now.addingSeconds(pause)) }
        let deadline = idleEnd(idle)
        return min(end, checks > 1 ? min(deadline, now.addingSeconds(pause)) : deadline)
    }
}

extension Int64 {
    /// This time in nanoseconds plus the seconds: at most the far future, at least this time.
    func addingSeconds(_ seconds: Double) -> Int64 {
        // Not `>=`, so that NaN also means no limit.
        guard seconds < 9e9 else { return .max }
        let (sum, overflow) = addingReportingOverflow(Int64(Swift.max(0, seconds) * 1e9))
        return overflow ? .max : sum
    }
}
