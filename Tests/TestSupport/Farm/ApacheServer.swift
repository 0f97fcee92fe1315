package import Foundation
internal import Glibc

/// Apache httpd with pages that only known users may see, as a process with a configuration, a port and a directory of
/// its own. Every page says "in".
///
/// | path | who may see it |
/// |---|---|
/// | `/basic/…`, `/digest/…` | `Apache.user` with `Apache.password`, realm `r` |
/// | `/short/…` | the same by Digest, with nonces that last a second |
/// | `/negotiate/…` | whoever has a ticket of the Kerberos realm |
/// | `/ntlm/…` | `Apache.user` of the domain `DOMAIN`, by NTLM |
/// | `/either/…` | whoever may see one of these two |
package final class ApacheServer: Sendable {
    package static let user = "Mufasa"
    package static let password = "Circle of Life"

    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    package let port: Int
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts Apache, and returns when it answers.
    package init(realm: KerberosRealm? = nil) throws {
        let executable = try ServerFarm.Part.apache2.requireExecutable()
        directory = try TemporaryDirectory()
        for folder in ["basic", "digest", "short", "negotiate", "ntlm", "either"] {
            try directory.write(Array("in".utf8), to: "files/\(folder)/page")
        }
        try directory.write(Array("\(Self.user):\(try Self.hashedPassword())\n".utf8), to: "basic")
        try directory.write(Array("\(Self.user):r:\(try Self.digestSecret())\n".utf8), to: "digest")
        try directory.write(Array("DOMAIN:\(Self.user):\(Self.password)\n".utf8), to: "ntlm")
        if geteuid() == 0 { chmod(directory.path, 0o755) }

        var failure: any Error = StartFailure(description: "there is no port")
        // Somebody else may take the port before Apache does.
        for _ in 0..<5 {
            let port = try BoundSocket(.ipv4).port
            let configuration = try directory.write(
                Array(Self.configuration(directory.path, port: port, realm: realm).utf8), to: "httpd.conf")
            let output = directory.file("output")
            let process = try ChildProcess(
                executable, ["-f", configuration.path, "-DFOREGROUND"],
                environment: [
                    "NTLM_USER_FILE": directory.file("ntlm").path,
                    // What was heard before is remembered in no file.
                    "KRB5RCACHENAME": "none:",
                ].merging(realm?.environment ?? [:]) { $1 },
                output: output)
            do {
                try Self.waitForAnswer(port: port, of: process)
                self.port = port
                self.process = process
                return
            } catch {
                process.end()
                let words = [output, configuration.deletingLastPathComponent().appendingPathComponent("error.log")].map
                {
                    (try? String(contentsOf: $0, encoding: .utf8)) ?? ""
                }
                failure = StartFailure(description: "Apache does not answer: \(error); it says: \(words.joined())")
            }
        }
        throw failure
    }

    deinit { stop() }

    package func stop() { process.end() }

    /// In which gss-ntlmssp finds users with their passwords when the environment names it.
    package var ntlmUsers: URL { directory.file("ntlm") }

    package func url(_ path: String, user: String? = nil) -> URL {
        let user = user.map { $0 + "@" } ?? ""
        return URL(string: "http://\(user)localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The requests that were served, each with the number of its connection in the order of acceptance, the status and
    /// the user. A line is written after its response was sent, so all are there after `stop()`.
    package var log: [String] {
        let text = (try? String(contentsOf: directory.file("access.log"), encoding: .utf8)) ?? ""
        var connections: [String] = []
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2, !parts[1].hasPrefix("GET /ready") else { return nil }
            if !connections.contains(parts[0]) { connections.append(parts[0]) }
            return "\((connections.firstIndex(of: parts[0]) ?? 0) + 1) \(parts[1])"
        }
    }

    /// Apache does not serve as root; then this user must be able to read what is here.
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

    private static func waitForAnswer(port: Int, of process: ChildProcess) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            let descriptor = try Loopback.ipv4.makeSocket()
            if Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 {
                let connection = try ServerConnection(adopting: descriptor)
                try connection.send("GET /ready HTTP/1.0\r\n\r\n")
                let answer = String(decoding: try connection.receive(through: "\r\n"), as: UTF8.self)
                guard answer.contains(" 404 ") else { throw StartFailure(description: answer) }
                return
            }
            close(descriptor)
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }

    private static func configuration(_ directory: String, port: Int, realm: KerberosRealm?) -> String {
        let modules = [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest",
        ]
        let user = geteuid() == 0 ? "User \(serverUser)\nGroup \(serverUser)" : ""
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
        return """
            ServerRoot \(directory)
            ServerName localhost
            Listen 127.0.0.1:\(port)
            \(user)
            PidFile \(directory)/httpd.pid
            ErrorLog \(directory)/error.log
            LogLevel warn
            \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
            LogFormat "%{c}p-%{remote}p %r %>s %u" connections
            CustomLog \(directory)/access.log connections
            StartServers 1
            DocumentRoot \(directory)/files
            <Location /basic>
                AuthType Basic
                AuthName r
                AuthUserFile \(directory)/basic
                Require valid-user
            </Location>
            \(digest("/digest", lifetime: 300))
            \(digest("/short", lifetime: 1))
            \(kerberos ?? "")

            """
    }
}
