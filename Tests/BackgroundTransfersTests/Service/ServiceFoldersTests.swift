import Foundation
import TestSupport
import Testing

@testable import BackgroundTransfers

/// What the service removes when it starts.
struct ServiceFoldersTests {
    private let folder: TemporaryDirectory
    private let folders: ServiceFolders

    init() throws {
        folder = try TemporaryDirectory()
        let path = folder.path
        folders = ServiceFolders(files: path + "/files", uploads: path + "/uploads", spool: path + "/spool")
        for name in ["files", "uploads", "spool/app"] {
            try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: true)
        }
    }

    private func record(attachment: UInt64, owner: UInt64) -> SessionRecord {
        var record = SessionRecord(application: "app", description: SessionDescription(identifier: "s"))
        (record.attachment, record.description.owner) = (attachment, owner)
        return record
    }

    // BG-6: the service was killed after it had attached a program, which makes the file while the next service reads
    // the others
    @Test("a spool that is made meanwhile stays") func spoolThatIsMadeMeanwhile() throws {
        let (former, present) = (record(attachment: 1, owner: 1), record(attachment: 2, owner: 7))
        let contents = JournalContents(sessions: [present])
        try CommandSpool(path: folders.spool(of: former)).append([EncodedCommand(.resume(task: 1))], from: 1)
        let spools = folders.spools(of: contents.sessions)
        #expect(spools[present.reference]?.isEmpty == true)
        let spool = try CommandSpool(path: folders.spool(of: present))
        try spool.append([EncodedCommand(.resume(task: 2))], from: 1)
        folders.removeOrphans(of: contents, spools)
        #expect(!spool.isRemoved)
        #expect(CommandSpool.entries(at: folders.spool(of: present)).map(\.command) == [.resume(task: 2)])
        #expect(CommandSpool.entries(at: folders.spool(of: former)) == [])
    }
}
