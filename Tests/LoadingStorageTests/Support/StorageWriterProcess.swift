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

    /// Runs the steps; returns what they have done to the disk in a folder that has the store's folder.
    static func record(_ kind: StorageKind, in folder: String, of recorded: String) throws -> DiskRecord {
        let directory = try TemporaryDirectory()
        let log = directory.file("log")
        let process = try ChildProcess(
            path, ["record", kind.rawValue, folder, log.path, recorded], output: directory.file("output"))
        defer { process.end() }
        guard try process.waitForExit() == .code(0) else { throw Failed() }
        return try DiskRecord(try Data(contentsOf: log))
    }

    struct Failed: Error {}

    /// Stores many records, one at a time.
    static func fill(_ kind: StorageKind, in folder: String, first: Int, count: Int) throws -> ChildProcess {
        try ChildProcess(path, ["fill", kind.rawValue, folder, "\(first)", "\(count)"])
    }
}
