package import Foundation

/// ngtcp2's HTTP/3 server on GnuTLS: serves files for GET, and returns the length of a POST body.
package final class GtlsServer: FarmServer {
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts it, optionally on a given port. Returns when it answers.
    ///
    /// - Parameters:
    ///   - isEverywhere: Whether it listens on all addresses, for network namespaces.
    package init(
        files: [String: [UInt8]] = [:], authority: TestCertificateAuthority, profile: CertificateProfile = .localhost,
        isEverywhere: Bool = false, options: [String] = [], environment: [String: String] = [:],
        port wanted: Int? = nil
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
            environment: environment, output: directory.file("output")
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

    /// Kills it, like a power failure.
    package func kill() { process.end(.abrupt) }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }
}
