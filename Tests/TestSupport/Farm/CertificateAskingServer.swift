internal import Foundation

/// Caddy, which asks over QUIC and TCP for a certificate, and takes no request without. Whose it is it says over TCP only.
package final class CertificateAskingServer: Sendable {
    package var port: Int { process.port }
    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// - Parameter clients: Whose certificates it takes.
    package init(_ authority: TestCertificateAuthority, clients: TestCertificateAuthority) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        let root = try directory.write(clients.root.pem, to: "clients.pem")
        self.directory = directory
        process = try ServingProcess(
            try ServerFarm.Part.caddy.requireExecutable(), environment: ["HOME": directory.path],
            output: directory.file("output")
        ) { port in
            // Its HTTP/3 does not see the name that a client asks for in the handshake.
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
