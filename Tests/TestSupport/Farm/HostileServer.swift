internal import Foundation

/// A server of HTTP/3 that attacks who asks it, as `Tests/AioquicServer/hostile.py` says; the path of a request names the attack.
package final class HostileServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it, and returns when it answers.
    package init(_ authority: TestCertificateAuthority) throws {
        let program = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "AioquicServer/hostile.py")
        server = try AioquicScript(String(contentsOf: program, encoding: .utf8), authority)
    }

    /// What it has said: a line for each handshake, and one for the end of each connection.
    package var events: [String] { server.lines }

    /// Waits until it has said something that begins so, and gives the rest.
    package func wait(for beginning: String, within deadline: Duration = .testDeadline) async throws -> String {
        try await eventually(within: deadline) { [self] in events.contains { $0.hasPrefix(beginning) } }
        let last = events.last { $0.hasPrefix(beginning) } ?? beginning
        return String(last.dropFirst(beginning.count))
    }

    package func stop() { server.process.end() }
}
