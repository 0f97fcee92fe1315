import Foundation
import LoadingStorage
import StorageSteps
import TestSupport

/// Runs the program that uses the persistent credentials, by a test's commands.
final class KeyringUserProcess {
    private let process: ChildProcess
    private let wire: ServerConnection

    /// - Parameters:
    ///   - timeout: How long to wait for the keyring, in milliseconds.
    ///   - environment: Changes this process's own; see `KeyringSession`.
    init(
        in folder: String, application: String = "app", timeout: Int = 10_000, environment: [String: String]
    ) throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("keyring-user").path
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw POSIXFailure("socketpair")
        }
        defer { close(ends[1]) }
        wire = try ServerConnection(adopting: ends[0])
        process = try ChildProcess(
            path, [folder, application, "\(timeout)"], environment: environment, inheriting: [3: ends[1]])
    }

    deinit { process.end() }

    @discardableResult
    func ask(_ order: String, _ credential: PersistentCredential? = nil) throws -> [String] {
        try wire.send(order + (credential.map { " " + $0.line } ?? "") + "\n")
        var answers: [String] = []
        while true {
            let line = String(decoding: try wire.receive(through: "\n").dropLast(), as: UTF8.self)
            if line.isEmpty { return answers }
            answers.append(line)
        }
    }

    func load() throws -> Set<PersistentCredential> {
        Set(try ask("load").compactMap { PersistentCredential(line: $0) })
    }

    /// Whether the change is stored; otherwise it is pending in memory.
    func store(_ credential: PersistentCredential) throws -> Bool { try ask("store", credential) == ["true"] }
    func remove(_ credential: PersistentCredential) throws -> Bool { try ask("remove", credential) == ["true"] }
    func clear() throws -> Bool { try ask("clear") == ["true"] }
    func hasExternalChanges() throws -> Bool { try ask("changes") == ["true"] }

    /// The store's messages since the last call.
    func messages() throws -> [String] { try ask("messages") }

    /// Kills the process.
    func kill() throws {
        process.send(SIGKILL)
        try process.waitForExit()
    }

    var exit: ChildProcess.Exit? { process.exit }
}
