package import Foundation

/// nghttpx, a reverse proxy with HTTP/2 and HTTP/1.1 over TLS, in front of a cleartext HTTP/1.1 server.
package final class NghttpxServer: FarmServer {
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts nghttpx. Returns when it accepts connections.
    package init(before backend: Int, authority: TestCertificateAuthority, offersHTTP2: Bool = true) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        self.directory = directory
        self.certificates = certificates
        process = try ServingProcess(
            try ServerFarm.Part.nghttpx.requireExecutable(), output: directory.file("output")
        ) { port in
            [
                "--conf=/dev/null", "--workers=1", "--backend=127.0.0.1,\(backend)", "--frontend=127.0.0.1,\(port)",
                "--npn-list=\(offersHTTP2 ? "h2,http/1.1" : "http/1.1")",
                certificates.privateKey.path, certificates.chain.path,
            ]
        }
    }

    package func stop() { process.end() }
    package func restart(_ ending: ServerEnding) throws { try process.restart(ending) }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(process.port)\(path)") ?? URL(fileURLWithPath: path)
    }
}
