import BackgroundTransfers
import Foundation
import LoadingPipeline
import LoadingSemantics
import Synchronization
import TestSupport
import Testing

@testable import URLLoading

/// Background sessions whose service has trouble with its disk: the program gets the error, and nothing else is lost.
@Suite(.leavesNothing) struct BackgroundDiskTests {
    private func session(
        _ service: BackgroundServiceInProcess, _ delegate: BackgroundDelegate, _ identifier: String = "test"
    ) -> URLSession {
        URLSession(configuration: service.configuration(identifier), delegate: delegate, delegateQueue: nil)
    }

    private func end(_ session: URLSession, _ delegate: BackgroundDelegate) async throws {
        session.finishTasksAndInvalidate()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
    }

    private static func reason(_ error: URLError?) -> String {
        (error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription ?? ""
    }

    /// The descriptions of the tasks in the journal, in their order.
    private static func names(_ service: BackgroundServiceInProcess) -> [String]? {
        let transfers = try? service.journalContents().transfers.sorted { $0.description.task < $1.description.task }
        return transfers?.map { $0.description.request.taskDescription ?? "-" }
    }

    // BG-7, ERR-1: a session that cannot be noted does not exist, and works when there is room
    @Test(
        "a full disk, or a read-only one", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"),
        arguments: ["full", "read-only"])
    func unusable(how: String) async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path) { _ in
            if how == "full" { try disk.fill() } else { try disk.setReadOnly(true) }
        }
        let delegate = BackgroundDelegate()
        let refused = session(service, delegate)
        refused.downloadTask(with: server.url()).resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        let error = try #require(delegate.errors.events.first ?? nil)
        #expect(error.code == .backgroundSessionWasDisconnected)
        #expect(Self.reason(error).hasPrefix("the journal of the background service: "))
        try await end(refused, delegate)
        #expect(server.requests.isEmpty)
        // There is room now.
        if how == "full" {
            try disk.empty()
        } else {
            try disk.setReadOnly(false)
        }
        let next = BackgroundDelegate()
        let session = session(service, next)
        session.downloadTask(with: server.url()).resume()
        _ = try await next.calls.waitUntil("the task's end") { $0.contains(.completed(1, nil)) }
        #expect(next.contents.events == [Data("content".utf8)])
        try await end(session, next)
        service.stop()
    }

    // BG-6: a new task fails, and the others stay
    @Test("a disk that becomes full", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func becomesFull() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let old = session.downloadTask(with: server.url("/old"))
        old.taskDescription = "old"
        try await eventually { Self.names(service) == ["old"] }
        try disk.fill()
        let new = session.downloadTask(with: server.url("/new"))
        new.resume()
        _ = try await delegate.calls.waitUntil("the end of the new task") { $0.contains { $0.isCompletion } }
        #expect(delegate.errors.events.compactMap { $0?.code } == [.cannotWriteToFile])
        try disk.empty()
        old.resume()
        _ = try await delegate.calls.waitUntil("the end of the old task") { $0.contains(.completed(1, nil)) }
        try await end(session, delegate)
        #expect(delegate.contents.events == [Data("content".utf8)])
        try await eventually { service.files(in: "files") == [] }
        service.stop()
    }

    // BG-6, BG-20: a task ends exactly once, however early the service refuses it, and the session ends after it
    @Test("many tasks on a full disk", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func manyRefused() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let first = session.downloadTask(with: server.url("/first"))
        try await eventually { Self.names(service) == ["-"] }
        try disk.fill()
        // A thread that is busy is interrupted between any two steps of a creation.
        let count = 200
        let isBusy = Atomic(true)
        for _ in 0..<4 { Thread.detachNewThread { while isBusy.load(ordering: .relaxed) {} } }
        for number in 0..<count { session.downloadTask(with: server.url("/\(number)")).resume() }
        _ = try await delegate.calls.waitUntil("the ends of the new tasks") { $0.count(where: \.isCompletion) == count }
        isBusy.store(false, ordering: .relaxed)
        #expect(delegate.errors.events.allSatisfy { $0?.code == .cannotWriteToFile })
        try disk.empty()
        first.resume()
        _ = try await delegate.calls.waitUntil("the end of the first task") { $0.contains(.completed(1, nil)) }
        try await end(session, delegate)
        #expect(delegate.calls.events.count(where: \.isCompletion) == count + 1)
        service.stop()
    }

    // BG-5, BG-6: the service has everything in memory, and writes it again
    @Test("a journal that is removed while it is in use") func removedJournal() async throws {
        let service = try BackgroundServiceInProcess()
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let url = try #require(URL(string: "http://localhost/"))
        for name in ["first", "second"] {
            let task = session.downloadTask(with: url)
            task.taskDescription = name
        }
        try await eventually { Self.names(service) == ["first", "second"] }
        try FileManager.default.removeItem(atPath: service.path + "/journal")
        let third = session.downloadTask(with: url)
        third.taskDescription = "third"
        try await eventually { Self.names(service) == ["first", "second", "third"] }
        let contents = try service.journalContents()
        #expect(contents.sessions.map(\.nextIdentifier) == [4])
        session.invalidateAndCancel()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        service.stop()
    }

    // BG-2: the copy of one upload is gone, which is not the trouble of other programs
    @Test("a body that is removed") func removedBody() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let service = try BackgroundServiceInProcess()
        let (first, second) = (BackgroundDelegate(), BackgroundDelegate())
        let (broken, other) = (session(service, first, "broken"), session(service, second, "other"))
        let file = try service.folder.write("from a file", to: "own/body")
        var request = URLRequest(url: server.url("/up"))
        request.httpMethod = "PUT"
        let upload = broken.uploadTask(with: request, fromFile: file)
        try await eventually { Self.names(service) == ["-"] }
        let copy = try #require(service.files(in: "uploads").first)
        try FileManager.default.removeItem(atPath: service.path + "/uploads/" + copy)
        upload.resume()
        other.downloadTask(with: server.url("/down")).resume()
        _ = try await first.calls.waitUntil("the upload's end") { $0.contains { $0.isCompletion } }
        _ = try await second.calls.waitUntil("the download's end") { $0.contains(.completed(1, nil)) }
        #expect(first.errors.events.compactMap { $0?.code } == [.fileDoesNotExist])
        try await end(broken, first)
        try await end(other, second)
        try await eventually { Self.names(service) == [] }
        service.stop()
    }

    // BG-6, BG-18: nothing refers to the file after its task has ended with an error
    @Test("a complete file that cannot be synchronized") func unsynchronizedFile() async throws {
        let isReplaced = Signal("the file is replaced")
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
                try connection.wait(for: isReplaced)
                try connection.send("rest")
            }
        }
        defer { server.stop() }
        let service = try BackgroundServiceInProcess()
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        session.downloadTask(with: server.url()).resume()
        try await eventually { service.files(in: "files").count == 1 }
        let path = service.path + "/files/" + (try #require(service.files(in: "files").first))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        isReplaced.fire()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(delegate.errors.events.compactMap { $0?.code } == [.cannotWriteToFile])
        try await end(session, delegate)
        try await eventually { service.files(in: "files") == [] }
        service.stop()
    }

    // BG-6: the spool has no command without those before it
    @Test("commands while a disk is full", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func spoolOnAFullDisk() throws {
        let disk = try SmallDisk(size: 100_000)
        let path = disk.path + "/spool"
        let commands = BackgroundCommands()
        commands.attached(
            SessionState(
                attachment: 1, nextIdentifier: 1, commands: 0, spool: path, uploads: disk.path, isLaunched: false))
        _ = commands.add(.suspend(task: 1))
        try disk.fill()
        // More than is left of the file's last page.
        _ = commands.add(.setTaskDescription(task: 1, String(repeating: "x", count: 8192)))
        try disk.empty()
        _ = commands.add(.suspend(task: 3))
        #expect(CommandSpool.entries(at: path).map(\.number) == [1])
        // The service has them all.
        #expect(commands.next(64).count == 3)
        commands.committed(3)
        _ = commands.add(.suspend(task: 4))
        let entries = CommandSpool.entries(at: path)
        #expect(entries.map(\.number) == [4] && entries.map(\.command) == [.suspend(task: 4)])
    }

    // BG-6: a service whose journal does not know the session object has removed its spool
    @Test("a spool that is removed") func removedSpool() throws {
        let folder = try TemporaryDirectory()
        var state = SessionState(
            attachment: 1, nextIdentifier: 1, commands: 0, spool: folder.path + "/spool", uploads: folder.path,
            isLaunched: false)
        let commands = BackgroundCommands()
        commands.attached(state)
        for task in 1...3 { _ = commands.add(.suspend(task: task)) }
        try FileManager.default.removeItem(atPath: state.spool)
        commands.disconnected()
        state.commands = 1
        commands.attached(state)
        #expect(CommandSpool.entries(at: state.spool).map(\.number) == [2, 3])
        #expect(commands.next(64) == [.suspend(task: 2), .suspend(task: 3)])
    }

    // BG-6: without a move of all that follow for each, which would take more than the time limit
    @Test("many commands, of which the journal gets one at a time", .timeLimit(.minutes(1))) func manyCommands() {
        let commands = BackgroundCommands()
        let count = 80_000
        for task in 1...count { _ = commands.add(.suspend(task: task)) }
        for number in 1..<count { commands.committed(UInt64(number)) }
        #expect(!commands.isEmpty)
        commands.committed(UInt64(count))
        #expect(commands.isEmpty)
    }

    // BG-6, BG-12: a session that is not used for a month is forgotten, and there are not more than a thousand without
    // tasks
    @Test("old sessions") func oldSessions() async throws {
        let now = Date().timeIntervalSince1970
        func record(_ name: String, days: Double) -> SessionRecord {
            var record = SessionRecord(application: "app", description: SessionDescription(identifier: name))
            (record.lastUsed, record.nextIdentifier, record.commands) = (now - days * 86_400, 7, 9)
            return record
        }
        let task = TransferRecord(
            application: "app", session: "old with a task",
            description: TransferDescription(
                task: 1, kind: .download, request: TransferRequest(url: "http://localhost/", folder: "/")))
        let service = try BackgroundServiceInProcess { path in
            var changes: [JournalChange] = [
                .session(record("old", days: 32)), .session(record("old with a task", days: 32)),
                .session(record("young", days: 0)),
            ]
            changes += (1...1000).map { .session(record("s\($0)", days: 1 + Double($0) / 100)) }
            changes.append(.transfer(task))
            try BackgroundServiceInProcess.writeJournal(changes, in: path)
            // It would be carried out again if the record were forgotten before it.
            let spool = path + "/spool/app"
            try FileManager.default.createDirectory(atPath: spool, withIntermediateDirectories: true)
            FileManager.default.createFile(atPath: spool + "/old+0+0", contents: Data("spool".utf8))
        }
        try await eventually { (try? service.journalContents().sessions.count) == 1001 }
        let left = Set(try service.journalContents().sessions.map(\.description.identifier))
        #expect(left.isSuperset(of: ["old with a task", "young", "s1", "s999"]))
        #expect(left.isDisjoint(with: ["old", "s1000"]))
        #expect(!FileManager.default.fileExists(atPath: service.path + "/spool/app/old+0+0"))
        // Also while the service runs.
        let delegate = BackgroundDelegate()
        let new = session(service, delegate, "new")
        try await end(new, delegate)
        try await eventually {
            let left = (try? service.journalContents())?.sessions.map(\.description.identifier) ?? []
            return left.contains("new") && !left.contains("s999")
        }
        #expect(try service.journalContents().sessions.count == 1001)
        service.stop()
    }
}
