import Foundation
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// The events of an FTP connection.
@Suite struct FTPConnectionTests {
    private final class Listener: FTPConnectionObserver, @unchecked Sendable {
        // Sendable because what is mutable is touched on the loop only.
        var connection: FTPConnection?
        let ended = Signal("the end")
        private let isRead: [Signal]
        private var count = 0

        init(_ isRead: [Signal]) { self.isRead = isRead }

        func ftpIsActive() {
            if count < isRead.count { isRead[count].fire() }
            count += 1
        }
        func ftpEnded(_ error: LoadError?) { ended.fire() }
        var proxyAuthorizer: (any ProxyAuthorizer)? { nil }
        func ftpReceived(challenge question: ConnectionChallenge) -> Bool { false }
        func ftpContinues() {}
        func ftpRecorded(_ event: LoadEvent.Kind) {}
        func ftpFailedToConnect(_ failure: ConnectionFailure) {}
        func ftpBegins(_ transfer: FTPTransfer) {}
        func ftpReceived(_ data: Data) {}
        func ftpRefusedLogin(_ reply: FTPReply) {}
    }

    // C-6, CONN-15: the idle time runs anew
    @Test("each piece of a reply restarts the timeout") func pieces() async throws {
        let pieces = ["220-we", "lcome\r\n22", "0 here\r\n"]
        let isRead = pieces.map { Signal("'\($0)' is read") }
        let server = try ScriptedServer { connection in
            for (piece, signal) in zip(pieces, isRead) {
                try connection.send(piece)
                try connection.wait(for: signal)
            }
        }
        defer { server.stop() }
        let url = try FTPURL("ftp://127.0.0.1:\(server.port)/a")
        let listener = Listener(isRead)
        let connectionPool = PoolOnLoop(to: server.port)
        await connectionPool.onLoop { pool in
            let connection = FTPConnection(
                to: url, FTPRequest(directories: [], name: Array("a".utf8), form: .file), as: .anonymous,
                service: .ordinary, by: pool, through: nil, observer: listener)
            listener.connection = connection
            connection.start()
        }
        for signal in isRead { try await signal.wait() }
        try await listener.ended.wait()
        await connectionPool.onLoop { _ in listener.connection = nil }
        await connectionPool.close()
    }
}
