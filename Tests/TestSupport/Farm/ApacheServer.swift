package import Foundation
internal import Glibc

/// Apache httpd with protected pages, as a process with its own configuration, port and directory. The body of each
/// page is "in".
///
/// | path | required credentials |
/// |---|---|
/// | `/basic/…`, `/digest/…` | `Apache.user` with `Apache.password`, realm `r` |
/// | `/short/…` | the same with Digest and nonces that expire after a second |
/// | `/negotiate/…` | a ticket of the Kerberos realm |
/// | `/ntlm/…` | `Apache.user` of the domain `DOMAIN`, with NTLM |
/// | `/either/…` | either of these two |
///
/// Or with files, over TLS: `init(files:authority:offersHTTP2:modules:directives:)`.
package final class ApacheServer: FarmServer {
    package static let user = "Mufasa"
    package static let password = "Circle of Life"

    package var port: Int { process.port }
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles?
    private let requests: ServerLog

    /// Starts Apache. Returns when it accepts connections.
    package convenience init(realm: KerberosRealm? = nil) throws {
        let directory = try TemporaryDirectory()
        for folder in ["basic", "digest", "short", "negotiate", "ntlm", "either"] {
            try directory.write(Array("in".utf8), to: "files/\(folder)/page")
        }
        try directory.write(Array("\(Self.user):\(try Self.hashedPassword())\n".utf8), to: "basic")
        try directory.write(Array("\(Self.user):r:\(try Self.digestSecret())\n".utf8), to: "digest")
        try directory.write(Array("DOMAIN:\(Self.user):\(Self.password)\n".utf8), to: "ntlm")
        try self.init(
            in: directory,
            environment: [
                "NTLM_USER_FILE": directory.file("ntlm").path,
                // No replay cache.
                "KRB5RCACHENAME": "none:",
            ].merging(realm?.environment ?? [:]) { $1 }
        ) { Self.pages(directory.path, port: $0, realm: realm) }
    }

    /// Files over TLS, without authentication.
    ///
    /// - Parameter processing: The multi-processing module: `event` or `prefork`.
    package convenience init(
        files: [String: [UInt8]], authority: TestCertificateAuthority, offersHTTP2: Bool, modules: [String] = [],
        processing: String = "event", directives: String = ""
    ) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        for (name, bytes) in files { try directory.write(bytes, to: "files/\(name)") }
        try self.init(in: directory, certificates: certificates) { port in
            Self.configuration(
                directory.path, port: port, modules: ["ssl", "http2"] + modules, processing: processing,
                directives: """
                    Protocols \(offersHTTP2 ? "h2 " : "")http/1.1
                    SSLEngine on
                    SSLCertificateFile \(certificates.chain.path)
                    SSLCertificateKeyFile \(certificates.privateKey.path)
                    SSLSessionCache none
                    KeepAliveTimeout 60
                    MaxKeepAliveRequests 0
                    \(directives)
                    """)
        }
    }

    private init(
        in directory: TemporaryDirectory, certificates: CertificateFiles? = nil, environment: [String: String] = [:],
        configuration: (Int) -> String
    ) throws {
        self.directory = directory
        self.certificates = certificates
        requests = ServerLog(directory.file("access.log"))
        if geteuid() == 0 { chmod(directory.path, 0o755) }
        process = try ServingProcess(
            try ServerFarm.Part.apache2.requireExecutable(), environment: environment, output: directory.file("output")
        ) { port in
            let file = try directory.write(Array(configuration(port).utf8), to: "httpd.conf")
            return ["-f", file.path, "-DFOREGROUND"]
        }
    }

    deinit { stop() }

    package func stop() { process.end() }

    /// A graceful restart: new processes accept connections, and the old ones end after their current requests.
    package func restartGracefully() { process.send(SIGUSR1) }

    package func restart(_ ending: ServerEnding) throws { try process.restart(ending) }

    /// The file in which gss-ntlmssp finds users and passwords, named by the environment.
    package var ntlmUsers: URL { directory.file("ntlm") }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    package func url(_ path: String, user: String? = nil) -> URL {
        let user = user.map { $0 + "@" } ?? ""
        return URL(string: "http://\(user)localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The served requests, each with the number of its connection in order of acceptance, the status and the user. A
    /// line is written after the response, so the log is complete after `stop()`.
    package var log: [String] { requests.lines.map { "\($0.connection) \($0.words)" } }

    /// If started by root, Apache drops its privileges; then this user must be able to read the files.
    private static let serverUser = "www-data"

    private static func hashedPassword() throws -> String {
        let openssl = try ServerFarm.Part.openssl.requireExecutable()
        return try ChildProcess.run(openssl, ["passwd", "-apr1", password]).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func digestSecret() throws -> String {
        let openssl = try ServerFarm.Part.openssl.requireExecutable()
        let directory = try TemporaryDirectory()
        let text = try directory.write(Array("\(user):r:\(password)".utf8), to: "text")
        let output = try ChildProcess.run(openssl, ["dgst", "-md5", "-r", text.path]).output
        return String(output.prefix { $0 != " " })
    }

    private static func configuration(
        _ directory: String, port: Int, modules: [String], processing: String = "event", directives: String
    ) -> String {
        let user = geteuid() == 0 ? "User \(serverUser)\nGroup \(serverUser)" : ""
        let modules =
            ["mpm_\(processing)", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic"] + modules
        return """
            ServerRoot \(directory)
            ServerName localhost
            Listen 127.0.0.1:\(port)
            \(user)
            PidFile \(directory)/httpd.pid
            ErrorLog \(directory)/output
            LogLevel warn
            \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
            LogFormat "%{c}p-%{remote}p %r %>s %u" connections
            CustomLog \(directory)/access.log connections
            StartServers 1
            DocumentRoot \(directory)/files
            \(directives)

            """
    }

    private static func pages(_ directory: String, port: Int, realm: KerberosRealm?) -> String {
        let kerberos = realm.map { realm in
            """
            LoadModule auth_gssapi_module /usr/lib/apache2/modules/mod_auth_gssapi.so
            <Location /negotiate>
                AuthType GSSAPI
                AuthName r
                GssapiCredStore keytab:\(realm.keytab.path)
                GssapiAllowedMech krb5
                Require valid-user
            </Location>
            <Location /ntlm>
                AuthType GSSAPI
                AuthName r
                GssapiAllowedMech ntlmssp
                GssapiConnectionBound On
                Require valid-user
            </Location>
            <Location /either>
                AuthType GSSAPI
                AuthName r
                GssapiCredStore keytab:\(realm.keytab.path)
                GssapiConnectionBound On
                Require valid-user
            </Location>
            """
        }
        func digest(_ path: String, lifetime: Int) -> String {
            """
            <Location \(path)>
                AuthType Digest
                AuthName r
                AuthDigestProvider file
                AuthUserFile \(directory)/digest
                AuthDigestNonceLifetime \(lifetime)
                Require valid-user
            </Location>
            """
        }
        return configuration(
            directory, port: port, modules: ["auth_digest"],
            directives: """
                <Location /basic>
                    AuthType Basic
                    AuthName r
                    AuthUserFile \(directory)/basic
                    Require valid-user
                </Location>
                \(digest("/digest", lifetime: 300))
                \(digest("/short", lifetime: 1))
                \(kerberos ?? "")
                """)
    }
}
