internal import Foundation

/// An HTTP/3 server that attacks its clients (`Tests/AioquicServer/hostile.py`). The path of a request selects the
/// attack.
package final class HostileServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it. Returns when it answers.
    package init(_ authority: TestCertificateAuthority) throws {
        let program = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "AioquicServer/hostile.py")
        server = try AioquicScript(String(contentsOf: program, encoding: .utf8), authority)
    }

    /// Its log: a line for each handshake, and one for the end of each connection.
    package var events: [String] { server.lines }

    /// Waits for a log line with this prefix, and returns the rest of the line.
    package func wait(for beginning: String, within deadline: Duration = .testDeadline) async throws -> String {
        try await eventually(within: deadline) { [self] in events.contains { $0.hasPrefix(beginning) } }
        let last = events.last { $0.hasPrefix(beginning) } ?? beginning
        return String(last.dropFirst(beginning.count))
    }

    package func stop() { server.process.end() }
}
