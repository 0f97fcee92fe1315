import BackgroundTransfers
import Foundation
import JournalSteps
import TestSupport
import Testing

/// The power fails at each moment of the life of a journal, and what was not synchronized is on the disk in part.
@Suite(.leakChecked) struct PowerFailureTests {
    // BG-5, BG-6
    @Test("each commit that was acknowledged is in the journal") func acknowledgedCommits() throws {
        let directory = try TemporaryDirectory()
        let folder = directory.file("journal-folder")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let (exit, done) = try JournalWriterProcess.run(["record"], in: folder.path, last: [directory.file("log").path])
        #expect(exit == .code(0))
        #expect(done == JournalSteps.count)
        let record = try DiskRecord(try Data(contentsOf: directory.file("log")))
        var generator = SeededGenerator(seed: 1)
        let crashes = record.crashes(using: &generator)
        // Each step writes, synchronizes and is marked.
        #expect(record.operations.count > 6 * JournalSteps.count)
        let wrong = try crashes.compactMap { try fault(of: $0, in: record, folder) }
        #expect(wrong.isEmpty, "\(wrong.count) of \(crashes.count) states: \(wrong.prefix(5))")
    }

    /// What is wrong with the journal after that power failure; nil if nothing is.
    private func fault(of crash: DiskRecord.Crash, in record: DiskRecord, _ folder: URL) throws -> String? {
        // At the same path, which the records contain.
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try record.make(crash, at: folder)
        let place = "\(crash.name) after operation \(crash.end)"
        guard case .success(let contents) = JournalSteps(in: folder.path).contents() else {
            return "\(place): unreadable"
        }
        let steps = crash.promised...min(crash.promised + 1, JournalSteps.count)
        guard steps.contains(where: { JournalSteps.contents(after: $0, in: folder.path) == contents }) else {
            return "\(place): not what \(crash.promised) steps have promised"
        }
        for path in JournalSteps.committedFiles(of: contents) {
            guard let content = try? Data(contentsOf: URL(fileURLWithPath: path)),
                content == Data(JournalSteps.fileContent)
            else { return "\(place): \(path) is incomplete" }
        }
        return nil
    }
}
