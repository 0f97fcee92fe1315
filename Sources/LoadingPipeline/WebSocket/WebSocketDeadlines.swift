/// The time limits of a WebSocket: its total timeout, the exchange of close frames, and the pings at an interval, with
/// their answers.
///
/// A value without a clock. Times are the loop's, in nanoseconds.
struct WebSocketDeadlines {
    private var clock: LoadClock
    private let totalTimeout: Double
    /// Until when the close frames have to be exchanged, or what had arrived before the end of the connection, a fault
    /// or a failed write has to be taken in.
    var closing: Int64?
    /// The time without a received octet after which a ping is sent, and after which the server then counts as lost.
    private var pingInterval: Int64?
    private var lastReceived: Int64
    /// When the keep-alive ping was sent.
    private var lastProbe: Int64?

    /// What follows from the server's silence.
    enum Probe {
        case nothing
        case ping
        /// The last ping was not answered.
        case lost
    }

    /// - Parameters:
    ///   - clock: That of the opening handshake, from which the total timeout runs.
    ///   - totalTimeout: In seconds.
    init(_ clock: LoadClock, totalTimeout: Double, at now: Int64) {
        self.clock = clock
        self.totalTimeout = totalTimeout
        lastReceived = now
    }

    /// Whether the next deadline may be another one than it was.
    var mayMove: Bool { closing != nil || pingInterval != nil }

    mutating func suspend(at now: Int64) { clock.suspend(at: now) }

    mutating func resume(at now: Int64) {
        clock.resume(at: now)
        received(at: now)
    }

    mutating func received(at now: Int64) {
        lastReceived = now
        lastProbe = nil
    }

    mutating func setPingInterval(_ interval: Int64?) {
        pingInterval = interval
        lastProbe = nil
    }

    /// Whether the total timeout has expired.
    func isOver(at now: Int64) -> Bool { clock.isOver(at: now, idle: nil, total: totalTimeout) }

    /// - Parameter isReading: Whether the server's silence counts.
    func next(at now: Int64, isReading: Bool) -> Int64 {
        var deadline = clock.nextCheck(at: now, idle: nil, total: totalTimeout, idleTimeRuns: false, shortest: 0)
        if let closing { deadline = min(deadline, closing) }
        if isReading, let endOfSilence { deadline = min(deadline, endOfSilence) }
        return deadline
    }

    /// When a ping is due, or the connection counts as lost.
    private var endOfSilence: Int64? { pingInterval.map { (lastProbe ?? lastReceived) &+ $0 } }

    mutating func probe(at now: Int64) -> Probe {
        guard let endOfSilence, now >= endOfSilence else { return .nothing }
        if lastProbe != nil { return .lost }
        lastProbe = now
        return .ping
    }
}
