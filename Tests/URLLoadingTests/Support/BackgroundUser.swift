import BackgroundTransfers
import Foundation
import Glibc
import LoadingStorage
import TestSupport

/// The program of `Tests/BackgroundUser`, with a background service of its own.
final class BackgroundUser: Sendable {
    let home: TemporaryDirectory
    private let place: ServicePlace

    init() throws {
        home = try TemporaryDirectory()
        for name in ["state", "runtime"] {
            try FileManager.default.createDirectory(
                at: home.file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let variables = ["XDG_STATE_HOME": home.path + "/state", "XDG_RUNTIME_DIR": home.path + "/runtime"]
        place = ServicePlace { variables[$0] }
    }

    private static var path: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("background-user")
                .path
        }
    }

    /// Makes downloads in a session, and is killed.
    func start(_ identifier: String, _ urls: [String]) throws -> (exit: ChildProcess.Exit, lines: [String]) {
        try run(["start", identifier, "die"] + urls)
    }

    /// Its output lines, and how it ended.
    func run(
        _ arguments: String..., launchedFor identifier: String? = nil
    ) throws -> (exit: ChildProcess.Exit, lines: [String]) {
        try run(arguments, launchedFor: identifier)
    }

    func run(
        _ arguments: [String], launchedFor identifier: String? = nil, keyLog: URL? = nil
    ) throws -> (exit: ChildProcess.Exit, lines: [String]) {
        var environment = [
            "XDG_CACHE_HOME": home.path + "/cache", "XDG_DATA_HOME": home.path + "/data",
            "XDG_STATE_HOME": home.path + "/state", "XDG_RUNTIME_DIR": home.path + "/runtime",
        ]
        environment[ProgramLauncher.identifierVariable] = identifier
        environment["SSLKEYLOGFILE"] = keyLog?.path
        let (exit, output) = try ChildProcess.run("/usr/bin/env", [Self.path] + arguments, environment: environment)
        return (exit, output.split(separator: "\n").map(String.init))
    }

    /// The process of the service; nil if none runs.
    var service: pid_t? {
        let descriptor = open(place.ownerPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        guard fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0 else { return nil }
        return lock.l_pid
    }

    /// Ends the service, and waits for its end.
    func endService(_ signal: Int32 = SIGTERM) async throws {
        guard let process = service else { return }
        kill(process, signal)
        try await eventually { self.service != process }
    }

    /// The files of responses and uploads that the service has.
    var files: [String] {
        [place.files.path, place.uploads.path].flatMap {
            (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? []
        }
    }
}
