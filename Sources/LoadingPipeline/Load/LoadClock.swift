/// The two limits of a load's time: silence of the network (C-6), and the whole from its start (C-8). Neither runs while
/// the load is suspended (CONN-16).
///
/// Times are the loop's, in nanoseconds; limits are in seconds, and come with each call because a redirect may bring
/// another one.
struct LoadClock: Equatable {
    /// When the network was heard last, or a wait for the client ended.
    private(set) var lastActivity: Int64 = 0
    /// When the load began; later by as much as it was suspended.
    private var start: Int64 = 0
    private var suspension: Int64 = 0

    mutating func begin(at now: Int64) {
        start = now
        lastActivity = now
    }

    mutating func noteActivity(at now: Int64) { lastActivity = now }

    mutating func suspend(at now: Int64) { suspension = now }

    mutating func resume(at now: Int64) {
        lastActivity = now
        start += now - suspension
    }

    /// Whether the time is over. `idle` is nil while silence does not count.
    func isOver(at now: Int64, idle: Double?, total: Double) -> Bool {
        if now >= start.addingSeconds(total) { return true }
        guard let idle else { return false }
        return now >= lastActivity.addingSeconds(idle)
    }

    /// When to look next.
    ///
    /// - Parameters:
    ///   - idle: Nil if there is no idle timeout.
    ///   - countsSilence: Whether silence counts now. If not, it may by the time of the next look.
    ///   - looks: How often in one idle timeout the load checks for progress that is not reported.
    ///   - shortest: The least time until then where no limit ends before, in seconds: a request that allows no time must
    ///     not keep the loop busy.
    func nextLook(
        at now: Int64, idle: Double?, total: Double, countsSilence: Bool, looks: Double = 1, shortest: Double
    ) -> Int64 {
        let end = start.addingSeconds(total)
        guard let idle else { return end }
        let pause = max(idle / max(looks, 1), shortest)
        guard countsSilence else { return min(end, now.addingSeconds(pause)) }
        let silence = lastActivity.addingSeconds(idle)
        return min(end, looks > 1 ? min(silence, now.addingSeconds(pause)) : silence)
    }
}

extension Int64 {
    /// This time in nanoseconds plus that many seconds; never more than the far future, never less than now.
    func addingSeconds(_ seconds: Double) -> Int64 {
        // Not `<`, so that a NaN means for ever as well.
        guard seconds < 9e9 else { return .max }
        let (sum, overflow) = addingReportingOverflow(Int64(Swift.max(0, seconds) * 1e9))
        return overflow ? .max : sum
    }
}
