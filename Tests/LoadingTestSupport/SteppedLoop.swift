internal import LoadingEvents
package import LoadingSemantics
package import LoadingTransport
internal import TestSupport

/// An event loop whose time stands still until a test moves it: what waits for a time is proven without waiting.
///
///     let stepped = try SteppedLoop()
///     … something on `stepped.loop` arms a timer …
///     try await stepped.step(by: stepped.limits.http1Idle)
///
/// Sockets, and servers in other threads, take real time as ever. What has not come yet when a step begins comes later in the
/// loop's time, so a test waits for it first.
package final class SteppedLoop: Sendable {
    package let loop: EventLoop
    private let time = SteppedTime()
    /// What the last check of the lending saw.
    private let lending = Watched<UInt64>(0)

    package init(limits: TimeLimits = .standard) throws {
        guard let loop = EventLoop(clock: .stepped(time), limits: limits) else {
            throw TestSupport.POSIXFailure("a loop")
        }
        self.loop = loop
        guard loop.serve() else { throw TestSupport.POSIXFailure("a thread for a loop") }
    }

    deinit { loop.stop() }

    package var limits: TimeLimits { loop.limits }

    /// Nanoseconds; near the system's monotonic clock at the beginning.
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

    /// Returns when the loop has done all that it can before its time moves, or something comes from outside.
    package func settle() async throws {
        let loop = loop
        let end = ContinuousClock.now + .testDeadline
        while try await !run({ loop.isAtRest }) {
            if ContinuousClock.now > end { throw DeadlineExceeded(awaited: "a loop at rest", deadline: .testDeadline) }
        }
    }

    /// Moves the time by so many nanoseconds, to each timer in turn, and settles after each and at the end.
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

    /// Waits, in real time, until the next timer is due in exactly this time: what arms it may need something from outside.
    package func waitForTimer(in duration: Int64) async throws {
        let loop = loop
        let moment = now + duration
        try await eventually { (try? await self.run { loop.nextDeadline }) == moment }
    }

    /// Runs `body`, and moves the time to each timer that is due within `window` of the present while it runs: for pauses that
    /// are not what a test is about. Timers beyond the window, as those of timeouts, do not fire.
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

    /// What the watch does once in each `TimeLimits.callback`. Whether the loop went to another thread: it was in the same
    /// callbacks at the last check.
    @discardableResult
    package func checkLending() -> Bool {
        lending.withValue { last in
            guard let word = loop.checkLending(since: last) else { return true }
            last = word
            return false
        }
    }
}
