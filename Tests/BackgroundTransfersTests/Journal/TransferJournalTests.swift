import BackgroundTransfers
import Foundation
import Glibc
import JournalSteps
import LoadingPipeline
import LoadingStorage
import TestSupport
import Testing

/// A journal in a folder of its own.
private final class JournalScene: Sendable {
    let temporary: TemporaryDirectory?
    let folder: String
    let journal: TransferJournal
    let messages = EventRecorder<StorageMessage>()
    let losses = EventRecorder<Int>()

    init(in given: String? = nil) throws {
        temporary = given == nil ? try TemporaryDirectory() : nil
        folder = given ?? temporary?.path ?? ""
        let messages = messages
        journal = TransferJournal(in: StorageDirectory(path: folder), notify: { messages.record($0) })
    }

    var file: URL { URL(fileURLWithPath: folder + "/journal") }

    func load() async -> Result<JournalContents, StorageFailure> {
        await withCheckedContinuation { continuation in journal.load { continuation.resume(returning: $0) } }
    }

    func contents() async throws -> JournalContents { try await load().get() }

    func apply(_ changes: [JournalChange]) async -> StorageFailure? {
        await withCheckedContinuation { [losses] continuation in
            journal.apply(changes) { failure, hasLostRecords in
                if hasLostRecords { losses.record(1) }
                continuation.resume(returning: failure)
            }
        }
    }

    static func session(_ name: String = "s", next: Int = 1) -> SessionRecord {
        var record = SessionRecord(application: "app", description: SessionDescription(identifier: name))
        record.nextIdentifier = next
        return record
    }

    static func transfer(_ task: Int, size: Int = 100) -> TransferRecord {
        TransferRecord(
            application: "app", session: "s",
            description: TransferDescription(
                task: task, kind: .download, request: TransferRequest(url: "http://localhost/", folder: "/"),
                original: Data(repeating: UInt8(truncatingIfNeeded: task), count: size)))
    }
}

