import Foundation
import Glibc

struct Verdict: Sendable {
    enum Outcome: String, Sendable {
        case passed, failed, crashed, hung
    }
    var outcome: Outcome
    var reason: String
}

/// The process of one case: this program with the case's name, in a home of its own.
struct CaseProcess: Sendable {
    var name: String

    /// After it, the case counts as hung. The longest case takes about five seconds.
    static let limit = Duration.seconds(15)

    private struct CannotStart: Error {
        var code: Int32
    }

    func verdict() async -> Verdict {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: home) }
        do {
            try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
            return try await verdict(home: home)
        } catch {
            return Verdict(outcome: .failed, reason: "the case could not be started: \(error)")
        }
    }

    private func verdict(home: URL) async throws -> Verdict {
        let output = home.appendingPathComponent("output")
        let errors = home.appendingPathComponent("errors")
        let process = try start(home: home, output: output, errors: errors)
        // With what it has started.
        defer { kill(-process, SIGKILL) }
        let deadline = ContinuousClock.now + Self.limit
        var status: Int32 = 0
        while waitpid(process, &status, WNOHANG) == 0 {
            if ContinuousClock.now > deadline {
                kill(process, SIGKILL)
                waitpid(process, &status, 0)
                return Verdict(outcome: .hung, reason: "no end in \(Self.limit)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        let signal = status & 0x7f
        guard signal == 0 else { return Verdict(outcome: .crashed, reason: crash(signal, text(errors))) }
        return Verdict(outcome: status == 0 ? .passed : .failed, reason: text(output))
    }

    /// By `posix_spawn`: Foundation's `Process` does not notice each end.
    private func start(home: URL, output: URL, errors: URL) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (descriptor, file) in [(STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, file.path, O_WRONLY | O_CREAT, 0o600)
        }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        // No proxy of the user, and no stores of another case.
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let environment = ["HOME=\(home.path)", "TMPDIR=\(home.path)", "PATH=\(path)"]
        let arguments = pointers(["conformance", name])
        let variables = pointers(environment)
        defer { for text in arguments + variables { free(text) } }
        var process = pid_t()
        let code = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, arguments, variables)
        guard code == 0 else { throw CannotStart(code: code) }
        return process
    }

    /// With a null pointer at the end.
    private func pointers(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var pointers = texts.map { text in strdup(text) }
        pointers.append(nil)
        return pointers
    }

    private func text(_ file: URL) -> String {
        String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The message of the trap, or the signal.
    private func crash(_ signal: Int32, _ errors: String) -> String {
        let lines = errors.split(separator: "\n")
        return lines.first { $0.contains("Fatal error") }.map(String.init) ?? "signal \(signal)"
    }
}
