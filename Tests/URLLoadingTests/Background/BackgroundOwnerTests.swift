import BackgroundTransfers
import Foundation
import Glibc
import LoadingPipeline
import TestSupport
import Testing
import URLLoading

/// Session objects of several processes that own one session after another, message by message.
@Suite(.leavesNothing) struct BackgroundOwnerTests {
    private let service: BackgroundServiceInProcess

    init() throws { service = try BackgroundServiceInProcess() }

    private func attach(_ owner: UInt64, isAgain: Bool = false) throws -> BackgroundPeer {
        let peer = BackgroundPeer(try service.connect().get())
        var description = SessionDescription(identifier: "test")
        description.owner = owner
        try peer.send(.hello(ServiceHello(application: "app")), .attach(description, isAgain: isAgain))
        guard case .welcome? = try peer.next() else { throw BackgroundPeer.Unexpected() }
        return peer
    }

    private func attached(_ peer: BackgroundPeer) throws -> (state: SessionState, tasks: [Int]) {
        guard case .attached(let state)? = try peer.next() else { throw BackgroundPeer.Unexpected() }
        var tasks: [Int] = []
        while let notice = try peer.next() {
            switch notice {
            case .task(let state): tasks.append(state.description.task)
            case .replayed: return (state, tasks)
            default: break
            }
        }
        throw BackgroundPeer.Unexpected()
    }

    private func create(_ task: Int) -> ServiceCommand {
        .create(
            TransferDescription(
                task: task, kind: .download, request: TransferRequest(url: "http://localhost/", folder: "")))
    }

    // BG-6, BG-7: each object has a spool of its own
    @Test("what an object writes after another one has attached is not carried out") func lateCommands() async throws {
        let first = try attach(1)
        let one = try attached(first).state
        #expect(one.nextIdentifier == 1 && one.commands == 0)
        let late = try CommandSpool(path: one.spool)
        try late.append([EncodedCommand(create(1)), EncodedCommand(create(2))], from: 1)
        first.close()
        // Before that: its commands are carried out, although it has not sent them.
        let second = try attach(2)
        let two = try attached(second)
        #expect(two.tasks == [1, 2])
        #expect(two.state.nextIdentifier == 3 && two.state.commands == 2)
        #expect(two.state.spool != one.spool)
        try await eventually { !FileManager.default.fileExists(atPath: one.spool) }
        // After that: they have the numbers of those of the other one.
        try late.append([EncodedCommand(.cancel(task: 1)), EncodedCommand(create(3))], from: 3)
        try CommandSpool(path: two.state.spool).append([EncodedCommand(.suspend(task: 2))], from: 3)
        second.close()
        let third = try attach(3)
        let three = try attached(third)
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
        let first = try attach(1)
        _ = try attached(first)
        first.close()
        if isLost {
            let second = try attach(2)
            _ = try attached(second)
            second.close()
        }
        service.restart()
        let again = try attach(1, isAgain: true)
        if isLost {
            #expect(try again.next() == .refused(.sessionInUse))
        } else {
            _ = try attached(again)
        }
        again.close()
        // A new object of any process is welcome.
        let new = try attach(4)
        _ = try attached(new)
        new.close()
        service.stop()
    }

    // BG-6
    @Test("the spools of such objects are removed when the service starts") func orphans() async throws {
        let first = try attach(1)
        let spool = try attached(first).state.spool
        first.close()
        _ = try CommandSpool(path: spool)
        let other = spool + "0"
        FileManager.default.createFile(atPath: other, contents: Data("spool".utf8))
        service.restart()
        try await eventually { !FileManager.default.fileExists(atPath: other) }
        #expect(FileManager.default.fileExists(atPath: spool))
        service.stop()
    }
}