@Suite(.leakChecked) struct TransferJournalTests {
    // BG-5
    @Test("what was applied is there") func steps() async throws {
        let scene = try JournalScene()
        #expect(try await scene.contents() == JournalContents())
        let steps = JournalSteps(in: scene.folder)
        for step in 0..<JournalSteps.count {
            #expect(steps.perform(step))
            #expect(
                try await JournalScene(in: scene.folder).contents()
                    == JournalSteps.contents(after: step + 1, in: scene.folder))
        }
    }

    // BG-5: a damaged row costs its own record
    @Test("damage is repaired from the whole rows") func damage() async throws {
        let scene = try JournalScene()
        let transfers = (1...200).map { JournalScene.transfer($0, size: 400) }
        #expect(await scene.apply([.session(JournalScene.session(next: 201))] + transfers.map { .transfer($0) }) == nil)
        var bytes = try Data(contentsOf: scene.file)
        let middle = bytes.count / 2
        bytes.replaceSubrange(middle..<middle + 300, with: Data(repeating: 0xAA, count: 300))
        try bytes.write(to: scene.file)
        let other = try JournalScene(in: scene.folder)
        let contents = try await other.contents()
        #expect(contents.sessions == [JournalScene.session(next: 201)])
        #expect(contents.transfers.count >= 190 && contents.transfers.count < 200)
        let known = Set(contents.transfers.map(\.description.task))
        #expect(contents.transfers == transfers.filter { known.contains($0.description.task) })
        #expect(other.messages.events.contains { if case .repaired = $0 { true } else { false } })
        // It goes on.
        #expect(await other.apply([.transfer(JournalScene.transfer(999))]) == nil)
        #expect(try await other.contents().transfers.last == JournalScene.transfer(999))
    }

    // BG-6: transfers are not without a session, whose identifiers continue after theirs
    @Test("a lost session is made from its transfers") func lostSession() async throws {
        let scene = try JournalScene()
        var ended = JournalScene.transfer(7)
        ended.end = TransferEnd(
            order: 4, head: nil, progress: TransferProgress(), outcome: .cancelledBySystem(reason: 0), metrics: nil)
        #expect(await scene.apply([.transfer(JournalScene.transfer(9)), .transfer(ended)]) == nil)
        var session = JournalScene.session(next: 10)
        session.nextEnd = 5
        #expect(try await scene.contents().sessions == [session])
    }

    // BG-5
    @Test("a newer journal stays as it is") func newer() async throws {
        let scene = try JournalScene()
        #expect(await scene.apply([.session(JournalScene.session())]) == nil)
        let database = try Database(scene.file.path)
        try database.execute("PRAGMA user_version=99")
        let before = try Data(contentsOf: scene.file)
        let other = try JournalScene(in: scene.folder)
        guard case .failure(let failure) = await other.load() else {
            Issue.record("a newer journal was read")
            return
        }
        #expect(failure.reason == .newer(version: 99))
        #expect(await other.apply([.session(JournalScene.session("t"))])?.reason == .newer(version: 99))
        #expect(try Data(contentsOf: scene.file) == before)
    }

    // BG-5: a failed change has not happened
    @Test("a full disk", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted")) func fullDisk()
        async throws
    {
        let disk = try SmallDisk(size: 400_000)
        let filler = disk.path + "/filler"
        #expect(FileManager.default.createFile(atPath: filler, contents: Data(count: 150_000)))
        let scene = try JournalScene(in: disk.path)
        #expect(await scene.apply([.session(JournalScene.session())]) == nil)
        var applied: [TransferRecord] = []
        var failure: StorageFailure?
        for task in 1...100 where failure == nil {
            let record = JournalScene.transfer(task, size: 10_000)
            failure = await scene.apply([.transfer(record)])
            if failure == nil { applied.append(record) }
        }
        #expect(failure != nil)
        #expect(!applied.isEmpty)
        #expect(try await scene.contents().transfers == applied)
        #expect(try await JournalScene(in: disk.path).contents().transfers == applied)
        // It goes on when there is room.
        try FileManager.default.removeItem(atPath: filler)
        // One by one, because a transaction needs room for the old contents of what it changes.
        for record in applied { #expect(await scene.apply([.transferRemoved(record.reference)]) == nil) }
        #expect(await scene.apply([.transfer(JournalScene.transfer(1))]) == nil)
        #expect(try await scene.contents().transfers == [JournalScene.transfer(1)])
    }

    // BG-5
    @Test("a read-only disk", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted")) func readOnly()
        async throws
    {
        let disk = try SmallDisk(size: 400_000)
        do {
            let first = try JournalScene(in: disk.path)
            #expect(await first.apply([.session(JournalScene.session())]) == nil)
        }
        // Not while the first journal has its file open.
        try await eventually { (try? disk.setReadOnly(true)) != nil }
        let scene = try JournalScene(in: disk.path)
        #expect(try await scene.contents().sessions == [JournalScene.session()])
        #expect(await scene.apply([.session(JournalScene.session("t"))])?.isReadOnly == true)
        #expect(try await scene.contents().sessions == [JournalScene.session()])
        try disk.setReadOnly(false)
        #expect(await scene.apply([.session(JournalScene.session("t"))]) == nil)
        #expect(try await scene.contents().sessions.count == 2)
    }

    // BG-5
    @Test("a journal that was removed while it was in use is noticed") func removed() async throws {
        let scene = try JournalScene()
        #expect(await scene.apply([.session(JournalScene.session())]) == nil)
        #expect(scene.losses.events.isEmpty)
        try FileManager.default.removeItem(at: scene.file)
        #expect(await scene.apply([.session(JournalScene.session("t"))]) == nil)
        #expect(scene.losses.count == 1)
    }

    // BG-6: an end is not promised without its file
    @Test("the file of an end must exist") func missingFile() async throws {
        let scene = try JournalScene()
        var record = JournalScene.transfer(1)
        record.end = TransferEnd(
            order: 1, head: nil, progress: TransferProgress(), outcome: .file(scene.folder + "/missing"), metrics: nil)
        #expect(await scene.apply([.transfer(record)])?.reason == .system(ENOENT))
        #expect(try await scene.contents().transfers.isEmpty)
        // A symbolic link in its place is not followed.
        symlink("/etc/hostname", scene.folder + "/missing")
        #expect(await scene.apply([.transfer(record)])?.reason == .system(ELOOP))
        // Other changes that share the transaction are not affected.
        async let first = scene.apply([.transfer(record)])
        async let second = scene.apply([.transfer(JournalScene.transfer(2))])
        let failures = await [first, second]
        #expect(failures[0] != nil && failures[1] == nil)
        #expect(try await scene.contents().transfers == [JournalScene.transfer(2)])
        record.end?.delivered = .file
        #expect(await scene.apply([.transfer(record)]) == nil)
    }

    // BG-2: 10,000 transfers
    @Test("many transfers share few transactions") func many() async throws {
        let scene = try JournalScene()
        let done = EventRecorder<Int>()
        for task in 1...10_000 {
            scene.journal.apply([.transfer(JournalScene.transfer(task, size: 600))]) { failure, _ in
                if failure == nil { done.record(task) }
            }
        }
        try await done.waitFor(count: 10_000)
        #expect(done.events == Array(1...10_000))
        let contents = try await JournalScene(in: scene.folder).contents()
        #expect(contents.transfers.map(\.description.task) == Array(1...10_000))
    }
}
