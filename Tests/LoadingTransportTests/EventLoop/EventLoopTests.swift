import LoadingTransport
import TestSupport
import Testing

/// The order in which a loop does what it has to do.
@Suite struct EventLoopTests {
    /// Called for by each job, as a connection is by each request. Confined to its loop but for what it has recorded.
    private final class Handler: ReadinessHandler, @unchecked Sendable {
        // Sendable because what is mutable is touched on the loop only.

        let turns = EventRecorder<Int>()
        private let loop = EventLoops.assign()
        private var jobsDone = 0
        private var isCalledFor = false

        func post(jobs count: Int) {
            // All are there when the first begins.
            loop.post { [self] in
                for _ in 0..<count { loop.post { self.job() } }
            }
        }

        private func job() {
            jobsDone += 1
            if isCalledFor { return }
            isCalledFor = true
            loop.callAgain(self)
        }

        func becameReady(_ readiness: Readiness) {
            isCalledFor = false
            turns.record(jobsDone)
        }
    }

    // What many ask for goes out before all have asked.
    @Test(
        "handlers are called again after every 32 jobs",
        arguments: [(1, [1]), (32, [32]), (100, [32, 64, 96, 100])])
    func jobs(count: Int, turns: [Int]) async throws {
        let handler = Handler()
        handler.post(jobs: count)
        #expect(try await handler.turns.waitFor(count: turns.count) == turns)
    }
}
