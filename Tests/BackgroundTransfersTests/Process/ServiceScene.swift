import BackgroundTransfers
import Foundation
import Glibc
import LoadingStorage
import TestSupport

/// A place for a service, and programs that use it. Ends the service.
final class ServiceScene: Sendable {
    let directory: TemporaryDirectory
    private let idle: Double
    private let services = Watched<Set<pid_t>>([])

    /// - Parameter idle: How long the service waits for another program before it ends, in seconds.
    init(idle: Double = 600) throws {
        directory = try TemporaryDirectory()
        self.idle = idle
    }

    deinit { for service in services.current { kill(service, SIGKILL) } }

    static let program: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("service-user").path
    }()

    var state: String { directory.path + "/state" }
    var runtime: String { directory.path + "/runtime" }
    var place: ServicePlace {
        ServicePlace(state: StorageDirectory(path: state), runtime: StorageDirectory(path: runtime))
    }

    func environment(runtime: String? = nil) -> [String: String] {
        [
            "URLSESSIOND_STATE": state, "URLSESSIOND_RUNTIME": runtime ?? self.runtime,
            "URLSESSION_SERVICE_IDLE": "\(idle)",
        ]
    }

    /// Runs a program to its end. Returns its output, one line each.
    func run(_ words: [String], program: String = ServiceScene.program, runtime: String? = nil) throws -> [String] {
        let (_, output) = try ChildProcess.run(program, words, environment: environment(runtime: runtime))
        let lines = output.split(separator: "\n").map(String.init)
        note(lines)
        return lines
    }

    /// Runs several of the same program at once. Returns the output of all.
    func run(_ count: Int, _ words: [String]) throws -> [String] {
        let programs = try (0..<count).map { number in
            let output = directory.file("output-\(number)")
            // Another run may have left one, and output is appended.
            unlink(output.path)
            return (try ChildProcess(Self.program, words, environment: environment(), output: output), output)
        }
        let lines = try programs.flatMap { program, output in
            try program.waitForExit()
            program.end()
            return try String(contentsOf: output, encoding: .utf8).split(separator: "\n").map(String.init)
        }
        note(lines)
        return lines
    }

    /// Connects to the service. Returns its process id.
    func once(runtime: String? = nil) throws -> pid_t {
        let lines = try run(["once"], runtime: runtime)
        guard let service = Self.service(in: lines) else { throw Failure(lines: lines) }
        return service
    }

    struct Failure: Error { let lines: [String] }

    static func service(in lines: [String]) -> pid_t? {
        lines.first.flatMap { $0.hasPrefix("service ") ? pid_t($0.dropFirst(8)) : nil }
    }

    private func note(_ lines: [String]) {
        for line in lines {
            if let service = Self.service(in: [line]) { services.withValue { _ = $0.insert(service) } }
        }
    }

    /// A program that stays connected. Returns it with the process id of the service.
    func hold() throws -> (ChildProcess, pid_t) {
        let output = directory.file("hold-\(UUID().uuidString)")
        let process = try ChildProcess(
            Self.program, ["hold"], environment: environment(), leadsGroup: true, output: output)
        let end = ContinuousClock.now + .testDeadline
        while ContinuousClock.now < end, process.exit == nil {
            let lines = ((try? String(contentsOf: output, encoding: .utf8)) ?? "").split(separator: "\n").map(
                String.init)
            if let service = Self.service(in: lines) {
                note(lines)
                return (process, service)
            }
            usleep(2000)
        }
        throw Failure(lines: [])
    }

    /// Whether the process runs. An ended one may remain as a zombie. While another of its threads still ends, its
    /// descriptors are open.
    static func isRunning(_ process: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = status.lastIndex(of: ")")
        else { return false }
        // From the state on, which is the third field; the number of threads is the 20th.
        let fields = status[end...].split(separator: " ").dropFirst().map(String.init)
        return !["Z", "X"].contains(fields[0]) || (Int(fields[17]) ?? 0) > 1
    }

    static func waitForEnd(of process: pid_t) async throws { try await eventually { !isRunning(process) } }

    func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
