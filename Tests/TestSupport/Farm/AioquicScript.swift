internal import Foundation

/// A Python program on aioquic that serves HTTP/3 on a UDP port and logs a line for each event.
final class AioquicScript: Sendable {
    let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts it with its port, key and certificate files, and further arguments. Returns when it answers.
    ///
    /// - Parameter status: If set, the last argument is a file with an OCSP response about the certificate.
    init(
        _ script: String, _ authority: TestCertificateAuthority, profile: CertificateProfile = .localhost,
        at port: Int? = nil, arguments: [String] = [],
        stapling status: TestCertificateAuthority.RevocationStatus? = nil
    ) throws {
        let directory = try TemporaryDirectory()
        let identity = try authority.issue(profile)
        let certificates = try CertificateFiles(identity, of: authority)
        var arguments = arguments
        if let status {
            let response = try authority.ocspResponse(for: identity.certificate, status: status)
            arguments.append(try directory.write(response, to: "ocsp.der").path)
        }
        let script = try directory.write(script, to: "server.py")
        self.directory = directory
        process = try ServingProcess(
            try ServerFarm.Part.aioquic.requireExecutable(), over: .udp, at: port, output: directory.file("output")
        ) { [arguments] port in
            [script.path, "\(port)", certificates.privateKey.path, certificates.chain.path] + arguments
        }
    }

    var lines: [String] { process.lines }

    /// The end of a program that has the class `Server`, and `port`, `key` and `chain`: serves until the process is
    /// ended.
    ///
    /// - Parameter options: Of the QUIC configuration, beside the protocol.
    static func serving(at address: String = "127.0.0.1", options: String = "idle_timeout=20") -> String {
        """
        async def main():
            configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], \(options))
            configuration.load_cert_chain(chain, key)
            await serve("\(address)", int(port), configuration=configuration, create_protocol=Server)
            await asyncio.Event().wait()

        asyncio.run(main())
        """
    }
}
