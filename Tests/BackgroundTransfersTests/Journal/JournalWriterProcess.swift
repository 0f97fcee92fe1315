import Foundation
import TestSupport

/// Runs the program that changes a journal.
enum JournalWriterProcess {
    /// Returns the exit status, and the number of steps that were confirmed.
    static func run(_ words: [String], in folder: String, last: [String]) throws -> (exit: ChildProcess.Exit, done: Int)
    {
        let directory = try TemporaryDirectory()
        let acknowledgements = directory.file("done")
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("journal-writer")
        let process = try ChildProcess(program.path, words + [folder, acknowledgements.path] + last)
        defer { process.end() }
        let exit = try process.waitForExit()
        return (exit, (try? Data(contentsOf: acknowledgements))?.count ?? 0)
    }
}
