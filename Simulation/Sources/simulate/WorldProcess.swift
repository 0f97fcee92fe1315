import Foundation

/// A process for one world.
enum WorldProcess {
    struct Result {
        var status: Int32
        var output = ""
        var errors = ""
    }

    /// If nothing is captured, everything goes to the terminal.
    static func run(_ world: SimulatedProcess.Options, isCaptured: Bool = true) -> Result {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("simulate-\(UUID().uuidString)")
        // The world's disk.
        let disk = home.appendingPathComponent("disk")
        try? FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        let process = Process()
        // Addresses and hashes that are the same in each run.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setarch")
        process.arguments = ["-R", CommandLine.arguments[0], "--world"] + world.arguments
        process.environment = [
            "HOME": disk.path, "TMPDIR": disk.path, "SWIFT_DETERMINISTIC_HASHING": "1", "PATH": "/usr/bin:/bin",
            "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
        ]
        // Files, because a world that waits until somebody reads would not end.
        let output = home.appendingPathComponent("output")
        let errors = home.appendingPathComponent("errors")
        if isCaptured {
            for (file, channel) in [(output, \Process.standardOutput), (errors, \Process.standardError)] {
                _ = FileManager.default.createFile(atPath: file.path, contents: nil)
                process[keyPath: channel] = FileHandle(forWritingAtPath: file.path)
            }
        }
        do { try process.run() } catch { return Result(status: 1, errors: "\(error)") }
        let watch = Watch(process)
        process.waitUntilExit()
        let isStuck = watch.end()
        guard isCaptured else { return Result(status: process.terminationStatus) }
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
    static let seconds = 600.0
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
