package import Foundation

/// Caddy over TLS, in the versions of HTTP that it is told to speak: files, and what `routes` has.
package final class CaddyServer: FarmServer {
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts Caddy, and returns when it takes connections.
    ///
    /// - Parameters:
    ///   - protocols: As Caddy calls them: `h1`, `h2` and `h3`.
    ///   - routes: In the JSON of Caddy's configuration, each followed by a comma. They come before the files.
    ///   - curves: Those that it exchanges keys by, as Caddy calls them; none: its own choice.
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
            // Where it would keep what it learns, which is nothing here.
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
