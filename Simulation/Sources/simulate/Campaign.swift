import Foundation

/// Runs worlds, each in a process of its own, twice.
enum Campaign {
    static let usage = """
        usage: simulate --seeds FIRST...LAST [--once]
                                                run these worlds, each twice, or once
               simulate --seconds N             run new worlds for so long
               simulate --seed N [--order K] [--only PARTS] [--trace]
                                                run one, and show what happens in it
               simulate --shrink N              fewer hosts, tasks and faults with which world N still fails

        """

    static func run(_ arguments: [String]) -> Int32 {
        var arguments = arguments[...]
        let option = arguments.popFirst()
        let value = arguments.popFirst()
        switch (option, value) {
        case ("--seed", let value?):
            guard let world = SimulatedProcess.Options([value] + arguments) else { break }
            return WorldProcess.run(world, isCaptured: false).status
        case ("--shrink", let value?):
            guard let seed = UInt64(value) else { break }
            return Shrinking(of: seed).run()
        case ("--seeds", let value?):
            let bounds = value.components(separatedBy: "...").compactMap { UInt64($0) }
            guard bounds.count == 2, bounds[0] <= bounds[1] else { break }
            guard arguments.isEmpty || Array(arguments) == ["--once"] else { break }
            return Runs(from: bounds[0], through: bounds[1], for: .infinity, twice: arguments.isEmpty).run()
        case ("--seconds", let value?):
            guard let seconds = Double(value) else { break }
            let first = UInt64(Date().timeIntervalSince1970) * 1000
            print("from seed \(first)")
            return Runs(from: first, through: .max, for: seconds, twice: true).run()
        default: break
        }
        FileHandle.standardError.write(Data(usage.utf8))
        return 2
    }

    /// Several at once.
    private final class Runs: @unchecked Sendable {
        private let lock = NSLock()
        private var next: UInt64
        private let last: UInt64
        private let start = Date()
        private let duration: Double
        private let twice: Bool
        private var failed: [UInt64] = []
        private var count = 0
        private var simulated = 0.0

        init(from first: UInt64, through last: UInt64, for duration: Double, twice: Bool) {
            (next, self.last, self.duration, self.twice) = (first, last, duration, twice)
        }

        func run() -> Int32 {
            DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
                while let seed = lock.withLock({ takeSeed() }) { run(seed) }
            }
            let time = Int(Date().timeIntervalSince(start))
            print("\(count) worlds, \(failed.count) failed, \(Int(simulated)) simulated seconds in \(time) s")
            if !failed.isEmpty {
                print("To see one: simulate --seed \(failed[0]) --trace")
            }
            return failed.isEmpty ? 0 : 1
        }

        private func takeSeed() -> UInt64? {
            guard next <= last, Date().timeIntervalSince(start) < duration else { return nil }
            defer { next += 1 }
            return next
        }

        private func run(_ seed: UInt64) {
            let first = WorldProcess.run(SimulatedProcess.Options(seed: seed))
            let second = twice ? WorldProcess.run(SimulatedProcess.Options(seed: seed)) : first
            lock.withLock {
                count += 1
                simulated += (first.output.split(separator: " ").last.flatMap { Double($0.dropLast()) } ?? 0) / 1000
                if first.status != 0 || second.status != 0 {
                    failed.append(seed)
                    print("seed \(seed): status \(first.status), \(second.status)\n\(first.errors.suffix(4000))")
                } else if first.output != second.output {
                    failed.append(seed)
                    print("seed \(seed): two runs differ: \(first.output) \(second.output)")
                }
            }
        }
    }
}
