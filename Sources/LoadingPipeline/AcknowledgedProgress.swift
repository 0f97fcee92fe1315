internal import LoadingTransport

/// Whether a request gets on whose bytes the kernel has taken, by what its server acknowledges: a few looks while an idle
/// time runs, and nothing when bytes are sent.
struct AcknowledgedProgress {
    private var last: Acknowledgement?
    /// How much of the request had been handed over at that look.
    private var handed: Int64 = 0
    /// Up to there what the connection carries may be the request's. What comes behind it is that of others.
    private var end: UInt64 = 0

    /// Whether the server has acknowledged any of the request since the last look.
    ///
    /// - Parameter handed: How many bytes of it were handed over so far: when there are more, that was progress by itself.
    mutating func look(at now: Acknowledgement, handed: Int64) -> Bool {
        defer { last = now }
        guard let last, handed == self.handed else {
            self.handed = handed
            end = now.acknowledged &+ now.outstanding
            return false
        }
        guard last.outstanding > 0, last.acknowledged < end else { return false }
        return now.acknowledged > last.acknowledged || now.outstanding < last.outstanding
    }
}
