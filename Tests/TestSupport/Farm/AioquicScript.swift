internal import Foundation

/// A program in Python, over aioquic, that serves HTTP/3 at one UDP port and tells what it does, a line each.
final class AioquicScript: Sendable {
    let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts it, with its port, the files of its key and of its certificates, and what else it is told; and returns when it
    /// answers.
    init(
        _ script: String, _ authority: TestCertificateAuthority, profile: CertificateProfile = .localhost,
        at port: Int? = nil, told arguments: [String] = []
    ) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(profile), of: authority)
        let script = try directory.write(script, to: "server.py")
        self.directory = directory
        process = try ServingProcess(
            try ServerFarm.Part.aioquic.requireExecutable(), over: .udp, at: port, output: directory.file("output")
        ) { port in
            [script.path, "\(port)", certificates.privateKey.path, certificates.chain.path] + arguments
        }
    }

    var lines: [String] { process.lines }
}
