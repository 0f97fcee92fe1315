import BackgroundTransfers
import Foundation
import LoadingPipeline
import TestSupport
import Testing
import URLLoading

/// Tasks that the service cannot keep: each has one end, whatever the program and the service do meanwhile.
@Suite(.leavesNothing) struct BackgroundFailureTests {
    private static func code(_ end: TransferEnd?) -> Int? { end.flatMap(\.outcome.code) }

    // BG-2, BG-6, BG-11: no program is attached when the service finds that the copy of the body is gone
    @Test("an upload without its body, of a program that has ended") func missingBody() async throws {
        let service = try BackgroundServiceInProcess()
        let launched = service.folder.file("launched")
        let first = try service.attach(1, launch: .command(["/bin/touch", launched.path]))
        let state = try first.attached().state
        try CommandSpool(path: state.spool).append(
            [EncodedCommand(.create(1, body: state.uploads + "/missing")), EncodedCommand(.create(2))], from: 1)
        first.close()
        try await eventually { (try? service.journalContents())?.transfers.count == 2 }
        let record = try #require(try service.journalContents().transfers.first)
        #expect(Self.code(record.end) == -3003)
        // The other one is suspended, and nothing is left to do.
        try await eventually { FileManager.default.fileExists(atPath: launched.path) }
        let second = try service.attach(2)
        let found = try second.attached()
        #expect(found.tasks == [1, 2] && found.ends.keys.sorted() == [1])
        try second.send(.acknowledge(task: 1, .end))
        #expect(try second.next() == .committed(3))
        second.close()
        let third = try service.attach(3)
        #expect(try third.attached().tasks == [2])
        third.close()
        service.stop()
    }

    // BG-2, BG-6, BG-11: what was written of a body and not synchronized is lost in part when the power fails
    @Test("an upload of an earlier boot or an unknown one, whose body may be torn", arguments: ["an earlier one", ""])
    func tornBody(boot: String) async throws {
        let service = try BackgroundServiceInProcess()
        let first = try service.attach(1)
        let state = try first.attached().state
        let body = state.uploads + "/body"
        FileManager.default.createFile(atPath: body, contents: Data("a part".utf8))
        let now = state.uploads + "/now"
        FileManager.default.createFile(atPath: now, contents: Data("the whole".utf8))
        try CommandSpool(path: state.spool).append(
            [
                EncodedCommand(.create(1, body: body, boot: boot)), EncodedCommand(.resume(task: 1)),
                EncodedCommand(.create(2, body: now, boot: Boot.identifier)),
            ], from: 1)
        first.close()
        try await eventually { (try? service.journalContents())?.transfers.count == 2 }
        let second = try service.attach(2)
        let found = try second.attached()
        #expect(found.tasks == [1, 2] && found.ends.mapValues(Self.code) == [1: -3003])
        try second.send(.acknowledge(task: 1, .end))
        _ = try second.notices { if case .committed = $0 { true } else { false } }
        try await eventually { !FileManager.default.fileExists(atPath: body) }
        #expect(FileManager.default.fileExists(atPath: now))
        second.close()
        service.stop()
    }

    // BG-2, BG-6: the trouble of two files is not that of other tasks
    @Test("two uploads without their bodies") func missingBodies() async throws {
        let service = try BackgroundServiceInProcess()
        let peer = try service.attach(1)
        let uploads = try peer.attached().state.uploads
        try peer.send(
            .create(1, body: uploads + "/first"), .create(2, body: uploads + "/second"), .create(3))
        let notices = try peer.notices { if case .ended(2, _) = $0 { true } else { false } }
        #expect(notices.first == .committed(3))
        let ends = notices.compactMap { notice in
            if case .ended(let task, let end) = notice { [task, Self.code(end)] } else { nil }
        }
        #expect(ends == [[1, -3003], [2, -3003]])
        let transfers = try service.journalContents().transfers
        #expect(transfers.map(\.description.task) == [1, 2, 3])
        #expect(transfers.map { Self.code($0.end) } == [-3003, -3003, nil])
        peer.close()
        service.stop()
    }

    // BG-6, T-6: the program was killed before it had called its delegate
    @Test("a task on a full disk, whose end was not acknowledged", .enabled(if: SmallDisk.isAvailable, "no disk"))
    func unacknowledged() async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let first = try service.attach(1)
        _ = try first.attached()
        try first.send(.create(1))
        #expect(try first.next() == .committed(1))
        try disk.fill()
        try first.send(.create(2), .resume(task: 2))
        _ = try first.notices { if case .ended(2, _) = $0 { true } else { false } }
        first.close()
        let second = try service.attach(2)
        let found = try second.attached()
        #expect(found.tasks == [1, 2] && found.ends.mapValues(Self.code) == [2: -3003])
        // Before the acknowledgement: a commit that fails is not announced later.
        try disk.empty()
        try second.send(.acknowledge(task: 2, .end))
        _ = try second.notices { $0 == .committed(4) }
        second.close()
        #expect(try service.journalContents().transfers.map(\.description.task) == [1])
        service.stop()
    }

    // BG-6, BG-20: the next session object gets the end
    @Test(
        "a task on a full disk, of a session that is invalidated at once",
        .enabled(if: SmallDisk.isAvailable, "no disk"))
    func invalidated() async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let first = try service.attach(1)
        _ = try first.attached()
        try first.send(.create(1))
        #expect(try first.next() == .committed(1))
        try disk.fill()
        // The service reads them in one turn.
        try first.send(.create(2), .resume(task: 2), .invalidate(cancelsTasks: false))
        #expect(try first.next() == .invalidated)
        first.close()
        let second = try service.attach(2)
        let found = try second.attached()
        #expect(found.tasks == [1, 2] && found.ends.mapValues(Self.code) == [2: -3003])
        second.close()
        try disk.empty()
        service.stop()
    }

    // BG-6, BG-7: a session that the journal knows is not refused, although it has no commands
    @Test("a known session without commands on a full disk", .enabled(if: SmallDisk.isAvailable, "no disk"))
    func knownSession() async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let first = try service.attach(1)
        let one = try first.attached().state
        first.close()
        try await eventually { (try? service.journalContents())?.sessions.count == 1 }
        service.restart()
        try disk.fill()
        let second = try service.attach(2)
        let two = try second.attached().state
        #expect(two.attachment == one.attachment + 1 && two.spool != one.spool)
        second.close()
        // It has had the session, which the object before it has lost.
        let again = try service.attach(1, again: one.attachment)
        #expect(try again.next() == .refused(.sessionInUse))
        again.close()
        try disk.empty()
        service.stop()
    }
}
