import Foundation

/// Requests of every kind with random cancels, resets, timeouts, suspensions and invalidations. Each ends exactly once,
/// and nothing is leaked.
enum DisturbedTraffic {
    /// Fluctuation of the heap between two rests, in bytes: caches and tables that still grow.
    private static let heapTolerance = 256 * 1024

    static func run(_ options: Options) throws -> Bool {
        say("Traffic: \(options.count) requests, \(options.window) at a time, seed \(options.seed)")
        let server = try ServerProcess()
        defer { server.stop() }
        let ledger = Ledger()
        Watchdog.start(over: ledger, timeout: ProcessState.isSanitized ? 90 : 30)
        let traffic = Traffic(seed: options.seed, window: options.window, ports: server.ports, ledger: ledger)
        let warmUp = max(500, options.count / 10)
        let half = warmUp + options.count / 2
        let begin = DispatchTime.now()

        traffic.start(0..<warmUp)
        traffic.finish()
        let first = rest(ledger, after: nil)
        report("after \(warmUp) to warm up", first)
        traffic.start(warmUp..<half)
        traffic.finish()
        let middle = rest(ledger, after: first)
        report("after \(half - warmUp)", middle)
        traffic.start(half..<warmUp + options.count)
        traffic.finish()
        let last = rest(ledger, after: first)
        report("after \(options.count)", last)

        let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
        say(String(format: "%d sessions, %.0f s, ends:", traffic.madeSessions, seconds))
        for (outcome, count) in ledger.endCounts {
            say("  " + outcome.padding(toLength: 24, withPad: " ", startingAt: 0) + "\(count)")
        }
        compare(last, with: first, ledger)
        if let before = middle.heapInUse, let after = last.heapInUse, after - before > heapTolerance {
            ledger.found("The heap in use grew by \(after - before) bytes in the second half.")
        }
        say(ledger.findingCount == 0 ? "Traffic: nothing was found." : "Traffic: \(ledger.findingCount) findings.")
        return ledger.findingCount == 0
    }

    /// The state of the process after all work has ended.
    private static func rest(_ ledger: Ledger, after first: ProcessState?) -> ProcessState {
        var steadyLooks = 0
        var threads = 0
        for _ in 0..<200 {
            usleep(100_000)
            let state = ProcessState.current
            steadyLooks = state.threads.count == threads ? steadyLooks + 1 : 0
            threads = state.threads.count
            guard ledger.survivors.isEmpty else { continue }
            if let first {
                if left(state, since: first).isEmpty { break }
            } else if steadyLooks > (ledger.startCount < 1000 ? 20 : 70) {
                // Idle worker threads of other libraries end after some seconds.
                break
            }
        }
        ledger.closeAccounts()
        Allocator.trim()
        return .current
    }

    private static func report(_ when: String, _ state: ProcessState) {
        let heap = state.heapInUse.map { "\($0 / 1024) KB of heap in use" } ?? "heap not reported"
        say(
            "  \(when): \(state.descriptors.count) descriptors, \(state.threads.count) threads, \(heap), "
                + "\(state.resident / 1024) KB resident")
    }

    private static func compare(_ last: ProcessState, with first: ProcessState, _ ledger: Ledger) {
        for finding in left(last, since: first) { ledger.found(finding) }
    }

    private static func left(_ now: ProcessState, since first: ProcessState) -> [String] {
        var findings: [String] = []
        if now.descriptors.count > first.descriptors.count {
            findings.append("Descriptors were left: \(now.descriptors)")
        }
        // A loop that is lent for long gets another thread, and a few idle ones are kept.
        let loops = now.threads.filter { $0 == "url-loop" }.count
        let others = now.threads.filter { $0 != "url-loop" }.count
        let knownOthers = first.threads.filter { $0 != "url-loop" }.count
        if loops > ProcessInfo.processInfo.activeProcessorCount + 2 || others > knownOthers {
            findings.append("Threads were left: \(now.threads)")
        }
        return findings
    }
}
