import Foundation
import Glibc
import LoadingPipeline
import LoadingTransport
import TestSupport
import Testing
import URLLoading

@testable import BackgroundTransfers

/// Session objects of several processes that own one session after another, message by message.
@Suite(.leavesNothing) struct BackgroundOwnerTests {
    private let service: BackgroundServiceInProcess

    init() throws { service = try BackgroundServiceInProcess() }

    // BG-6, BG-7: each object has a spool of its own
    @Test("what an object writes after another one has attached is not carried out") func lateCommands() async throws {
        let first = try service.attach(1)
        let one = try first.attached().state
        #expect(one.nextIdentifier == 1 && one.commands == 0)
        let late = try CommandSpool(path: one.spool)
        try late.append([EncodedCommand(.create(1)), EncodedCommand(.create(2))], from: 1)
        first.close()
        // Before that: its commands are carried out, although it has not sent them.
        let second = try service.attach(2)
        let two = try second.attached()
        #expect(two.tasks == [1, 2])
        #expect(two.state.nextIdentifier == 3 && two.state.commands == 2)
        #expect(two.state.spool != one.spool)
        try await eventually { !FileManager.default.fileExists(atPath: one.spool) }
        // After that: they have the numbers of those of the other one.
        try late.append([EncodedCommand(.cancel(task: 1)), EncodedCommand(.create(3))], from: 3)
        try CommandSpool(path: two.state.spool).append([EncodedCommand(.suspend(task: 2))], from: 3)
        second.close()
        let third = try service.attach(3)
        let three = try third.attached()
        #expect(three.tasks == [1, 2])
        #expect(three.state.nextIdentifier == 3 && three.state.commands == 3)
        third.close()
        service.stop()
    }

    // BG-7: it would give the identifiers and the numbers of the other one's tasks and commands
    @Test(
        "an object that has lost the session is refused; one that was only disconnected is not",
        arguments: [false, true])
    func attachedAgain(isLost: Bool) async throws {
        let first = try service.attach(1)
        let attachment = try first.attached().state.attachment
        first.close()
        if isLost {
            let second = try service.attach(2)
            _ = try second.attached()
            second.close()
        }
        service.restart()
        let again = try service.attach(1, again: attachment)
        if isLost {
            #expect(try again.next() == .refused(.sessionInUse))
        } else {
            _ = try again.attached()
        }
        again.close()
        // A new object of any process is welcome.
        let new = try service.attach(4)
        _ = try new.attached()
        new.close()
        service.stop()
    }

