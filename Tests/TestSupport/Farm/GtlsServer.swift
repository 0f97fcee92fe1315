package import Foundation

/// The server of ngtcp2's own, which speaks HTTP/3 over GnuTLS: files by GET, and a count of what was posted to it.
package final class GtlsServer: FarmServer {
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts it, at a port if one is wanted, and returns when it answers.
    ///
    /// - Parameters:
    ///   - isEverywhere: Whether it listens at all addresses, for a network of the test's own.
    package init(
        files: [String: [UInt8]] = [:], authority: TestCertificateAuthority, profile: CertificateProfile = .localhost,
        isEverywhere: Bool = false, options: [String] = [], port wanted: Int? = nil
    ) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(profile), of: authority)
        for (name, bytes) in files { try directory.write(bytes, to: "htdocs/\(name)") }
        try directory.write("", to: "htdocs/.there")
        self.directory = directory
        self.certificates = certificates
        let address = isEverywhere ? "*" : "127.0.0.1"
        process = try ServingProcess(
            try ServerFarm.Part.gtlsserver.requireExecutable(), over: .udp, at: wanted,
            output: directory.file("output")
        ) { port in
            options + [
                "--quiet", "--htdocs=\(directory.file("htdocs").path)", address, "\(port)",
                certificates.privateKey.path, certificates.chain.path,
            ]
        }
    }

    package var port: Int { process.port }
    package func stop() { process.end() }
    package func restart(_ ending: ServerEnding) throws { try process.restart(ending) }

    /// Ends it as a loss of power does.
    package func kill() { process.end(.abrupt) }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }
}
