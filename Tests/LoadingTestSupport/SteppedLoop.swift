internal import LoadingEvents
package import LoadingSemantics
package import LoadingTransport
internal import TestSupport

/// An event loop with a virtual clock that a test advances, to test timers without waiting.
///
///     let stepped = try SteppedLoop()
///     … something on `stepped.loop` arms a timer …
///     try await stepped.step(by: stepped.limits.http1Idle)
///
/// Sockets and servers in other threads take real time. A test must wait for their events before it advances the clock.
package final class SteppedLoop: Sendable {
    package let loop: EventLoop
    private let time = SteppedTime()
    /// The state at the last check of the lending.
    private let lending = Watched<UInt64>(0)

    package init(limits: TimeLimits = .standard) throws {
        loop = EventLoop(clock: .stepped(time), limits: limits)
        guard loop.serve() else { throw TestSupport.POSIXFailure("a thread for a loop") }
    }

    deinit { loop.stop() }

    package var limits: TimeLimits { loop.limits }

    /// Nanoseconds; initially the system's monotonic time.
    package var now: Int64 { time.now }
    /// Nanoseconds since 1970.
    package var wallNow: Int64 { time.wallNow }

    /// Runs `body` on the loop and returns its result.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async throws -> Result {
        let result = Watched<Result?>(nil)
        loop.post {
            let value = body()
            result.withValue { $0 = value }
        }
        return try await result.wait(for: "the loop") { $0 }
    }

    /// Returns when the loop has no work until its clock advances or an external event arrives.
    package func settle() async throws {
        let loop = loop
        let end = ContinuousClock.now + .testDeadline
        while try await !run({ loop.isAtRest }) {
            if ContinuousClock.now > end { throw DeadlineExceeded(awaited: "a loop at rest", deadline: .testDeadline) }
        }
    }

    /// Advances the clock by a number of nanoseconds, timer by timer, and settles after each one and at the end.
    package func step(by duration: Int64) async throws {
        let loop = loop
        let end = time.now + duration
        try await settle()
        while true {
            let next = try await run { loop.nextDeadline }
            guard next <= end else { break }
            time.move(to: next)
            try await settle()
        }
        time.move(to: end)
        try await settle()
    }

    /// Waits, in real time, until the next timer is due in exactly this time. It may be armed by an external event.
    package func waitForTimer(in duration: Int64) async throws {
        let loop = loop
        let moment = now + duration
        try await eventually { (try? await self.run { loop.nextDeadline }) == moment }
    }

    /// Runs `body`, and meanwhile advances the clock to each timer that is due within `window`: for pauses that the
    /// test is not about. Later timers, such as timeouts, do not fire.
    package func skippingPauses<Result: Sendable>(
        within window: Int64, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let loop = loop
        let isDone = Signal("the end of what pauses")
        async let result = {
            defer { isDone.fire() }
            return try await body()
        }()
        while !isDone.isFired {
            try await settle()
            let next = try await run { loop.nextDeadline }
            if next <= now + window { time.move(to: next) } else { try await Task.sleep(for: .milliseconds(1)) }
        }
        return try await result
    }

    /// Performs the periodic check for blocked callbacks (every `TimeLimits.callback`). Returns whether the loop moved
    /// to another thread, because it was in the same callbacks at the last check.
    @discardableResult
    package func checkLending() -> Bool {
        lending.withValue { last in
            guard let word = loop.checkLending(since: last) else { return true }
            last = word
            return false
        }
    }
}