    // BG-7, BG-20: it was written by an object that has ended since, or that asks again
    @Test("an invalidation in a spool is not that of the next object", arguments: [false, true])
    func spooledInvalidation(cancelsTasks: Bool) async throws {
        let first = try service.attach(1)
        let state = try first.attached().state
        try CommandSpool(path: state.spool).append(
            [EncodedCommand(.create(1)), EncodedCommand(.invalidate(cancelsTasks: cancelsTasks))], from: 1)
        first.close()
        let second = try service.attach(2)
        guard case .attached(let next)? = try second.next() else { throw BackgroundPeer.Unexpected() }
        #expect(next.commands == 2)
        var notices: [ServiceNotice] = []
        repeat { notices.append(try #require(try second.next())) } while notices.last != .replayed
        #expect(notices.contains { if case .ended(1, _) = $0 { true } else { false } } == cancelsTasks)
        // It still has the session.
        try second.send(.create(2))
        #expect(try second.next() == .committed(3))
        second.close()
        service.stop()
    }

    // BG-20: a service that was killed has carried the command out, and has not answered
    @Test("an object that is attached again can be invalidated") func invalidatedAgain() async throws {
        let first = try service.attach(1)
        let state = try first.attached().state
        try CommandSpool(path: state.spool).append([EncodedCommand(.invalidate(cancelsTasks: false))], from: 1)
        first.close()
        service.restart()
        let again = try service.attach(1, again: state.attachment)
        #expect(try again.attached().state.commands == 1)
        try again.send(.invalidate(cancelsTasks: false))
        #expect(try again.next() == .invalidated)
        // It is free for the next one, although this end of the connection is still open.
        let next = try service.attach(2)
        _ = try next.attached()
        next.close()
        again.close()
        service.stop()
    }

    // BG-6, T-6: the program got the end of a task, which the service had no time to remove
    @Test("a task whose end was acknowledged does not come back") func acknowledgedTask() async throws {
        let first = try service.attach(1)
        let state = try first.attached().state
        try CommandSpool(path: state.spool).append(
            [
                EncodedCommand(.create(1)), EncodedCommand(.resume(task: 1)), EncodedCommand(.create(2)),
                EncodedCommand(.acknowledge(task: 1, .end)),
            ], from: 1)
        first.close()
        let second = try service.attach(2)
        #expect(try second.attached().tasks == [2])
        second.close()
        try await eventually { (try? service.journalContents())?.transfers.map(\.description.task) == [2] }
        service.stop()
    }

    // BG-6: a task that cannot have its number ends
    @Test("the largest numbers") func largestNumbers() async throws {
        let largest = SessionState.nextIdentifiers.upperBound
        let first = try service.attach(1)
        let state = try first.attached().state
        try CommandSpool(path: state.spool).append([EncodedCommand(.create(largest - 1))], from: .max)
        first.close()
        let second = try service.attach(2)
        let found = try second.attached()
        #expect(found.tasks == [largest - 1])
        #expect(found.state.commands == .max && found.state.nextIdentifier == largest)
        try second.send(.create(largest), .create(.max), .suspend(task: 1))
        let notices = try second.notices { if case .committed = $0 { true } else { false } }
        let failures = notices.compactMap { notice -> [Int]? in
            guard case .ended(let task, let end) = notice else { return nil }
            return [task, end.outcome.code ?? 0]
        }
        #expect(failures == [[.max, -997]])
        second.close()
        let third = try service.attach(3)
        #expect(try third.attached().tasks == [largest - 1, largest])
        third.close()
        service.stop()
    }

    // BG-6: its program has the file open, and goes on with it
    @Test("a spool whose name has no attachment, of an earlier version") func earlierSpool() async throws {
        let first = try service.attach(1)
        let state = try first.attached().state
        try first.send(.create(1))
        #expect(try first.next() == .committed(1))
        let name = try #require(state.spool.split(separator: "/").last?.split(separator: "+"))
        #expect(name.count == 3)
        let spool = try CommandSpool(path: service.path + "/spool/app/\(name[0])+\(name[2])")
        try spool.append([EncodedCommand(.create(2))], from: 2)
        first.close()
        service.restart()
        let again = try service.attach(1, again: state.attachment)
        let found = try again.attached()
        #expect(found.tasks == [1, 2] && found.state.spool == state.spool)
        try spool.append([EncodedCommand(.create(3))], from: 3)
        again.close()
        let next = try service.attach(2)
        #expect(try next.attached().tasks == [1, 2, 3])
        next.close()
        service.stop()
    }

    // BG-6: an update of the program may trust fewer servers, for example
    @Test("a transfer begins with the configuration of the program that was attached last") func configuration()
        async throws
    {
        let mayEnd = Signal("the response to the first request")
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.target == "/1" { try connection.wait(for: mayEnd) }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        defer { server.stop() }
        var peers: [BackgroundPeer] = []
        for number in 1...2 {
            let peer = BackgroundPeer(try service.connect().get())
            var description = SessionDescription(identifier: "test")
            (description.owner, description.userAgent) = (UInt64(number), "agent \(number)")
            try peer.send(.hello(ServiceHello(application: "app")), .attach(description, again: nil))
            guard case .welcome? = try peer.next() else { throw BackgroundPeer.Unexpected() }
            _ = try peer.attached()
            let request = TransferRequest(url: server.url("/\(number)").absoluteString, folder: "")
            try peer.send(
                .create(TransferDescription(task: number, kind: .download, request: request)), .resume(task: number))
            try await eventually { server.requests.count == number }
            if number == 1 { peer.close() }
            peers.append(peer)
        }
        _ = try peers[1].notices { if case .ended(2, _) = $0 { true } else { false } }
        // What began before goes on.
        mayEnd.fire()
        let notices = try peers[1].notices { if case .ended(1, _) = $0 { true } else { false } }
        guard case .ended(_, let end)? = notices.last else { throw BackgroundPeer.Unexpected() }
        #expect(end.outcome.code == nil && end.head?.status == 200)
        #expect(server.requests.map { $0["User-Agent"] } == ["agent 1", "agent 2"])
        peers[1].close()
        service.stop()
    }

    // BG-2: the program was killed between the copy of an upload and its task, or was only disconnected
    @Test("a copy without a task is removed when its program has ended", arguments: [false, true])
    func copyWithoutATask(hasEnded: Bool) async throws {
        let peer = try service.attach(1)
        let state = try peer.attached().state
        let spool = try hasEnded ? nil : CommandSpool(path: state.spool)
        let folder = UploadFolder(path: state.uploads, owner: 1)
        let (known, unknown) = (folder.newPath("known"), folder.newPath("unknown"))
        for path in [known, unknown] { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
        try peer.send(.create(1, body: known))
        #expect(try peer.next() == .committed(1))
        peer.close()
        if hasEnded {
            try await eventually { !FileManager.default.fileExists(atPath: unknown) }
        } else {
            let again = try service.attach(1, again: state.attachment)
            _ = try again.attached()
            // What the service does with files after the end of the first connection.
            service.awaitFiles(try #require(service.onLoop { $0.keeper }))
            #expect(FileManager.default.fileExists(atPath: unknown))
            again.close()
        }
        #expect(FileManager.default.fileExists(atPath: known))
        withExtendedLifetime(spool) {}
        service.stop()
    }

    // BG-6
    @Test("the spools of such objects are removed when the service starts") func orphans() async throws {
        let first = try service.attach(1)
        let spool = try first.attached().state.spool
        first.close()
        _ = try CommandSpool(path: spool)
        let other = spool + "0"
        _ = FileManager.default.createFile(atPath: other, contents: Data("spool".utf8))
        service.restart()
        try await eventually { !FileManager.default.fileExists(atPath: other) }
        #expect(FileManager.default.fileExists(atPath: spool))
        service.stop()
    }
}

/// The same while the disk is full.
@Suite(.leavesNothing) struct BackgroundOwnerDiskTests {
    // BG-6, BG-7: the object has the session, although the journal never learned it
    @Test(
        "an object that was attached while the disk was full", .enabled(if: SmallDisk.isAvailable, "no disk"),
        arguments: [false, true])
    func attachedOnAFullDisk(isLost: Bool) async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let first = try service.attach(1)
        _ = try first.attached()
        try first.send(.create(1))
        #expect(try first.next() == .committed(1))
        first.close()
        try disk.fill()
        let second = try service.attach(2)
        let two = try second.attached()
        #expect(two.tasks == [1])
        second.close()
        service.restart()
        try disk.empty()
        if isLost {
            let third = try service.attach(3)
            _ = try third.attached()
            third.close()
        }
        let again = try service.attach(2, again: two.state.attachment)
        if isLost {
            #expect(try again.next() == .refused(.sessionInUse))
        } else {
            #expect(try again.attached().state.spool == two.state.spool)
        }
        again.close()
        service.stop()
    }

    // BG-6: the program empties its spool then
    @Test("a commit is reported when the disk has room", .enabled(if: SmallDisk.isAvailable, "no disk"))
    func committedLater() async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let peer = try service.attach(1)
        _ = try peer.attached()
        try peer.send(.create(1))
        #expect(try peer.next() == .committed(1))
        try disk.fill()
        try peer.send(.create(2))
        // The end of the task that cannot be written.
        _ = try peer.notices { if case .ended(2, _) = $0 { true } else { false } }
        try disk.empty()
        #expect(try peer.next() == .committed(2))
        peer.close()
        service.stop()
    }

    // BG-5, BG-6: no program is attached that could get the error of the missing task
    @Test(
        "a task of a program that ends while the disk is full",
        .enabled(if: SmallDisk.isAvailable, "no disk"), arguments: [false, true])
    func createdOnAFullDisk(isSpooled: Bool) async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let first = try service.attach(1)
        let state = try first.attached().state
        try first.send(.create(1))
        #expect(try first.next() == .committed(1))
        if isSpooled { try CommandSpool(path: state.spool).append([EncodedCommand(.create(2))], from: 2) }
        try disk.fill()
        if !isSpooled {
            // The program is gone when the service reads what it has sent.
            service.loop.post { Thread.sleep(forTimeInterval: 0.1) }
            try first.send(.create(2))
        }
        first.close()
        let second = try service.attach(2)
        #expect(try second.attached().tasks == [1, 2])
        second.close()
        try disk.empty()
        try await eventually { (try? service.journalContents())?.transfers.map(\.description.task) == [1, 2] }
        service.stop()
    }

    // BG-6: the journal never learned that they were attached, and both were killed
    @Test(
        "commands of objects that were attached while the disk was full",
        .enabled(if: SmallDisk.isAvailable, "no disk"))
    func spooledOnAFullDisk() async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let first = try service.attach(1)
        let one = try first.attached().state
        try first.send(.create(1))
        #expect(try first.next() == .committed(1))
        first.close()
        try disk.fill()
        var spools = [one.spool]
        for owner in 2...3 as ClosedRange<UInt64> {
            let peer = try service.attach(owner)
            let state = try peer.attached().state
            #expect(state.commands == owner - 1)
            spools.append(state.spool)
            // There is room for its command only.
            try disk.empty()
            try CommandSpool(path: state.spool).append([EncodedCommand(.create(Int(owner)))], from: owner)
            try disk.fill()
            peer.close()
        }
        // What an object writes that has lost the session is not carried out.
        try disk.empty()
        try CommandSpool(path: spools[1]).append([EncodedCommand(.create(7))], from: 3)
        try disk.fill()
        // The last spool was read, so that the service does not write any more when it has stopped.
        try await eventually { (try? service.transfers.count) == 3 }
        service.restart()
        try disk.empty()
        let last = try service.attach(4)
        let found = try last.attached()
        #expect(found.tasks == [1, 2, 3])
        #expect(found.state.commands == 3 && found.state.attachment == one.attachment + 3)
        let old = spools
        try await eventually { !old.contains { FileManager.default.fileExists(atPath: $0) } }
        last.close()
        service.stop()
    }

