import Dispatch
import Glibc
import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// A thread that waits for what it asks of a loop does it itself while the loop sleeps.
@Suite struct BorrowedLoopTests {
    /// Records what happens, in order. Confined to its loop but for that.
    private final class Handler: ReadinessHandler, LoopTimerTarget, @unchecked Sendable {
        // Sendable because what is mutable is used on the loop only.

        let events = EventRecorder<String>()
        let timer = LoopTimer()
        var callsLeft = 0
        weak var loop: EventLoop?

        func becameReady(_ readiness: Readiness) {
            events.record("ready")
            guard callsLeft > 0 else { return }
            callsLeft -= 1
            loop?.callAgain(self)
        }

        func timerFired(_ timer: LoopTimer) { events.record("timer") }
    }

    /// Runs `body` on the calling thread, as soon as the loop sleeps.
    private static func borrow(_ loop: EventLoop, _ body: @escaping @Sendable () -> Void) throws {
        let end = ContinuousClock.now + .testDeadline
        let caller = pthread_self()
        while ContinuousClock.now < end {
            let isBorrowed = Watched<Bool?>(nil)
            loop.perform {
                let isCaller = pthread_self() == caller
                if isCaller { body() }
                isBorrowed.withValue { $0 = isCaller }
            }
            if try isBorrowed.wait(for: "a job", until: { $0 }) { return }
        }
        throw DeadlineExceeded(awaited: "a loop that sleeps", deadline: .testDeadline)
    }

