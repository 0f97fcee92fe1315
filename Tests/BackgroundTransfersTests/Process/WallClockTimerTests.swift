import BackgroundTransfers
import Foundation
import LoadingTestSupport
import TestSupport
import Testing

/// Real dates: the kernel's clock cannot be stepped.
@Suite(.leakChecked) struct WallClockTimerTests {
    /// Used on the loop only.
    private final class Owner: @unchecked Sendable {
        var timer: WallClockTimer?
        let fired = EventRecorder<Double>()
    }

    private func withTimer(_ body: (Owner, SteppedLoop) async throws -> Void) async throws {
        let stepped = try SteppedLoop()
        let (loop, owner) = (stepped.loop, Owner())
        let isMade = try await stepped.run {
            owner.timer = WallClockTimer(on: loop) { owner.fired.record(Date().timeIntervalSince1970) }
            return owner.timer != nil
        }
        try #require(isMade)
        try await body(owner, stepped)
        try await stepped.run { owner.timer = nil }
    }

    // BG-17
    @Test("it fires at its date, and not before") func fires() async throws {
        try await withTimer { owner, stepped in
            let date = Date().timeIntervalSince1970 + 0.05
            try await stepped.run { owner.timer?.arm(at: date) }
            let times = try await owner.fired.waitFor(count: 1)
            #expect(times[0] >= date)
        }
    }

    // BG-17
    @Test("a past date fires at once", arguments: [-1e300, -1, 0, 1, 1e9]) func past(_ date: Double) async throws {
        try await withTimer { owner, stepped in
            try await stepped.run { owner.timer?.arm(at: date) }
            try await owner.fired.waitFor(count: 1)
        }
    }

    // BG-17
    @Test("one that is disarmed or moved does not fire at the old date") func disarmed() async throws {
        try await withTimer { owner, stepped in
            try await stepped.run {
                owner.timer?.arm(at: Date().timeIntervalSince1970 + 0.02)
                owner.timer?.arm(at: nil)
            }
            let date = Date().timeIntervalSince1970 + 0.05
            try await stepped.run {
                owner.timer?.arm(at: 1e300)
                owner.timer?.arm(at: date)
            }
            let times = try await owner.fired.waitFor(count: 1)
            #expect(times[0] >= date)
        }
    }

    // BG-17
    @Test("the kernel has it on the wall clock, and fires it when that clock is set") func kernelState() async throws {
        try await withTimer { owner, stepped in
            try await stepped.run { owner.timer?.arm(at: 4e9) }
            let folder = "/proc/self/fdinfo"
            let infos = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
                try? String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
            }
            // TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET.
            #expect(infos.contains { $0.contains("clockid: 0\n") && $0.contains("settime flags: 03\n") })
        }
    }

    // BG-17
    @Test("a set clock counts as fired, and nothing to read does not") func results() {
        #expect(WallClockTimer.hasFired(1) && WallClockTimer.hasFired(-Int64(ECANCELED)))
        #expect(!WallClockTimer.hasFired(-Int64(EAGAIN)) && !WallClockTimer.hasFired(0))
    }
}
