internal import LoadingTransport

/// Whether a request whose bytes the kernel has accepted makes progress, judged by the server's acknowledgements. It is
/// checked a few times per idle timeout, and costs nothing when bytes are sent.
struct AcknowledgedProgress {
    private var last: Acknowledgement?
    /// How many bytes of the request had been sent at the last check.
    private var sent: Int64 = 0
    /// Bytes of the connection up to here may belong to the request. Later bytes belong to other requests.
    private var end: UInt64 = 0

    /// Whether the server has acknowledged any bytes of the request since the last check.
    ///
    /// - Parameter sent: How many bytes of the request were sent so far. An increase is progress that is reported
    ///   elsewhere.
    mutating func hasProgressed(to now: Acknowledgement, sent: Int64) -> Bool {
        defer { last = now }
        guard let last, sent == self.sent else {
            self.sent = sent
            end = now.acknowledged &+ now.outstanding
            return false
        }
        guard last.outstanding > 0, last.acknowledged < end else { return false }
        return now.acknowledged > last.acknowledged || now.outstanding < last.outstanding
    }
}
