internal import CLoadingLinux
internal import Glibc
internal import Synchronization

/// The clock of a loop.
package enum LoopClock: Sendable {
    /// The system's monotonic clock.
    case monotonic
    /// A clock that a test steps. A loop with it sleeps until there is I/O or work, never for a duration.
    case stepped(SteppedTime)

    /// Monotonic time, in nanoseconds.
    package var now: Int64 {
        switch self {
        case .monotonic: cll_now()
        case .stepped(let time): time.now
        }
    }

    /// What the wall clock has more than the time since the start of the machine, in nanoseconds. It changes only when
    /// that clock is set.
    package var wallOffset: Int64 {
        switch self {
        case .monotonic: cll_wall_now() - cll_boot_now()
        case .stepped(let time): time.wallOffset
        }
    }

    /// Nanoseconds since 1970. Moves with a stepped clock.
    package var wallNow: Int64 {
        switch self {
        case .monotonic: cll_wall_now()
        case .stepped(let time): time.wallNow
        }
    }

    /// Seconds since 1970. Costs less than `wallNow`.
    package var wallTime: Int64 {
        switch self {
        case .monotonic: Int64(time(nil))
        case .stepped(let time): time.wallNow / 1_000_000_000
        }
    }
}

/// A time that changes only when it is moved.
package final class SteppedTime: Sendable {
    private let time: Atomic<Int64>
    package let wallOffset: Int64

    package init() {
        let start = cll_now()
        time = Atomic(start)
        wallOffset = cll_wall_now() - start
    }

    package var now: Int64 { time.load(ordering: .acquiring) }
    package var wallNow: Int64 { now + wallOffset }

    /// Moves the time forward. A time in the past has no effect.
    package func move(to moment: Int64) {
        _ = time.max(moment, ordering: .acquiringAndReleasing)
    }
}