    @Test("the work is done before the call returns, with all that belongs to the loop") func borrowed() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let handler = Handler()
        let box = LoopBox("box", on: loop)
        try Self.borrow(loop) {
            handler.events.record(box.value)
            loop.arm(handler.timer, at: .max, for: handler)
            loop.callAgain(handler)
            handler.events.record("job")
        }
        #expect(handler.events.events == ["box", "job", "ready"])
    }

    @Test("a handler that has more to do is called on by the loop's own thread") func unfinished() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let handler = Handler()
        try Self.borrow(loop) {
            handler.loop = loop
            handler.callsLeft = 3
            loop.callAgain(handler)
        }
        #expect(try handler.events.waitFor(count: 4) == ["ready", "ready", "ready", "ready"])
    }

    // Otherwise each use would wake the loop's thread.
    @Test("the loop's thread sleeps on, also when timers are armed that are like those before") func sleepsOn() throws {
        let loop = EventLoop()
        #expect(loop.serve())
        let handler = Handler()
        let minute: Int64 = 60_000_000_000
        let caller = pthread_self()
        let borrowed = Watched(0)
        try Self.borrow(loop) { loop.arm(handler.timer, at: loop.now + minute, for: handler) }
        for _ in 0..<50 {
            // What the loop's thread does for each request.
            loop.post { loop.disarm(handler.timer) }
            try Self.borrow(loop) {}
            loop.perform {
                if pthread_self() == caller { borrowed.withValue { $0 += 1 } }
                loop.arm(handler.timer, at: loop.now + minute, for: handler)
            }
            loop.perform { if pthread_self() == caller { borrowed.withValue { $0 += 1 } } }
        }
        #expect(borrowed.current == 100)
    }

    @Test("a loop that is awake does it after what was posted before") func awake() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let events = EventRecorder<String>()
        let (isBusy, goOn) = (Signal("a job"), Signal("the end of a job"))
        loop.post {
            isBusy.fire()
            try? goOn.wait()
        }
        try isBusy.wait()
        loop.post { events.record("posted") }
        loop.perform { events.record("performed") }
        #expect(events.events == [])
        goOn.fire()
        #expect(try events.waitFor(count: 2) == ["posted", "performed"])
    }

    @Test("work that comes while the loop is borrowed is done by its own thread") func postedMeanwhile() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let events = EventRecorder<String>()
        let caller = pthread_self()
        try Self.borrow(loop) {
            loop.post { events.record(pthread_self() == caller ? "on the caller's thread" : "posted") }
            events.record("job")
        }
        #expect(try events.waitFor(count: 2) == ["job", "posted"])
        try Self.borrow(loop) {
            loop.callOut(CalledOut { events.record(pthread_self() == caller ? "on the caller's thread" : "called") })
            events.record("job")
        }
        #expect(try events.waitFor(count: 4).suffix(2) == ["job", "called"])
    }

    // Its own thread sleeps without an end, so that only the return can wake it.
    @Test("a timer that is armed while the loop is borrowed comes in time") func timer() throws {
        let loop = EventLoop()
        #expect(loop.serve())
        let handler = Handler()
        for count in 1...3 {
            try Self.borrow(loop) { loop.arm(handler.timer, at: loop.now + 1_000_000, for: handler) }
            #expect(try handler.events.waitFor(count: count).last == "timer")
        }
    }

    @Test("what becomes ready while the loop is borrowed waits until it is given back") func readyMeanwhile() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let handler = Handler()
        let pipe = try #require(SplicePipe())
        try Self.borrow(loop) {
            _ = loop.register(pipe.readEnd, handler)
            _ = write(pipe.writeEnd, "x", 1)
            // Time in which the loop's thread wakes up. It has to wait however long this is.
            usleep(20_000)
            handler.events.record("job")
        }
        #expect(try handler.events.waitFor(count: 2) == ["job", "ready"])
    }

    /// Records the events of a stream.
    private final class StreamOwner: ByteStreamOwner, @unchecked Sendable {
        // Sendable because the stream is used on the loop only.

        let outcomes = EventRecorder<String>()
        var stream: ByteStream?

        func streamBecameReady(_ stream: ByteStream) {
            switch stream.finishConnecting() {
            case nil: outcomes.record("pending")
            case .success: outcomes.record("connected")
            case .failure(let failure): outcomes.record("failed with \(failure.code)")
            }
        }
    }

    // CONN-9: the address that seems to answer would win the race
    @Test("a connection that is begun while the loop is borrowed is not taken for an established one")
    func connecting() async throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let silent = try SaturatedPort()
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: UInt16(silent.port)))
        // The loop's thread wakes up, or not, before the socket connects.
        for _ in 0..<50 {
            let owner = StreamOwner()
            try Self.borrow(loop) { owner.stream = try? ByteStream.connect(to: address, on: loop, owner: owner) }
            try await stepped.settle()
            let isMade = try await stepped.run {
                owner.stream?.close()
                return owner.stream != nil
            }
            #expect(isMade)
            #expect(owner.outcomes.events == [])
        }
    }

    @Test("a caller is resumed by the thread that has borrowed the loop, when it has given it back")
    func resumed() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let events = EventRecorder<String>()
        let caller = pthread_self()
        try Self.borrow(loop) {
            let resumption = CalledOut {
                // Another thread can have the loop now.
                let isFree = Signal("a job of the loop's own thread")
                loop.post { isFree.fire() }
                guard (try? isFree.wait()) != nil else { return }
                events.record(pthread_self() == caller ? "resumed" : "resumed by another thread")
            }
            loop.callOut(resumption, isResumption: true)
            events.record("job")
        }
        #expect(events.events == ["job", "resumed"])
        loop.post {
            let resumption = CalledOut { events.record(pthread_self() == caller ? "wrong thread" : "called") }
            loop.callOut(resumption, isResumption: true)
        }
        #expect(try events.waitFor(count: 3).last == "called")
    }

    // A Swift task that is always resumed before it is suspended would never leave its thread to others.
    @Test("one of many callers in a row is resumed by the loop's own thread") func manyResumed() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let events = EventRecorder<Bool>()
        let caller = pthread_self()
        for count in 1...64 {
            try Self.borrow(loop) {
                loop.callOut(CalledOut { events.record(pthread_self() == caller) }, isResumption: true)
            }
            _ = try events.waitFor(count: count)
        }
        #expect(events.events.indices.filter { !events.events[$0] } == [31, 63])
    }

    @Test("one borrower resumes one caller") func twoResumed() throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let events = EventRecorder<String>()
        let caller = pthread_self()
        let goOn = Signal("the second caller")
        try Self.borrow(loop) {
            // Blocks, as an executor of a program may, until the other has been resumed.
            let first = CalledOut {
                try? goOn.wait()
                events.record("first")
            }
            loop.callOut(first, isResumption: true)
            let second = CalledOut {
                events.record(pthread_self() == caller ? "on the caller's thread" : "second")
                goOn.fire()
            }
            loop.callOut(second, isResumption: true)
        }
        #expect(events.events == ["second", "first"])
    }

    /// A loop that has resumed two callers, which have come back at once, a few times.
    private static func loopWithReturningCallers() throws -> (EventLoop, Handler) {
        var limits = TimeLimits()
        limits.gathering = 1_000_000_000
        let loop = EventLoop(limits: limits)
        #expect(loop.serve())
        try resume(2, on: loop)
        let deadline = ContinuousClock.now + .testDeadline
        // The prediction is made after an interval.
        while ContinuousClock.now < deadline {
            for _ in 0..<2 { try borrow(loop) {} }
            try resume(2, on: loop)
            let handler = Handler()
            try borrow(loop) { loop.callAgain(handler) }
            if handler.events.events == [] { return (loop, handler) }
        }
        throw DeadlineExceeded(awaited: "a prediction", deadline: .testDeadline)
    }

    private static func resume(_ count: Int, on loop: EventLoop) throws {
        let resumed = Watched(0)
        for _ in 0..<count { loop.callOut(CalledOut { resumed.withValue { $0 += 1 } }, isResumption: true) }
        _ = try resumed.wait(for: "callouts", until: { $0 == count ? true : nil })
    }

    @Test("what one of several callers leaves to be done is done with that of the last") func gathered() throws {
        let (loop, first) = try Self.loopWithReturningCallers()
        let last = Handler()
        try Self.borrow(loop) {
            last.events.record(first.events.events == [] ? "the first waits" : "too early")
            loop.callAgain(last)
        }
        #expect(first.events.events == ["ready"])
        #expect(last.events.events == ["the first waits", "ready"])
    }

    @Test("what a caller leaves to be done is done soon if the others do not come back") func notReturned() throws {
        let (loop, handler) = try Self.loopWithReturningCallers()
        #expect(try handler.events.waitFor(count: 1) == ["ready"])
    }

    // For nothing: no other caller returns.
    @Test("a caller that is alone does not wait, whatever else the loop calls") func aloneBesideCallouts() throws {
        var limits = TimeLimits()
        limits.gathering = 20_000_000
        let loop = EventLoop(limits: limits)
        #expect(loop.serve())
        for _ in 0..<100 {
            let called = Watched(0)
            for _ in 0..<3 { loop.callOut(CalledOut { called.withValue { $0 += 1 } }) }
            try Self.resume(1, on: loop)
            _ = try called.wait(for: "callouts", until: { $0 == 3 ? true : nil })
            let handler = Handler()
            try Self.borrow(loop) { loop.callAgain(handler) }
            #expect(handler.events.events == ["ready"])
            usleep(1_000)
        }
    }

    /// Counts without a lock. Confined to its loop.
    private final class Count: @unchecked Sendable {
        // Sendable because it is used on the loop only.

        var jobs = 0
        var isInside = false
        var overlaps = 0
        var borrowed = 0

        func job(isBorrowed: Bool) {
            if isInside { overlaps += 1 }
            isInside = true
            jobs += 1
            if isBorrowed { borrowed += 1 }
            isInside = false
        }
    }

    @Test("one thread at a time has the loop, and no work is lost") func manyThreads() throws {
        let loop = EventLoop()
        #expect(loop.serve())
        let count = Count()
        // Each waits for its job, as the callers of `async` methods do: in between, the loop may sleep.
        DispatchQueue.concurrentPerform(iterations: 3) { number in
            let caller = pthread_self()
            let isDone = DispatchSemaphore(value: 0)
            for round in 0..<2_000 {
                let job: @Sendable () -> Void = {
                    count.job(isBorrowed: pthread_self() == caller)
                    isDone.signal()
                }
                if (round + number).isMultiple(of: 3) { loop.post(job) } else { loop.perform(job) }
                isDone.wait()
            }
        }
        let result = Watched<[Int]?>(nil)
        loop.post { result.withValue { $0 = [count.jobs, count.overlaps, count.borrowed] } }
        let counts = try result.wait(for: "the last job", until: { $0 })
        #expect(Array(counts.prefix(2)) == [6_000, 0])
        #expect(counts[2] > 0)
    }
}
