import Foundation
import LoadingTransport
import TestSupport
import Testing

@testable import BackgroundTransfers
@testable import LoadingPipeline

/// A disk that takes long to synchronize the body of an upload.
@Suite(.leavesNothing) struct BackgroundSlowDiskTests {
    // BG-2, BG-6: the changes of one session wait, and are all written then
    @Test("a large body does not hold up other sessions") func largeBody() throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let uploading = try service.attach(1, identifier: "uploading")
        _ = try uploading.attached()
        let mayGoOn = disk.hold()
        defer { mayGoOn.signal() }
        try uploading.send(.create(1, body: large), .create(2))

        let other = try service.attach(2, identifier: "other")
        _ = try other.attached()
        try other.send(.create(1))
        _ = try other.notices { $0 == .committed(1) }
        func names() throws -> [String] {
            try service.journalContents().transfers.map { "\($0.session) \($0.description.task)" }
        }
        #expect(try names() == ["other 1"])

        mayGoOn.signal()
        _ = try uploading.notices { $0 == .committed(2) }
        #expect(try names() == ["other 1", "uploading 1", "uploading 2"])
        uploading.close()
        other.close()
        service.stop()
    }

    // BG-2, BG-6: a program that writes bodies faster than the disk has its commands in the journal one body at a time
    @Test("large bodies one after the other") func manyLargeBodies() async throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let peer = try service.attach(1)
        _ = try peer.attached()
        let first = disk.hold()
        defer { first.signal() }
        try peer.send(.create(1, body: large))
        try await eventually { (try? service.transfers.count) == 1 }
        let second = disk.hold()
        defer { second.signal() }
        try peer.send(.create(2, body: large), .create(3), .setTaskDescription(task: 3, "third"))
        func journal() throws -> [Int] { try service.journalContents().transfers.map(\.description.task) }
        #expect(try journal() == [])

        first.signal()
        _ = try peer.notices { $0 == .committed(1) }
        #expect(try journal() == [1])
        second.signal()
        _ = try peer.notices { $0 == .committed(4) }
        let transfers = try service.journalContents().transfers
        #expect(transfers.map(\.description.task) == [1, 2, 3])
        #expect(transfers.last?.description.request.taskDescription == "third")
        peer.close()
        service.stop()
    }

    // BG-6: commands that wait for the disk are carried out although their program ends and its spool has nothing
    @Test("a program that ends while its commands wait") func programEnds() async throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let peer = try service.attach(1)
        _ = try peer.attached()
        let mayGoOn = disk.hold()
        defer { mayGoOn.signal() }
        try peer.send(.create(1, body: large), .create(2, body: large), .create(3))
        try await eventually { (try? service.transfers.count) == 1 }
        peer.close()
        try await eventually { (try? service.transfers.count) == 3 }
        #expect(try service.journalContents().transfers.isEmpty)
        mayGoOn.signal()
        try await eventually { (try? service.journalContents().transfers.map(\.description.task)) == [1, 2, 3] }
        service.stop()
    }

    // BG-6: the number of commands that wait is bounded
    @Test("many commands while the disk is busy") func manyCommands() async throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let peer = try service.attach(1)
        _ = try peer.attached()
        let mayGoOn = disk.hold()
        defer { mayGoOn.signal() }
        let first: [ServiceCommand] = [.create(1, body: large), .create(2, body: large), .create(3)]
        try peer.send(first + (1...998).map { .setTaskDescription(task: 3, "\($0)") })
        let third = TransferReference(application: "app", session: "test", task: 3)
        try await eventually { service.onLoop { $0.transfer(third) != nil } == true }
        try peer.send(.setTaskDescription(task: 3, "last"))
        #expect(try service.journalContents().transfers.isEmpty)

        mayGoOn.signal()
        _ = try peer.notices { $0 == .committed(1002) }
        let transfers = try service.journalContents().transfers
        #expect(transfers.map(\.description.task) == [1, 2, 3])
        #expect(transfers.last?.description.request.taskDescription == "last")
        peer.close()
        service.stop()
    }

    // BG-21: a service that has nothing to do ends, also if its last change had to wait
    @Test("nothing to do when the body is on the disk") func becomesIdle() async throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let peer = try service.attach(1)
        _ = try peer.attached()
        let keeper = try #require(service.onLoop { $0.keeper })
        let mayGoOn = disk.hold()
        defer { mayGoOn.signal() }
        let upload = TransferReference(application: "app", session: "test", task: 1)
        try peer.send(.create(1, body: large))
        peer.close()
        // Without another client, whose end would let the service look again.
        try await eventually {
            service.onLoop { $0.transfer(upload).map { $0.session.owner == nil && $0.session.spoolReads == 0 } } == true
        }
        service.awaitFiles(keeper)
        try await eventually { service.onLoop { $0.commits.isAtWork } == false }
        let before = service.timesIdle.current
        #expect(service.onLoop { $0.isIdle } == false)

        mayGoOn.signal()
        try await service.timesIdle.wait(for: "a service that has nothing to do") { $0 > before ? true : nil }
        #expect(try service.journalContents().transfers.map(\.description.task) == [1])
        service.stop()
    }

    // BG-2: the kernel reports only once that a file could not be written
    @Test("a body that cannot be synchronized") func unwritableBody() async throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let peer = try service.attach(1)
        _ = try peer.attached()
        let mayGoOn = disk.hold()
        defer { mayGoOn.signal() }
        try peer.send(.create(1, body: large), .create(2))
        try await eventually { (try? service.transfers.count) == 2 }
        // The journal finds the file again.
        try FileManager.default.moveItem(atPath: large, toPath: large + "+")
        let (isRestored, loopMayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        service.loop.post { loopMayGoOn.wait() }
        mayGoOn.signal()
        disk.bodies.run {
            rename(large + "+", large)
            isRestored.signal()
        }
        isRestored.wait()
        loopMayGoOn.signal()

        let notices = try peer.notices { if case .ended(1, _) = $0 { true } else { false } }
        guard case .ended(_, let end)? = notices.last else { throw BackgroundPeer.Unexpected() }
        #expect(end.outcome.code == -3003)
        #expect(try service.journalContents().transfers.map { $0.end?.outcome.code } == [-3003, nil])
        peer.close()
        service.stop()
    }

    // BG-6: what could not be written is tried again after a while, and not all the time
    @Test("a full disk meanwhile", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func fullDisk() async throws {
        let disk = try SmallDisk(size: 400_000)
        let service = try BackgroundServiceInProcess(in: disk.path)
        let (waiting, other) = (
            try service.attach(1, identifier: "waiting"), try service.attach(2, identifier: "other")
        )
        _ = try waiting.attached()
        _ = try other.attached()
        let held = SessionReference(application: "app", session: "waiting")
        _ = service.onLoop { $0.commits.hold(held) }
        try waiting.send(.create(1), .list)
        _ = try waiting.notices { $0 == .listed }
        try disk.fill()
        try other.send(.create(1))
        let notices = try other.notices { if case .ended(1, _) = $0 { true } else { false } }
        guard case .ended(_, let end)? = notices.last else { throw BackgroundPeer.Unexpected() }
        #expect(end.outcome.code == -3003)
        try await eventually { service.onLoop { $0.commits.isAtWork } == false }
        try disk.empty()
        _ = service.onLoop { $0.commits.release(held) }
        _ = try waiting.notices { $0 == .committed(1) }
        #expect(Set(try service.journalContents().transfers.map(\.session)) == ["other", "waiting"])
        waiting.close()
        other.close()
        service.stop()
    }

    // BG-5: a service that ends has not promised what waits, and does not wait for the disk
    @Test("a service that ends meanwhile") func end() async throws {
        let disk = try BusyDisk()
        let (service, large) = (disk.service, disk.large)
        let peer = try service.attach(1)
        let state = try peer.attached().state
        let mayGoOn = disk.hold()
        try CommandSpool(path: state.spool).append([EncodedCommand(.create(1, body: large))], from: 1)
        try peer.send(.create(1, body: large))
        try await eventually { service.onLoop { $0.isIdle } == false && (try? service.transfers.count) == 1 }
        service.stop()
        #expect(try service.journalContents().transfers.isEmpty)
        mayGoOn.signal()
        service.restart()
        try await eventually { (try? service.journalContents().transfers.map(\.description.task)) == [1] }
        service.stop()
    }
}

/// A service in whose folder lies the body of an upload that is synchronized apart, and what synchronizes it.
private struct BusyDisk {
    let service: BackgroundServiceInProcess
    let large: String
    let bodies: FileKeeper

    init() throws {
        service = try BackgroundServiceInProcess()
        // A service that starts removes files of which it knows nothing.
        let first = try service.attach(100, identifier: "first")
        _ = try first.attached()
        first.close()
        large = service.path + "/uploads/large"
        try Data(count: 9 << 20).write(to: URL(fileURLWithPath: large))
        bodies = try #require(service.onLoop { $0.bodies })
    }

    /// Synchronizes nothing from now on until the result is signalled.
    func hold() -> DispatchSemaphore {
        let mayGoOn = DispatchSemaphore(value: 0)
        bodies.run { mayGoOn.wait() }
        return mayGoOn
    }
}
