internal import Foundation

/// A Python program on aioquic that serves HTTP/3 on a UDP port and logs a line for each event.
final class AioquicScript: Sendable {
    let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts it with its port, key and certificate files, and further arguments. Returns when it answers.
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
