import Foundation

/// Runs worlds, each in a process of its own, twice.
enum Campaign {
    static let usage = """
        usage: simulate --seeds FIRST...LAST    run these worlds, each twice
               simulate --seconds N             run new worlds for so long
               simulate --seed N [--trace]      run one, and show what happens in it

        """

    static func run(_ arguments: [String]) -> Int32 {
        var arguments = arguments[...]
        let option = arguments.popFirst()
        let value = arguments.popFirst()
        switch (option, value) {
        case ("--seed", let value?):
            guard let seed = UInt64(value) else { break }
            return WorldProcess.run(seed, traces: arguments.popFirst() == "--trace").status
        case ("--seeds", let value?):
            let bounds = value.components(separatedBy: "...").compactMap { UInt64($0) }
            guard bounds.count == 2, bounds[0] <= bounds[1] else { break }
            return Runs(from: bounds[0], through: bounds[1], for: .infinity).run()
        case ("--seconds", let value?):
            guard let seconds = Double(value) else { break }
            let first = UInt64(Date().timeIntervalSince1970) * 1000
            print("from seed \(first)")
            return Runs(from: first, through: .max, for: seconds).run()
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
        private var failed: [UInt64] = []
        private var count = 0
        private var simulated = 0.0

        init(from first: UInt64, through last: UInt64, for duration: Double) {
            (next, self.last, self.duration) = (first, last, duration)
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
            let first = WorldProcess.run(seed)
            let second = WorldProcess.run(seed)
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

    private enum WorldProcess {
        struct Result {
            var status: Int32
            var output = ""
            var errors = ""
        }

        /// With a trace, everything goes to the terminal, and nothing is captured.
        static func run(_ seed: UInt64, traces: Bool? = nil) -> Result {
            let home = FileManager.default.temporaryDirectory.appendingPathComponent("simulate-\(UUID().uuidString)")
            try? FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: home) }
            let process = Process()
            // Addresses and hashes that are the same in each run.
            process.executableURL = URL(fileURLWithPath: "/usr/bin/setarch")
            process.arguments =
                ["-R", CommandLine.arguments[0], "--world", "\(seed)"] + (traces == true ? ["--trace"] : [])
            process.environment = [
                "HOME": home.path, "TMPDIR": home.path, "SWIFT_DETERMINISTIC_HASHING": "1", "PATH": "/usr/bin:/bin",
                "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
            ]
            // Files, because a world that waits until somebody reads would not end.
            let output = home.appendingPathComponent("output")
            let errors = home.appendingPathComponent("errors")
            if traces == nil {
                for (file, channel) in [(output, \Process.standardOutput), (errors, \Process.standardError)] {
                    _ = FileManager.default.createFile(atPath: file.path, contents: nil)
                    process[keyPath: channel] = FileHandle(forWritingAtPath: file.path)
                }
            }
            do { try process.run() } catch { return Result(status: 1, errors: "\(error)") }
            let watch = Watch(process)
            process.waitUntilExit()
            let isStuck = watch.end()
            guard traces == nil else { return Result(status: process.terminationStatus) }
            let shown = (try? Data(contentsOf: output)) ?? Data()
            var complaints = (try? Data(contentsOf: errors)) ?? Data()
            if isStuck { complaints += Data("the process did not end\n".utf8) }
            return Result(
                status: process.terminationStatus, output: String(decoding: shown, as: UTF8.self),
                errors: String(decoding: complaints, as: UTF8.self))
        }
    }

    /// Ends a process that waits in the real kernel, where no simulated clock goes on.
    private final class Watch: @unchecked Sendable {
        static let seconds = 120.0
        private let lock = NSLock()
        private var hasFired = false
        private let timer = DispatchSource.makeTimerSource(queue: .global())

        init(_ process: Process) {
            timer.schedule(deadline: .now() + Self.seconds)
            timer.setEventHandler { [self] in
                lock.withLock { hasFired = true }
                kill(process.processIdentifier, SIGKILL)
            }
            timer.resume()
        }

        func end() -> Bool {
            timer.cancel()
            return lock.withLock { hasFired }
        }
    }
}
