import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// Time on a loop whose clock is stepped, and what happens in it.
@Suite struct SteppedLoopTests {
    /// Records when its timers fire, counted from its beginning. Confined to its loop but for what it has recorded.
    private final class Alarm: LoopTimerTarget, @unchecked Sendable {
        // Sendable because what is mutable is touched on the loop only.

        let fired = EventRecorder<Int64>()
        private let loop: EventLoop
        private let start: Int64
        private let timers = (0..<3).map { _ in LoopTimer() }
        /// How far to put off each timer that fires, and how often.
        var renewal: (period: Int64, count: Int) = (0, 0)

        init(on loop: EventLoop) {
            self.loop = loop
            start = loop.clock.now
        }

        func arm(_ index: Int, after delay: Int64) { loop.arm(timers[index], at: start + delay, for: self) }

        func disarm() { for timer in timers { loop.disarm(timer) } }

        func timerFired(_ timer: LoopTimer) {
            fired.record(loop.now - start)
            guard renewal.count > 0 else { return }
            renewal.count -= 1
            loop.arm(timer, at: loop.now + renewal.period, for: self)
        }
    }

    /// Disarms another timer at its end. Confined to its loop.
    private final class Dependent: LoopTimerTarget {
        private let loop: EventLoop
        private let other: LoopTimer

        init(on loop: EventLoop, _ other: LoopTimer) {
            self.loop = loop
            self.other = other
        }

        deinit { loop.disarm(other) }

        func timerFired(_ timer: LoopTimer) {}
    }

    @Test("the end of a timer's target may disarm another timer", arguments: [true, false])
    func endOfTarget(isRearmed: Bool) async throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let counts = try await stepped.run {
            let alarm = Alarm(on: loop)
            let (timer, other) = (LoopTimer(), LoopTimer())
            loop.arm(other, at: loop.now + 1, for: alarm)
            loop.arm(timer, at: loop.now + 2, for: Dependent(on: loop, other))
            let before = loop.armedTimerCount
            // Both release the target.
            if isRearmed { loop.arm(timer, at: loop.now + 3, for: alarm) } else { loop.disarm(timer) }
            let after = loop.armedTimerCount
            loop.disarm(timer)
            return [before, after, loop.armedTimerCount]
        }
        #expect(counts == [2, isRearmed ? 1 : 0, 0])
    }

    @Test("each timer fires at its own time") func order() async throws {
        let stepped = try SteppedLoop()
        let alarm = Alarm(on: stepped.loop)
        try await stepped.run {
            alarm.arm(0, after: 3_600_000_000_000)
            alarm.arm(1, after: 5)
            alarm.arm(2, after: 90_000_000_000)
        }
        try await stepped.step(by: 4)
        #expect(alarm.fired.events == [])
        try await stepped.step(by: 1)
        #expect(alarm.fired.events == [5])
        try await stepped.step(by: 3_600_000_000_000)
        #expect(alarm.fired.events == [5, 90_000_000_000, 3_600_000_000_000])
    }

    @Test("a timer that is armed anew within a step fires within it") func renewal() async throws {
        let stepped = try SteppedLoop()
        let alarm = Alarm(on: stepped.loop)
        try await stepped.run {
            alarm.renewal = (10, 3)
            alarm.arm(0, after: 10)
        }
        try await stepped.step(by: 35)
        #expect(alarm.fired.events == [10, 20, 30])
        try await stepped.step(by: 5)
        #expect(alarm.fired.events == [10, 20, 30, 40])
    }

    @Test("a timer that was put off does not fire before") func postponed() async throws {
        let stepped = try SteppedLoop()
        let alarm = Alarm(on: stepped.loop)
        try await stepped.run {
            alarm.arm(0, after: 10)
            alarm.arm(0, after: 20)
        }
        try await stepped.step(by: 19)
        #expect(alarm.fired.events == [])
        try await stepped.step(by: 1)
        #expect(alarm.fired.events == [20])
    }

    // A timer of the process's own loops fires too, after its time.
    @Test("the system's clock") func monotonic() async throws {
        let loop = EventLoops.assign()
        let alarm = Alarm(on: loop)
        loop.post { alarm.arm(0, after: 20_000_000) }
        #expect(try await alarm.fired.waitFor(count: 1)[0] >= 20_000_000)
    }

    // MARK: Lending

    /// A callback that goes on until it is let go.
    private final class Callback: Callout {
        let begun = Signal("the beginning of a callback")
        let end = Signal("the end of a callback")
        let ended = Signal("that a callback has ended")

        func callOut() {
            begun.fire()
            try? end.wait()
            ended.fire()
        }
    }

    @Test("a callback that two checks find takes no longer part in the loop") func lending() async throws {
        let stepped = try SteppedLoop()
        let callback = Callback()
        stepped.loop.callOut(callback)
        try await callback.begun.wait()
        let posted = Signal("a job beside the callback")
        stepped.loop.post { posted.fire() }
        #expect(!stepped.checkLending())
        #expect(!posted.isFired)
        #expect(stepped.checkLending())
        try await posted.wait()
        #expect(!callback.ended.isFired)
        // The loop is another thread's and stays that when the callback ends.
        callback.end.fire()
        try await callback.ended.wait()
        try await stepped.settle()
        #expect(!stepped.checkLending())
    }

    @Test("another callback at the second check leaves the loop where it is") func lendingTwice() async throws {
        let stepped = try SteppedLoop()
        for _ in 0..<3 {
            let callback = Callback()
            stepped.loop.callOut(callback)
            try await callback.begun.wait()
            #expect(!stepped.checkLending())
            callback.end.fire()
            try await stepped.settle()
        }
    }
}