    // BG-6: its record has the number of the last command, which the program may send again
    @Test(
        "a program that comes back to a session that is being removed",
        .enabled(if: SmallDisk.isAvailable, "no disk"))
    func usedWhileRemoved() async throws {
        let disk = try SmallDisk(size: 4_000_000)
        let now = Date().timeIntervalSince1970
        let service = try BackgroundServiceInProcess(in: disk.path) { path in
            let records = (1...1000).map { number in
                let description = SessionDescription(identifier: "s\(number)")
                var record = SessionRecord(application: "app", description: description)
                (record.lastUsed, record.commands) = (now - Double(number) * 600, 9)
                return record
            }
            try BackgroundServiceInProcess.writeJournal(records.map { .session($0) }, in: path)
        }
        /// A new session is refused, after everything that was read before.
        func awaitDetachment() throws {
            let peer = try service.attach(1, identifier: "refused")
            guard case .refused(.journal)? = try peer.next() else { throw BackgroundPeer.Unexpected() }
            peer.close()
        }
        // One too many: the oldest is removed when the disk has room.
        let new = try service.attach(1, identifier: "new")
        _ = try new.attached()
        try disk.fill()
        new.close()
        try awaitDetachment()
        let old = try service.attach(1, identifier: "s1000")
        #expect(try old.attached().state.commands == 9)
        old.close()
        try awaitDetachment()
        try disk.empty()
        try await eventually {
            let left = (try? service.journalContents())?.sessions.map(\.description.identifier) ?? []
            return left.contains("new") && !left.contains("s999")
        }
        #expect(try service.journalContents().sessions.contains { $0.description.identifier == "s1000" })
        service.stop()
    }
}
