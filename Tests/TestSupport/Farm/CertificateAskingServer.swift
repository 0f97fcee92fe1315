internal import Foundation

/// Caddy with required client certificates over QUIC and TCP. Its responses contain the subject over TCP only.
package final class CertificateAskingServer: Sendable {
    package var port: Int { process.port }
    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// - Parameter clients: The authority of accepted client certificates.
    package init(_ authority: TestCertificateAuthority, clients: TestCertificateAuthority) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        let root = try directory.write(clients.root.pem, to: "clients.pem")
        self.directory = directory
        process = try ServingProcess(
            try ServerFarm.Part.caddy.requireExecutable(), environment: ["HOME": directory.path],
            output: directory.file("output")
        ) { port in
            // Its HTTP/3 does not get the SNI name.
            let file = try directory.write(
                """
                {
                    admin off
                    auto_https off
                    storage file_system \(directory.file("storage").path)
                    servers {
                        strict_sni_host insecure_off
                    }
                }
                https://localhost:\(port) {
                    tls \(certificates.chain.path) \(certificates.privateKey.path) {
                        client_auth {
                            mode require_and_verify
                            trusted_ca_cert_file \(root.path)
                        }
                    }
                    respond "{http.request.tls.client.subject}"
                }
                """, to: "Caddyfile")
            return ["run", "--config", file.path, "--adapter", "caddyfile"]
        }
    }

    package func stop() { process.end() }
}
