import Foundation
import TestSupport

extension CommandHarness {
    /// Writes a file into the folder, and returns its path.
    func write(_ text: String, to name: String) throws -> String { try folder.write(text, to: name).path }

    func text(_ name: String) throws -> String { try String(contentsOf: folder.file(name), encoding: .utf8) }

    func path(_ name: String) -> String { folder.file(name).path }

    func url(_ path: String = "/") -> String { server.url(path).absoluteString }

    /// Runs the program in the folder, with no files of the user's.
    func runInFolder(_ words: [String], environment: [String: String] = [:]) throws -> RunningCommand.Outcome {
        let shell = "cd \"$1\" && shift && exec \"$@\""
        let (exit, output) = try ChildProcess.run(
            "/bin/sh", ["-c", shell, "sh", folder.path, Self.executable()] + words,
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": folder.path].merging(environment) { $1 })
        return RunningCommand.Outcome(exit: exit, output: output)
    }
}

extension ScriptedServer {
    /// Answers each request with its method, target and body.
    static func echoing() throws -> ScriptedServer {
        try .answering { .text("\($0.method) \($0.target) \($0.bodyText)") }
    }
}
