package import LoadingEvents

/// The wall clock of the machine, compared with the time since its boot, which cannot be set.
///
/// The wall clock may be set at any time: by hand, or when a machine without a battery has learnt the time from the
/// network, decades after what it began with. Durations that a record has to keep for longer than a process lives are
/// therefore dates by a clock that the record names, and are changed when that clock is set.
package struct MachineClock: Codable, Equatable, Sendable {
    /// The boot during which it was read. Nothing is known of how a clock was set while the machine was off.
    package var boot: String
    /// What the wall clock has more than the time since the boot, in seconds.
    package var offset: Double

    /// In seconds. Both clocks are slewed alike, but are not read at the same moment.
    package static let smallestChange = 1.0

    package init(boot: String, offset: Double) {
        self.boot = boot
        self.offset = offset
    }

    package init(_ clock: LoopClock) {
        self.init(boot: Boot.identifier, offset: Double(clock.wallOffset) / 1e9)
    }

    /// By how much the clock was set, in seconds, since another reading of the same boot; nil if it was not set.
    package func change(since old: MachineClock) -> Double? {
        let change = offset - old.offset
        // An unknown boot could be any.
        return boot == old.boot && !boot.isEmpty && abs(change) >= Self.smallestChange ? change : nil
    }
}
