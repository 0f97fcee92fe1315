internal import Foundation
internal import Glibc

/// squid, an HTTP proxy without cache, which allows CONNECT to any port.
package final class SquidProxy: Sendable {
    package static let user = "Mufasa"
    package static let password = "Circle of Life"

    /// The authentication scheme.
    package enum Question: Sendable {
        case basic
        case digest
        /// Negotiate with Kerberos.
        case negotiate(KerberosRealm)
    }

    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts squid. Returns when it accepts connections.
    ///
    /// - Parameter question: The required authentication; nil for none.
    package init(asking question: Question? = nil) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        let openssl = try ServerFarm.Part.openssl.requireExecutable()
        let hash = try ChildProcess.run(openssl, ["passwd", "-apr1", Self.password]).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        try directory.write(Array("\(Self.user):\(hash)\n".utf8), to: "users")
        try directory.write(Array("\(Self.user):\(Self.password)\n".utf8), to: "digests")
        // If started by root, squid drops its privileges; then its user must be able to write here.
        if geteuid() == 0 { chmod(directory.path, 0o777) }
        process = try ServingProcess(
            try ServerFarm.Part.squid.requireExecutable(),
            // Its helpers run as its own user, which cannot write this process's replay cache.
            environment: ["KRB5RCACHENAME": "none:"], output: directory.file("output")
        ) { port in
            let who = question.map { Self.configuration($0, directory) } ?? "http_access allow all"
            // The test servers listen on IPv4 loopback only.
            let hosts = try directory.write("127.0.0.1 localhost\n", to: "hosts")
            let configuration = try directory.write(
                """
                http_port 127.0.0.1:\(port)
                pid_filename \(directory.path)/squid.pid
                access_log stdio:\(directory.path)/access.log
                cache_log \(directory.path)/cache.log
                coredump_dir \(directory.path)
                visible_hostname localhost
                hosts_file \(hosts.path)
                cache deny all
                shutdown_lifetime 0 seconds
                \(who)

                """, to: "squid.conf")
            return ["-N", "-f", configuration.path]
        }
    }

    private static func configuration(_ question: Question, _ directory: TemporaryDirectory) -> String {
        let programs = "/usr/lib/squid"
        let way =
            switch question {
            case .basic:
                """
                auth_param basic program \(programs)/basic_ncsa_auth \(directory.path)/users
                auth_param basic realm r
                auth_param basic casesensitive on
                """
            case .digest:
                """
                auth_param digest program \(programs)/digest_file_auth \(directory.path)/digests
                auth_param digest realm r
                """
            case .negotiate(let realm):
                """
                auth_param negotiate program \(programs)/negotiate_kerberos_auth -k \(realm.keytab.path) -s GSS_C_NO_NAME
                auth_param negotiate keep_alive on
                """
            }
        return """
            \(way)
            acl known proxy_auth REQUIRED
            http_access allow known
            http_access deny all
            """
    }

    package var port: Int { process.port }

    package func stop() { process.end() }

    /// The served requests with their status: "TCP_TUNNEL/200 CONNECT localhost:8443". A line is written after the
    /// response, so the log is complete after `stop()`.
    package var log: [String] {
        let text = (try? String(contentsOf: directory.file("access.log"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            // Connections of the readiness check have no request.
            guard parts.count > 6, !parts[3].hasSuffix("/000") else { return nil }
            return parts[3] + " " + parts[5] + " " + parts[6]
        }
    }
}
