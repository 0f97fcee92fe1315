import Foundation
import LoadingPipeline
import TestSupport
import Testing

@testable import BackgroundTransfers

/// A service that stops while its thread for files is busy: the next process continues, with the files and the journal
/// as they are.
@Suite(.leavesNothing) struct BackgroundStopTests {
    // BG-5
    @Test("a complete file that is being synchronized") func completeFile() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let service = try BackgroundServiceInProcess()
        let peer = try service.attach(1)
        _ = try peer.attached()
        let keeper = try #require(service.onLoop { $0.keeper })
        let isFree = Signal("the disk is free")
        keeper.run { try? isFree.wait() }
        let request = TransferRequest(url: server.url().absoluteString, folder: "")
        try peer.send(
            .create(TransferDescription(task: 1, kind: .download, request: request)), .resume(task: 1))
        try await eventually {
            service.onLoop { service in
                let transfer = service.transfer(TransferReference(application: "app", session: "test", task: 1))
                return transfer.map { $0.machine.phase == .ended && !$0.hasLoad } ?? false
            } == true
        }
        peer.close()
        service.stop()
        isFree.fire()
        service.awaitFiles(keeper)
        #expect(service.files(in: "files").count == 1)
        #expect(try service.journalContents().transfers.map(\.end) == [nil])
    }

    // BG-6: the next process carries its commands out
    @Test("a spool that is being read") func spool() async throws {
        let service = try BackgroundServiceInProcess()
        let peer = try service.attach(1)
        let state = try peer.attached().state
        try CommandSpool(path: state.spool).append([EncodedCommand(.create(1))], from: 1)
        let keeper = try #require(service.onLoop { $0.keeper })
        let isFree = Signal("the disk is free")
        keeper.run { try? isFree.wait() }
        peer.close()
        try await eventually {
            service.onLoop { $0.session("app", SessionDescription(identifier: "test")).spoolReads == 1 } == true
        }
        service.stop()
        isFree.fire()
        service.awaitFiles(keeper)
        // Waits for the loop and the journal.
        service.stop()
        #expect(try service.journalContents().transfers == [])
        service.restart()
        let next = try service.attach(2)
        #expect(try next.attached().tasks == [1])
        next.close()
        service.stop()
    }
}
