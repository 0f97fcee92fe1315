import BackgroundTransfers
import Foundation
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// Background transfers and a network that goes away. scripts/network-away does the same for a minute.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .timeLimit(.minutes(1))) struct BackgroundNetworkTests {
    private static let whole = [UInt8].pattern(count: 200_000)
    private static let half = 100_000

    /// Sends the half, and the rest on request.
    private static func serve(_ connection: ServerConnection) throws {
        while let request = try connection.nextRequest() {
            let fields = "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"
            if request["Range"] == "bytes=\(half)-" {
                try connection.send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: \(whole.count - half)\r\n"
                        + "Content-Range: bytes \(half)-\(whole.count - 1)/\(whole.count)\r\n\(fields)\r\n")
                try connection.send(Array(whole[half...]))
            } else {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(whole.count)\r\n\(fields)\r\n")
                try connection.send(Array(whole[..<half]))
                _ = try? connection.waitForClose()
                return
            }
        }
    }

    // BG-8, BG-19: a change of the routes does not bring back a machine that is switched off
    @Test("servers that cannot be reached are tried again, and leave their places to others")
    func unreachableServers() async throws {
        let far = try RemoteNetwork()
        let server = try far.perform {
            try ScriptedServer(.everywhere) { connection in
                while try connection.nextRequest() != nil {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                }
            }
        }
        defer { server.stop() }
        // EHOSTUNREACH, as from a router, or from a machine of the same network that does not answer.
        try NetworkNamespace.ip("route", "add", "unreachable", "198.51.100.0/24")
        defer { try? NetworkNamespace.ip("route", "del", "unreachable", "198.51.100.0/24") }
        let service = try BackgroundServiceInProcess()
        let delegate = BackgroundDelegate()
        let session = URLSession(configuration: service.configuration(), delegate: delegate, delegateQueue: nil)
        let unreachable = try #require(URL(string: "http://198.51.100.1/"))
        // More than run at once.
        for _ in 1...5 { session.downloadTask(with: unreachable).resume() }
        session.downloadTask(with: server.url("/", host: RemoteNetwork.address)).resume()
        _ = try await delegate.calls.waitUntil("the end of the other one") { $0.contains(.completed(6, nil)) }
        try await eventually {
            let waiting = try? service.transfers.filter { transfer in
                if case .retrying(at: _, code: -1004) = transfer.status { true } else { false }
            }
            return waiting?.count == 5
        }
        #expect(delegate.calls.events.filter { $0.isCompletion } == [.completed(6, nil)])
        session.invalidateAndCancel()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        service.stop()
    }

    // BG-8, S-95, C-13: no error, and nothing has to be done
    @Test("the network goes away, and is back with another address") func anotherAddress() async throws {
        let far = try RemoteNetwork()
        let server = try far.perform { try ScriptedServer(.everywhere) { try Self.serve($0) } }
        defer { server.stop() }
        let service = try BackgroundServiceInProcess()
        let delegate = BackgroundDelegate()
        let session = URLSession(configuration: service.configuration(), delegate: delegate, delegateQueue: nil)
        let task = session.downloadTask(with: server.url("/file", host: RemoteNetwork.address))
        task.resume()
        _ = try await delegate.calls.waitUntil("the first half") { $0.contains(.wrote(1, 100_000, 200_000)) }
        try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
        try NetworkNamespace.ip("link", "set", "near", "down")
        // A transfer that begins while there is no network.
        session.downloadTask(with: server.url("/other", host: RemoteNetwork.address)).resume()
        try await eventually {
            guard let transfers = try? service.transfers, transfers.count == 2 else { return false }
            return transfers.allSatisfy { transfer in
                switch transfer.status {
                case .waitingForNetwork: true
                default: false
                }
            }
        }
        #expect(delegate.calls.events.allSatisfy { !$0.isCompletion })
        #expect(task.state == .running)
        try NetworkNamespace.ip("link", "set", "near", "up")
        try NetworkNamespace.ip("address", "add", "10.0.0.77/24", "dev", "near")
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains(.completed(1, nil)) }
        #expect(delegate.contents.events == [Data(Self.whole)])
        session.invalidateAndCancel()
        let calls = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        #expect(calls.filter { $0.isCompletion } == [.completed(1, nil), .completed(2, .cancelled)])
        #expect(calls.filter { $0.kind == "downloaded" } == [.downloaded(1, 200_000)])
        service.stop()
    }
}
