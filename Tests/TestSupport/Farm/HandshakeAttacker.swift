internal import Foundation

/// A server of QUIC that attacks whoever says hello to it, as `Tests/AioquicServer/handshake.py` says.
package final class HandshakeAttacker: Sendable {
    private let server: AioquicScript

    /// Starts it at a port that has to be free, and returns when it answers.
    package init(_ attack: String, _ authority: TestCertificateAuthority, at port: Int) throws {
        let program = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "AioquicServer/handshake.py")
        server = try AioquicScript(
            String(contentsOf: program, encoding: .utf8), authority, at: port, told: [attack])
    }

    /// What it has said: a line for the client, for what that said of the end, and for how the attack ended.
    package var events: [String] { server.lines }

    /// Waits until the attack is over, and gives what it has said.
    package func end(within deadline: Duration = .testDeadline) async throws -> [String] {
        try await eventually(within: deadline) { [self] in !Set(events).isDisjoint(with: ["over", "endless"]) }
        return events
    }

    package func stop() { server.process.end() }
}
