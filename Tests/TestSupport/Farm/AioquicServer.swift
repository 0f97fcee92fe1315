package import Foundation

/// The HTTP/3 server `Tests/AioquicServer/server.py`, on aioquic.
package final class AioquicServer: FarmServer {
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    private static let program = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "AioquicServer/server.py")

    /// Starts it, and returns when it answers.
    ///
    /// - Parameter idleTimeout: In seconds.
    package init(files: [String: [UInt8]], authority: TestCertificateAuthority, idleTimeout: Double = 60) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        for (name, bytes) in files { try directory.write(bytes, to: "files/\(name)") }
        self.directory = directory
        self.certificates = certificates
        process = try ServingProcess(
            try ServerFarm.Part.aioquic.requireExecutable(), over: .udp, output: directory.file("output")
        ) { port in
            [
                // No `.pyc` files beside the program.
                "-B", Self.program.path, "--port", "\(port)", "--certificate", certificates.chain.path,
                "--key", certificates.privateKey.path, "--files", directory.file("files").path, "--idle-timeout",
                "\(idleTimeout)",
            ]
        }
    }

    package func stop() { process.end() }
    package func restart(_ ending: ServerEnding) throws { try process.restart(ending) }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(process.port)\(path)") ?? URL(fileURLWithPath: path)
    }
}
