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
        folders.removeOrphans(of: contents, spools, living: [])
        #expect(!spool.isRemoved)
        #expect(CommandSpool.entries(at: folders.spool(of: present)).map(\.command) == [.resume(task: 2)])
        #expect(CommandSpool.entries(at: folders.spool(of: former)) == [])
    }

    // BG-2: at any age, and however the clock is set
    @Test("a file for a task that is not created yet stays as long as its program") func copies() throws {
        let sessions = [1, 2, 3].map { record(attachment: $0, owner: $0) }
        let contents = JournalContents(sessions: sessions)
        // The program of the first one goes on, that of the second one has ended, and the third one has no spool yet.
        let first = try CommandSpool(path: folders.spool(of: sessions[0]))
        try CommandSpool(path: folders.spool(of: sessions[1])).append([EncodedCommand(.resume(task: 1))], from: 1)
        let paths = [1, 2, 3].map { UploadFolder(path: folders.uploads, owner: $0).newPath("part.tmp") }
        for path in paths + [folders.uploads + "/other"] {
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
        }
        let living = folders.livingOwners()
        #expect(living == [1])
        let third = try CommandSpool(path: folders.spool(of: sessions[2]))
        folders.removeOrphans(of: contents, folders.spools(of: sessions), living: living)
        #expect(Set(FileKeeper.names(in: folders.uploads).map { folders.uploads + "/" + $0 }) == [paths[0], paths[2]])
        folders.removeOrphans(of: 1, keeping: [])
        folders.removeOrphans(of: 3, keeping: [paths[2]])
        #expect(FileKeeper.names(in: folders.uploads).map { folders.uploads + "/" + $0 } == [paths[2]])
        withExtendedLifetime((first, third)) {}
    }

    // BG-2
    @Test("the names of files for new tasks") func namesOfCopies() {
        for owner in [1, 0xabc, .max] as [UInt64] {
            let folder = UploadFolder(path: "/folder", owner: owner)
            #expect(folder.newPath("part.tmp") == "/folder/part+\(String(owner, radix: 16)).tmp")
            for name in ["upload", "part.tmp", "a+1", "a+1.tmp"] {
                #expect(UploadFolder.owner(of: String(folder.newPath(name).dropFirst(8))) == owner)
            }
        }
        for name in ["", "upload", "upload+", "upload+x", "+.tmp"] { #expect(UploadFolder.owner(of: name) == nil) }
    }
}
