internal import CLoadingLinux
internal import Synchronization

/// Where a loop takes its time from, and how long it may sleep.
package enum LoopClock: Sendable {
    /// The system's monotonic clock.
    case monotonic
    /// Time that a test moves. A loop with it sleeps until there is I/O or work, never for a time.
    case stepped(SteppedTime)

    /// Nanoseconds of a clock that never goes back.
    package var now: Int64 {
        switch self {
        case .monotonic: cll_now()
        case .stepped(let time): time.now
        }
    }

    /// Nanoseconds since 1970. A stepped clock moves this time too.
    package var wallNow: Int64 {
        switch self {
        case .monotonic: cll_wall_now()
        case .stepped(let time): time.wallNow
        }
    }
}

/// A time that stands still until it is moved.
package final class SteppedTime: Sendable {
    private let time: Atomic<Int64>
    private let wallOffset: Int64

    package init() {
        let start = cll_now()
        time = Atomic(start)
        wallOffset = cll_wall_now() - start
    }

    package var now: Int64 { time.load(ordering: .acquiring) }
    package var wallNow: Int64 { now + wallOffset }

    /// Moves the time forward; a moment that is past changes nothing.
    package func move(to moment: Int64) {
        _ = time.max(moment, ordering: .acquiringAndReleasing)
    }
}
