import Foundation
import TestSupport

/// The program of `Tests/SessionUser`, with its own home directory for persistent data.
struct SessionUser {
    let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private static var path: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("session-user").path
        }
    }

    /// Its output lines.
    ///
    /// - Parameter tracer: A program that runs it, with arguments.
    func run(_ arguments: String..., under tracer: [String] = []) throws -> [String] {
        try run(arguments, under: tracer)
    }

    func run(
        _ arguments: [String], under tracer: [String] = [], environment: [String: String] = [:]
    ) throws -> [String] {
        let words = try tracer + [Self.path] + arguments
        let (exit, output) = try ChildProcess.run(
            "/usr/bin/env", words, environment: places(and: environment))
        guard exit == .code(0) else { throw Failure(exit: exit, output: output) }
        return output.split(separator: "\n").map(String.init)
    }

    /// Starts it, for a test that kills it or watches what it does.
    func start(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(try Self.path, arguments, environment: places(and: environment))
    }

    private func places(and environment: [String: String]) -> [String: String] {
        ["XDG_CACHE_HOME": home.path + "/cache", "XDG_DATA_HOME": home.path + "/data"].merging(environment) { $1 }
    }

    struct Failure: Error {
        let exit: ChildProcess.Exit
        let output: String
    }

    /// The files in the home directory, with modes.
    var places: [String: Int] {
        var found: [String: Int] = [:]
        for case let name as String in FileManager.default.enumerator(atPath: home.path) ?? .init() {
            let attributes = try? FileManager.default.attributesOfItem(atPath: home.path + "/" + name)
            found[name] = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? -1
        }
        return found
    }

    /// Whether a file in the home directory contains the text.
    func holds(_ text: String) throws -> Bool {
        try places.keys.contains { name in
            let file = home.file(name)
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return false }
            return try Data(contentsOf: file).range(of: Data(text.utf8)) != nil
        }
    }
}
