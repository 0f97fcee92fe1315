import Glibc
import LoadingEvents
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// What belongs to a loop is used by the thread that runs it, and not while it is lent. Debug builds stop where it is
/// not so.
@Suite struct ConfinementTests {
    /// Does nothing. Confined to a loop, as what it stands for.
    private final class Handler: ReadinessHandler, LoopTimerTarget, @unchecked Sendable {
        // Sendable because it has nothing.

        let timer = LoopTimer()
        func becameReady(_ readiness: Readiness) {}
        func timerFired(_ timer: LoopTimer) {}
    }

    /// Uses all that is checked.
    private static func useEverything(of loop: EventLoop, _ box: LoopBox<Int>) -> Int {
        let handler = Handler()
        loop.arm(handler.timer, at: .max, for: handler)
        loop.disarm(handler.timer)
        loop.callAgain(handler)
        let pipe = SplicePipe()
        if let entrance = pipe?.writeEnd, let registration = loop.register(entrance, handler) {
            loop.unregister(entrance, registration)
        }
        loop.checkConfinement(of: "A part of a loop")
        return box.value
    }

    // The checks must not stop what is right.
    @Test("nothing stops on the loop, between callouts, and after them") func onTheLoop() async throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let fromOutside = LoopBox(1, on: loop)
        #expect(try await stepped.run { Self.useEverything(of: loop, fromOutside) } == 1)
        let results = EventRecorder<Int>()
        try await stepped.run {
            let box = LoopBox(2)
            loop.callOut(CalledOut { loop.post { results.record(Self.useEverything(of: loop, box)) } })
        }
        #expect(try await results.waitFor(count: 1) == [2])
    }

    /// A callback that goes on until it is let go.
    private final class Callback: Callout {
        let begun = Signal("the beginning of a callback")
        let end = Signal("the end of a callback")

        func callOut() {
            begun.fire()
            try? end.wait()
        }
    }

    @Test("nothing stops on the thread that takes a lent loop over") func takenOver() async throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let callback = Callback()
        defer { callback.end.fire() }
        loop.callOut(callback)
        try await callback.begun.wait()
        stepped.checkLending()
        #expect(stepped.checkLending())
        let box = LoopBox(3, on: loop)
        #expect(try await stepped.run { Self.useEverything(of: loop, box) } == 3)
    }

    #if DEBUG && compiler(>=6.2)
        /// Whether the process was stopped for that reason.
        private static func says(_ reason: String, _ result: ExitTest.Result?) -> Bool {
            String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).contains(reason)
        }

        /// Waits for what stops the process.
        private static func waitForTheStop() async throws { try await Signal("the stop of the process").wait() }

        @Test("a timer is not armed elsewhere") func arming() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let handler = Handler()
                EventLoops.assign().arm(handler.timer, at: .max, for: handler)
            }
            #expect(Self.says("A timer is used off its event loop: this thread runs none", result))
        }

        @Test("a timer is not disarmed elsewhere") func disarming() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                EventLoops.assign().disarm(LoopTimer())
            }
            #expect(Self.says("A timer is used off its event loop", result))
        }

        @Test("a descriptor is not registered elsewhere") func registering() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                _ = EventLoops.assign().register(0, Handler())
            }
            #expect(Self.says("The registration of a descriptor is used off its event loop", result))
        }

        @Test("a registration is not taken back elsewhere") func unregistering() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let loop = EventLoops.assign()
                loop.post {
                    let pipe = SplicePipe()
                    guard let entrance = pipe?.writeEnd, let registration = loop.register(entrance, Handler()) else {
                        return
                    }
                    loop.callOut(
                        CalledOut { [pipe] in withExtendedLifetime(pipe) { loop.unregister(entrance, registration) } })
                }
                try await Self.waitForTheStop()
            }
            #expect(Self.says("The registration of a descriptor is used off its event loop", result))
        }

        @Test("a handler is not called again for another thread") func callingAgain() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                EventLoops.assign().callAgain(Handler())
            }
            #expect(Self.says("The list of handlers to call again is used off its event loop", result))
        }

        @Test("a box is not opened elsewhere") func opening() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                _ = LoopBox(1, on: EventLoops.assign()).value
            }
            #expect(Self.says("A LoopBox<Int> is used off its event loop: this thread runs none", result))
        }

        @Test("a box is not opened on another loop") func openingOnAnother() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let other = try SteppedLoop()
                let box = LoopBox(1, on: EventLoops.assign())
                _ = try await other.run { box.value }
            }
            #expect(Self.says("A LoopBox<Int> is used off its event loop: this thread runs another one", result))
        }

        @Test("a box is made on a loop, or for one") func making() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                _ = LoopBox(1)
            }
            #expect(Self.says("A LoopBox<Int> is made off every event loop", result))
        }

        // The thread still has the loop, and may lose it at any moment.
        @Test("a callout does not touch what is the loop's") func callout() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let loop = EventLoops.assign()
                loop.post {
                    let box = LoopBox(1)
                    loop.callOut(CalledOut { _ = box.value })
                }
                try await Self.waitForTheStop()
            }
            #expect(
                Self.says("A LoopBox<Int> is used off its event loop: this thread runs none, or has lent it", result))
        }

        @Test("nor does one whose loop has gone to another thread") func calloutThatLostTheLoop() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let stepped = try SteppedLoop()
                let loop = stepped.loop
                let callback = Callback()
                loop.callOut(
                    CalledOut {
                        callback.callOut()
                        let handler = Handler()
                        loop.arm(handler.timer, at: .max, for: handler)
                    })
                try await callback.begun.wait()
                stepped.checkLending()
                stepped.checkLending()
                // The loop goes on elsewhere.
                try await stepped.run {}
                callback.end.fire()
                try await Self.waitForTheStop()
            }
            #expect(Self.says("A timer is used off its event loop: this thread runs none, or has lent it", result))
        }

        @Test("a part of a loop is not used elsewhere") func parts() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                EventLoops.assign().checkConfinement(of: "A part of a loop")
            }
            #expect(Self.says("A part of a loop is used off its event loop", result))
        }
    #endif
}
