package import Foundation

/// Caddy over TLS, with selected HTTP versions: serves files and `routes`.
package final class CaddyServer: FarmServer {
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts Caddy. Returns when it accepts connections.
    ///
    /// - Parameters:
    ///   - protocols: Caddy's names: `h1`, `h2` and `h3`.
    ///   - routes: Caddy's JSON configuration of routes, each followed by a comma. They take precedence over files.
    ///   - curves: The key exchange groups, by Caddy's names; empty for the default.
    package init(
        files: [String: [UInt8]], authority: TestCertificateAuthority, protocols: [String], routes: String = "",
        curves: [String] = [], port: Int? = nil
    ) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        let policy = curves.isEmpty ? "" : "\"curves\": [\(curves.map { "\"\($0)\"" }.joined(separator: ", "))]"
        for (name, bytes) in files { try directory.write(bytes, to: "files/\(name)") }
        self.directory = directory
        self.certificates = certificates
        process = try ServingProcess(
            try ServerFarm.Part.caddy.requireExecutable(),
            at: port,
            // The data directory, which stays empty.
            environment: ["XDG_DATA_HOME": directory.path, "XDG_CONFIG_HOME": directory.path],
            output: directory.file("output")
        ) { port in
            let file = try directory.write(
                """
                {
                    "admin": { "disabled": true, "config": { "persist": false } },
                    "logging": { "logs": { "default": { "level": "ERROR" } } },
                    "apps": {
                        "http": {
                            "grace_period": "100ms",
                            "servers": {
                                "server": {
                                    "listen": ["127.0.0.1:\(port)"],
                                    "protocols": [\(protocols.map { "\"\($0)\"" }.joined(separator: ", "))],
                                    "automatic_https": { "disable": true },
                                    "tls_connection_policies": [{ \(policy) }],
                                    "routes": [
                                        \(routes)
                                        { "handle": [{
                                            "handler": "file_server", "root": "\(directory.file("files").path)"
                                        }] }
                                    ]
                                }
                            }
                        },
                        "tls": {
                            "certificates": {
                                "load_files": [{
                                    "certificate": "\(certificates.chain.path)",
                                    "key": "\(certificates.privateKey.path)"
                                }]
                            }
                        }
                    }
                }
                """, to: "caddy.json")
            return ["run", "--config", file.path]
        }
    }

    package func stop() { process.end() }
    package func restart(_ ending: ServerEnding) throws { try process.restart(ending) }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(process.port)\(path)") ?? URL(fileURLWithPath: path)
    }
}
