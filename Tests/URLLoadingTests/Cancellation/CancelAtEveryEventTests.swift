import Foundation
import TestSupport
import Testing
import URLLoading

/// Stops tasks of every scenario at every checkpoint, with every method, in random order.
///
/// `URLLOADING_STOPS` sets the number of stops, `URLLOADING_SEED` the random seed. A failure names its seed.
@Suite(.leavesNothing) struct CancelAtEveryEventTests {
    private static func number<Number: FixedWidthInteger>(_ name: String) -> Number? {
        ProcessInfo.processInfo.environment[name].flatMap { Number($0) }
    }

    /// A number of plans. No checkpoint is repeated before each one of each scenario was used.
    private func plans(
        _ count: Int, _ baselines: [ScenarioRun.Baseline], _ random: inout SplitMix
    ) -> [(scenario: Int, plan: StopPlan)] {
        let all = baselines.indices.flatMap { scenario in baselines[scenario].checkpoints.map { (scenario, $0) } }
        var plans: [(scenario: Int, plan: StopPlan)] = []
        while plans.count < count {
            for (scenario, checkpoint) in all.shuffled(using: &random).prefix(count - plans.count) {
                let stop = StopMethod.callerMethods.randomElement(using: &random) ?? .cancel
                plans.append(
                    (scenario, StopPlan(checkpoint: checkpoint, stop: stop, isWithin: .random(using: &random))))
            }
        }
        return plans
    }

    /// Runs each scenario without a stop.
    private func baselines(_ servers: ScenarioServers) async throws -> [ScenarioRun.Baseline] {
        var baselines: [ScenarioRun.Baseline] = []
        for (number, scenario) in LoadScenario.all.enumerated() {
            let run = ScenarioRun(scenario, number, on: servers)
            try await run.run()
            let baseline = ScenarioRun.Baseline(run)
            #expect(run.faults(comparedTo: baseline) == [], "\(scenario)")
            baselines.append(baseline)
            _ = run.end()
        }
        return baselines
    }

    // T-5, T-6, T-7, T-8, T-56, S-42, S-83, S-84
    @Test("stopped at any moment, each task ends once", .timeLimit(.minutes(30)))
    func stoppedAtAnyMomentEachTaskEndsOnce() async throws {
        let seed = Self.number("URLLOADING_SEED") ?? UInt64.random(in: 0...UInt64.max)
        let count = Self.number("URLLOADING_STOPS") ?? 1000
        var random = SplitMix(state: seed)
        let before = try Self.temporaryFiles()
        let servers = try ScenarioServers()
        defer { servers.close() }
        let baselines = try await baselines(servers)

        var recorded: [(name: String, recorders: (EventRecorder<Call>, EventRecorder<Call>), count: Int)] = []
        var left: [(name: String, run: ScenarioRun.Weak)] = []
        var stopCount = 0
        for (index, (scenario, plan)) in plans(count, baselines, &random).enumerated() {
            let name = "seed \(seed), stop \(index): \(LoadScenario.all[scenario]), \(plan)"
            let run = ScenarioRun(LoadScenario.all[scenario], baselines.count + index, on: servers, plan)
            do {
                try await run.run()
            } catch {
                Issue.record("\(name): \(error) \(run.delegate.calls.events)")
            }
            let faults = run.faults(comparedTo: baselines[scenario])
            #expect(faults == [], "\(name)")
            if run.isStopped { stopCount += 1 }
            for file in run.leftFiles { unlink(NSTemporaryDirectory() + "/" + file) }
            recorded.append((name, (run.delegate.calls, run.outcomes), run.delegate.calls.count + run.outcomes.count))
            left.append((name, run.end()))
        }

        // How a body is cut is not the same each time, so a few moments never come.
        #expect(stopCount > count * 9 / 10, "seed \(seed)")
        await servers.session.flush()
        for (name, recorders, count) in recorded {
            #expect(recorders.0.count + recorders.1.count == count, "a callback after the end: \(name)")
        }
        try await Self.wait { left.allSatisfy(\.run.isGone) }
        #expect(left.filter { !$0.run.isGone }.map(\.name) == [])
        #expect(try Self.temporaryFiles().subtracting(before) == [], "seed \(seed)")
    }

    // T-38, T-48, ERR-6, S-45: after what had come before; what is safe to send again may succeed all the same
    @Test("where a connection breaks, each task ends once") func whereAConnectionBreaksEachTaskEndsOnce() async throws {
        let before = try Self.temporaryFiles()
        let servers = try ScenarioServers()
        defer { servers.close() }
        let baselines = try await baselines(servers)
        var number = baselines.count
        for (scenario, baseline) in zip(LoadScenario.all, baselines) {
            for checkpoint in baseline.checkpoints where checkpoint.isServerSide {
                let plan = StopPlan(checkpoint: checkpoint, stop: .breakConnection, isWithin: true)
                let run = ScenarioRun(scenario, number, on: servers, plan)
                number += 1
                try await run.run()
                #expect(run.isStopped, "\(scenario), \(plan)")
                #expect(run.faults(comparedTo: baseline) == [], "\(scenario), \(plan)")
                // What goes over a kept connection may be sent again, and the rest of a response that leads to another
                // request is discarded.
                let isLastAnswer = !baseline.checkpoints.contains(Checkpoint(name: "head sent", number: 1))
                if checkpoint.number == 0, isLastAnswer || !checkpoint.isResponseSide {
                    #expect(run.task?.error?.urlErrorCode == .networkConnectionLost, "\(scenario), \(plan)")
                }
                for file in run.leftFiles { unlink(NSTemporaryDirectory() + "/" + file) }
                _ = run.end()
            }
        }
        #expect(try Self.temporaryFiles().subtracting(before) == [])
    }

    /// Polls, because there is no event for the release of an object.
    private static func wait(_ isThere: () -> Bool) async throws {
        let end = ContinuousClock.now + .testDeadline
        while !isThere(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
    }

    private static func temporaryFiles() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory()))
            .filter { $0.hasPrefix("CFNetworkDownload_") }
    }
}
