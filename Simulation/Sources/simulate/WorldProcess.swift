import Foundation

/// Runs worlds, one at a time, in processes that are forked from one (Processes.c).
final class WorldProcess {
    struct Result {
        var status: Int32
        var output = ""
        var errors = ""
    }

    private let home: URL
    private let process = Process()
    private let requests = Pipe(), statuses = Pipe()
    private let isCaptured: Bool
    /// The world's disk.
    private var disk: URL { home.appendingPathComponent("disk") }

    /// If nothing is captured, errors and the trace go to the terminal. On one processor, threads take turns sooner.
    init(processor: Int32? = nil, isCaptured: Bool = true) {
        self.isCaptured = isCaptured
        home = Self.memory.appendingPathComponent("simulate-\(UUID().uuidString)")
        try? FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        // Addresses and hashes that are the same in each run. Symbols are resolved once, and not in each world.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setarch")
        process.arguments = ["-R", CommandLine.arguments[0], "--worlds", "\(processor ?? -1)"]
        if isCaptured { process.arguments?.append("--captured") }
        process.environment = [
            "HOME": disk.path, "TMPDIR": disk.path, "SWIFT_DETERMINISTIC_HASHING": "1", "PATH": "/usr/bin:/bin",
            // One thread runs at a time, and memory that is asked for in large pieces costs fewer calls.
            "MALLOC_ARENA_MAX": "1", "MALLOC_TOP_PAD_": "4194304",
            "LD_BIND_NOW": "1", "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
        ]
        process.standardInput = requests
        process.standardOutput = statuses
    }

    deinit {
        requests.fileHandleForWriting.closeFile()
        if process.isRunning { process.waitUntilExit() }
        remove()
    }

    func remove() { try? FileManager.default.removeItem(at: home) }

    func run(_ world: SimulatedProcess.Options) -> Result {
        try? FileManager.default.removeItem(at: disk)
        for name in ["stored", "background"] {
            try? FileManager.default.removeItem(at: home.appendingPathComponent(name))
        }
        do {
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
            if process.processIdentifier == 0 { try process.run() }
        } catch { return Result(status: 1, errors: "\(error)") }
        requests.fileHandleForWriting.write(Data((world.arguments.joined(separator: "\t") + "\n").utf8))
        let line = String(decoding: statuses.fileHandleForReading.availableData, as: UTF8.self)
        guard let status = Int32(line.dropLast()) else { return Result(status: 1, errors: "no world can be run") }
        var errors = content(of: "errors")
        if status < 0 { errors += "the process did not end\n" }
        return Result(status: status, output: content(of: "output"), errors: errors)
    }

    /// What happened in the last world; nil if nothing is captured.
    func recording() -> Recording? { Recording(home.appendingPathComponent("events")) }

    /// Files, because a world that waits for a reader would not end.
    private func content(of name: String) -> String {
        let data = try? Data(contentsOf: home.appendingPathComponent(name))
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    /// A folder that is in memory, where there is one.
    private static var memory: URL {
        let folder = "/dev/shm"
        let isUsable = FileManager.default.isWritableFile(atPath: folder)
        return isUsable ? URL(fileURLWithPath: folder) : FileManager.default.temporaryDirectory
    }
}
