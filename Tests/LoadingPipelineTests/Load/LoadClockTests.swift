import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// The limits of a load's time, in seconds from its start.
@Suite struct LoadClockTests {
    private static let second: Int64 = 1_000_000_000

    private func clock(active last: Int64 = 0) -> LoadClock {
        var clock = LoadClock()
        clock.begin(at: 0)
        clock.noteActivity(at: last * Self.second)
        return clock
    }

    // C-6, C-8, CONN-16
    @Test(
        "a load ends by silence or by its whole time",
        arguments: [
            (now: 4.9, idle: 5.0, total: 10.0, isOver: false), (5, 5, 10, true), (9, nil, 10, false),
            (10, nil, 10, true),
            (100, nil, .infinity, false), (100, nil, .nan, false), (0, 0, 10, true), (0, nil, -1, true),
        ] as [(now: Double, idle: Double?, total: Double, isOver: Bool)])
    func isOver(now: Double, idle: Double?, total: Double, isOver: Bool) {
        #expect(clock().isOver(at: Int64(now * 1e9), idle: idle, total: total) == isOver)
    }

    // CONN-15
    @Test("activity restarts the idle timeout, and not the total one") func activity() {
        let clock = clock(active: 4)
        #expect(!clock.isOver(at: 8 * Self.second, idle: 5, total: 10))
        #expect(clock.isOver(at: 9 * Self.second, idle: 5, total: 10))
        #expect(clock.isOver(at: 10 * Self.second, idle: 50, total: 10))
    }

    // CONN-15
    @Test("an arrival that is noticed later restarts the idle timeout from its own time") func arrival() {
        var clock = clock(active: 4)
        clock.noteArrival(at: 3 * Self.second)
        #expect(clock.isOver(at: 9 * Self.second, idle: 5, total: 100))
        clock.noteArrival(at: 6 * Self.second)
        #expect(!clock.isOver(at: 10 * Self.second, idle: 5, total: 100))
        #expect(clock.isOver(at: 11 * Self.second, idle: 5, total: 100))
    }

    // C-6, CONN-4
    @Test("what a server has not processed does not restart the idle timeout") func unprocessed() {
        var clock = clock()
        clock.noteActivity(at: 3 * Self.second)
        clock.noteUnprocessed(at: 4 * Self.second)
        clock.noteActivity(at: 5 * Self.second)
        clock.noteUnprocessed(at: 7 * Self.second)
        clock.noteActivity(at: 20 * Self.second)
        #expect(!clock.isOver(at: 21 * Self.second, idle: 5, total: 100))
        #expect(clock.isOver(at: 22 * Self.second, idle: 5, total: 100))
        #expect(
            clock.nextCheck(at: 20 * Self.second, idle: 5, total: 100, idleTimeRuns: true, shortest: 0.01)
                == 22 * Self.second)
        clock.noteResponse(at: 21 * Self.second)
        #expect(!clock.isOver(at: 25 * Self.second, idle: 5, total: 100))
        #expect(clock.isOver(at: 26 * Self.second, idle: 5, total: 100))
    }

    // CONN-16
    @Test("both timeouts pause while the load is suspended") func suspended() {
        var clock = clock(active: 2)
        clock.suspend(at: 3 * Self.second)
        clock.resume(at: 103 * Self.second)
        #expect(!clock.isOver(at: 107 * Self.second, idle: 5, total: 10))
        #expect(clock.isOver(at: 108 * Self.second, idle: 5, total: 10))
        #expect(!clock.isOver(at: 109 * Self.second, idle: nil, total: 10))
        #expect(clock.isOver(at: 110 * Self.second, idle: nil, total: 10))
    }

    @Test(
        "when to check next",
        arguments: [
            // Silence counts: at its end, or at the end of all.
            (idle: 5.0, total: 60.0, counts: true, checks: 1.0, next: 6.0), (60, 30, true, 1, 30),
            // It does not: now and then, for it may by then.
            (5, 60, false, 1, 7), (0, 60, false, 1, 2.01), (nil, 60, true, 1, 60),
            // A body goes out, without reports of its progress.
            (8, 60, true, 8, 3), (0, 60, true, 8, 1), (8, 60, false, 8, 3),
        ] as [(idle: Double?, total: Double, counts: Bool, checks: Double, next: Double)])
    func nextCheck(idle: Double?, total: Double, counts: Bool, checks: Double, next: Double) {
        let check = clock(active: 1).nextCheck(
            at: 2 * Self.second, idle: idle, total: total, idleTimeRuns: counts, checks: checks, shortest: 0.01)
        #expect(check == Int64((next * 1e9).rounded()))
    }
}
