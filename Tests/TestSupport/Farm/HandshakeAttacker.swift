internal import Foundation

/// A QUIC server that attacks during the handshake (`Tests/AioquicServer/handshake.py`).
package final class HandshakeAttacker: Sendable {
    private let server: AioquicScript

    /// Starts it on a port that must be free. Returns when it answers.
    package init(_ attack: String, _ authority: TestCertificateAuthority, at port: Int) throws {
        let program = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "AioquicServer/handshake.py")
        server = try AioquicScript(
            String(contentsOf: program, encoding: .utf8), authority, at: port, arguments: [attack])
    }

    /// Its log: a line for the client, one for the client's close, and one for the end of the attack.
    package var events: [String] { server.lines }

    /// Waits until the attack has ended, and returns the log.
    package func end(within deadline: Duration = .testDeadline) async throws -> [String] {
        try await eventually(within: deadline) { [self] in !Set(events).isDisjoint(with: ["over", "endless"]) }
        return events
    }

    package func stop() { server.process.end() }
}
