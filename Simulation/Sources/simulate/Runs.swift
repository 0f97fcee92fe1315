import CSimulation
import Foundation

/// Runs worlds, one at a time on each processor.
final class Runs: @unchecked Sendable {
    /// Which worlds are run again, to see that both runs are equal. That they are is a quality of the simulation more
    /// than of the library, so a campaign may ask it of some, and has more worlds in the same time.
    enum Repetition: String {
        case once = "--once"
        case sampled = "--sampled"
        case twice = ""

        /// Nil if it is something else.
        init?(_ arguments: ArraySlice<String>) {
            guard arguments.count < 2 else { return nil }
            self.init(rawValue: arguments.first ?? "")
        }

        func has(_ seed: UInt64) -> Bool {
            switch self {
            case .once: false
            // A seed's last two bits say how often threads change.
            case .sampled: seed / 4 % 8 == 0
            case .twice: true
            }
        }
    }

    // Sendable because of the lock.
    private let lock = NSLock()
    private let seeds: ClosedRange<UInt64>
    private var next: UInt64?
    private var running: Set<UInt64> = []
    private let repetition: Repetition
    private let kind: SimulatedProcess.Kind?
    private var tally: Tally
    private var failed: [UInt64] = []
    private var processes: [WorldProcess] = []
    private var sources: [any DispatchSourceProtocol] = []
    private let queue = DispatchQueue(label: "progress")

    /// - Parameters:
    ///   - seconds: Nil for all of them, however long it takes.
    ///   - kind: Nil if the seeds decide.
    init(_ seeds: ClosedRange<UInt64>, for seconds: Double?, _ repetition: Repetition, kind: SimulatedProcess.Kind?) {
        (self.seeds, self.repetition, self.kind, next) = (seeds, repetition, kind, seeds.lowerBound)
        tally = Tally(worlds: seconds == nil ? seeds.upperBound - seeds.lowerBound + 1 : nil, seconds: seconds)
    }

    func run() -> Int32 {
        showProgress()
        for number in [SIGHUP, SIGINT, SIGTERM] { stop(at: number) }
        var processors = [Int32](repeating: 0, count: 1024)
        processors.removeLast(processors.count - Int(simulation_processors(&processors, 1024)))
        let group = DispatchGroup()
        for processor in processors {
            group.enter()
            // The queues of Dispatch have as many threads as a world has processors.
            Thread.detachNewThread { [self] in
                runWorlds(on: processor)
                group.leave()
            }
        }
        group.wait()
        return lock.withLock { finish() }
    }

    private func runWorlds(on processor: Int32) {
        let process = WorldProcess(processor: processor)
        lock.withLock { processes.append(process) }
        while let seed = lock.withLock({ takeSeed() }) {
            var world = SimulatedProcess.Options(seed: seed)
            world.kind = kind
            let first = process.run(world)
            var second = first, difference = ""
            // One that fails may have taken its ten minutes.
            if repetition.has(seed), first.status == 0 {
                let recording = process.recording()
                second = process.run(world)
                if first.output != second.output, let recording, let other = process.recording() {
                    difference = recording.difference(from: other)
                }
            }
            lock.withLock { note(seed, first, second, difference) }
        }
        // With the last reference its folder is removed.
        lock.withLock { processes.removeAll { $0 === process } }
    }

    // MARK: with the lock

    private func takeSeed() -> UInt64? {
        guard let seed = next, !tally.isOver else { return nil }
        next = seed < seeds.upperBound ? seed + 1 : nil
        running.insert(seed)
        return seed
    }

    private func note(
        _ seed: UInt64, _ first: WorldProcess.Result, _ second: WorldProcess.Result, _ difference: String
    ) {
        running.remove(seed)
        let milliseconds = first.output.split(separator: " ").last.flatMap { Double($0.dropLast()) } ?? 0
        tally.add(simulated: milliseconds / 1000)
        let complaint: String
        if first.status != 0 || second.status != 0 {
            complaint = "status \(first.status), \(second.status)\n\(first.errors.suffix(4000))"
        } else if first.output != second.output {
            complaint = "two runs differ: \(first.output) \(second.output)\n\(difference)"
        } else {
            return
        }
        tally.failures += 1
        failed.append(seed)
        Tally.clear()
        print("seed \(seed): \(complaint)")
        fflush(nil)
    }

    private func finish() -> Int32 {
        Tally.clear()
        print(tally.summary)
        if let seed = failed.min() {
            print("To see one: simulate --seed \(seed)\(kind.map { " \($0.rawValue)" } ?? "") --trace")
        }
        return failed.isEmpty ? 0 : 1
    }

    // MARK: what happens meanwhile

    private func showProgress() {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + Tally.interval, repeating: Tally.interval)
        timer.setEventHandler { [self] in lock.withLock { tally.show() } }
        timer.resume()
        sources.append(timer)
    }

    /// With what has been found so far.
    private func stop(at number: Int32) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { [self] in
            lock.lock()
            _ = finish()
            if let rest = running.min() ?? next, tally.worlds != nil {
                let option = kind == .week ? "--weeks" : "--seeds"
                let others = [kind == .proven ? "--proven" : "", repetition.rawValue].filter { !$0.isEmpty }
                let command = (["simulate \(option) \(rest)...\(seeds.upperBound)"] + others).joined(separator: " ")
                print("To go on: \(command)")
            }
            fflush(nil)
            for process in processes { process.remove() }
            // The processes of the worlds end with this one.
            _exit(128 + number)
        }
        source.resume()
        sources.append(source)
    }
}
