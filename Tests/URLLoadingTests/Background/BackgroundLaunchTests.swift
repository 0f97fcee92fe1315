import Foundation
import LoadingPipeline
import TestSupport
import Testing

@testable import BackgroundTransfers

/// When the service launches a program that has ended.
@Suite(.leavesNothing) struct BackgroundLaunchTests {
    // BG-11, BG-17: the delegate decides about a delayed request; an administrator pauses the last task at work
    @Test(
        "a task that goes on without its program, until it needs it or is the only one that is not done",
        arguments: [TransferMachine.Input.setEarliestBegin(1), .pause])
    func launch(_ input: TransferMachine.Input) async throws {
        let service = try BackgroundServiceInProcess()
        let launched = service.folder.file("launched")
        let peer = try service.attach(1, launch: .command(["/bin/touch", launched.path]))
        _ = try peer.attached()
        var request = TransferRequest(url: "http://localhost:1/", folder: "")
        request.earliestBegin = Date().timeIntervalSince1970 + 3600
        var description = TransferDescription(task: 2, kind: .download, request: request)
        description.asksWhenDue = true
        try peer.send(.create(1), .cancel(task: 1), .create(description), .resume(task: 2))
        _ = try peer.notices { if case .ended(1, _) = $0 { true } else { false } }
        peer.close()
        let task = TransferReference(application: "app", session: "test", task: 2)
        // The service has noticed the end, and has read what the program may have left in its spool.
        try await eventually {
            service.onLoop { service in
                service.transfer(task).map { $0.session.owner == nil && $0.session.spoolReads == 0 } ?? false
            } == true
        }
        #expect(!FileManager.default.fileExists(atPath: launched.path))
        _ = service.onLoop { $0.transfer(task)?.handle(input) }
        try await eventually { FileManager.default.fileExists(atPath: launched.path) }
        service.stop()
    }

    // BG-11: what was delivered to the program is in its spool when the service notices that it has ended
    @Test("an end that the program has acknowledged at last") func acknowledgedInTheSpool() async throws {
        let service = try BackgroundServiceInProcess()
        let launched = service.folder.file("launched")
        let peer = try service.attach(1, launch: .command(["/bin/touch", launched.path]))
        let spool = try peer.attached().state.spool
        try peer.send(.create(1), .cancel(task: 1), .create(2), .cancel(task: 2))
        _ = try peer.notices { if case .ended(2, _) = $0 { true } else { false } }
        // The first command is done while the program has another end to take.
        try CommandSpool(path: spool).append(
            [EncodedCommand(.acknowledge(task: 1, .end)), EncodedCommand(.acknowledge(task: 2, .end))], from: 5)
        peer.close()
        try await eventually { (try? service.journalContents().sessions.first?.commands) == 6 }
        let launches = service.onLoop { service in
            service.session("app", SessionDescription(identifier: "test")).launch.launches
        }
        #expect(launches == 0)
        service.stop()
    }

    // BG-11, BG-17: what the program has answered is in its spool when another service starts
    @Test("a delayed request whose answer the journal does not have") func answered() async throws {
        let service = try BackgroundServiceInProcess { path in
            var session = SessionRecord(application: "app", description: SessionDescription(identifier: "test"))
            session.description.launch = .command(["/bin/touch", path + "/launched"])
            (session.description.owner, session.attachment, session.nextIdentifier) = (1, 1, 2)
            var request = TransferRequest(url: "http://localhost:1/", folder: path + "/files")
            request.earliestBegin = 1
            var description = TransferDescription(task: 1, kind: .download, request: request)
            description.asksWhenDue = true
            var transfer = TransferRecord(application: "app", session: "test", description: description)
            (transfer.isSuspended, transfer.started) = (false, Date().timeIntervalSince1970)
            try BackgroundServiceInProcess.writeJournal([.session(session), .transfer(transfer)], in: path)
            let folders = ServiceFolders(files: path + "/files", uploads: path + "/uploads", spool: path + "/spool")
            let spool = folders.spool(of: session)
            try FileManager.default.createDirectory(
                atPath: (spool as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try CommandSpool(path: spool).append(
                [EncodedCommand(.begin(task: 1, nil)), EncodedCommand(.suspend(task: 1))], from: 1)
        }
        try await eventually { (try? service.journalContents().sessions.first?.commands) == 2 }
        let launch = service.onLoop { service in
            service.transfer(TransferReference(application: "app", session: "test", task: 1))?.session.launch.launches
        }
        #expect(launch == .some(.some(0)))
        service.stop()
    }
}
