import Foundation
import LoadingPipeline
import LoadingStorage
import TestSupport
import Testing

@testable import BackgroundTransfers

/// A disk that does not take what it was given of a download. The kernel reports it once: later the file can be
/// synchronized, and is not what the server has sent.
@Suite(.leavesNothing) struct BackgroundLostPartTests {
    private static let task = TransferReference(application: "app", session: "test", task: 1)

    /// The path of the part, when the service has noted it.
    private static func part(of service: BackgroundServiceInProcess) async throws -> String {
        let path = Watched<String?>(nil)
        try await eventually {
            let found = service.onLoop { service -> String? in
                guard case .download(let part)? = service.transfer(task)?.record.resumption else { return nil }
                return part.path
            }
            path.withValue { $0 = found ?? nil }
            return path.current != nil
        }
        return try #require(path.current)
    }

    // BG-5, BG-18: neither a file nor a part to go on with
    @Test("a part that the disk has not taken", arguments: [false, true]) func lostPart(isComplete: Bool) async throws {
        let mayGoOn = Signal("the rest")
        let server = try ScriptedServer { connection in
            guard try connection.nextRequest() != nil else { return }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"v1\"\r\n\r\n01234")
            try connection.wait(for: mayGoOn)
            try? connection.send("56789")
        }
        defer { server.stop() }
        let service = try BackgroundServiceInProcess()
        let peer = try service.attach(1)
        _ = try peer.attached()
        let request = TransferRequest(url: server.url().absoluteString, folder: "")
        try peer.send(
            .create(TransferDescription(task: 1, kind: .download, request: request)), .resume(task: 1))
        let path = try await Self.part(of: service)
        let keeper = try #require(service.onLoop { $0.keeper })
        let isFree = Signal("the disk is free")
        if isComplete {
            keeper.run { try? isFree.wait() }
            mayGoOn.fire()
            try await eventually {
                service.onLoop { service in
                    service.transfer(Self.task).map { $0.machine.phase == .ended && !$0.hasLoad } ?? false
                } == true
            }
        }
        let failure = StorageFailure(.write, path, .system(EIO))
        _ = service.onLoop { $0.transfer(Self.task)?.synced(.failure(failure), of: path) }
        isFree.fire()
        var end: TransferEnd?
        _ = try peer.notices { notice in
            if case .ended(1, let found) = notice { end = found }
            return end != nil
        }
        #expect(end?.outcome == .failed(TransferFailure(code: -3003, reason: "\(failure)"), nil))
        try await eventually { service.files(in: "files").isEmpty }
        peer.close()
        mayGoOn.fire()
        service.stop()
    }
}
