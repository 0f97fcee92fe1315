import Foundation
import StorageSteps
import TestSupport

/// Runs the program that changes a store, by a test's commands.
enum StorageWriterProcess {
    private static var path: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("storage-writer").path
        }
    }

    /// Runs the steps and is killed at a change of the disk; returns its exit status and the number of completed steps.
    static func steps(
        _ kind: StorageKind, in folder: String, killedAt change: Int, isTorn: Bool
    ) throws -> (exit: ChildProcess.Exit, done: Int) {
        let directory = try TemporaryDirectory()
        let acknowledgements = directory.file("done")
        let process = try ChildProcess(
            path,
            ["steps", kind.rawValue, folder, acknowledgements.path, "\(change)", isTorn ? "torn" : "whole"],
            output: directory.file("output"))
        defer { process.end() }
        let exit = try process.waitForExit()
        return (exit, (try? Data(contentsOf: acknowledgements))?.count ?? 0)
    }

    /// Stores many records, one at a time.
    static func fill(_ kind: StorageKind, in folder: String, first: Int, count: Int) throws -> ChildProcess {
        try ChildProcess(path, ["fill", kind.rawValue, folder, "\(first)", "\(count)"])
    }
}
