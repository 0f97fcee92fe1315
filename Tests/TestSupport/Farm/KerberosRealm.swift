package import Foundation
internal import Glibc

/// A key distribution centre of MIT Kerberos on loopback, with one user and the service `HTTP/localhost`.
///
/// The library reads its configuration from a file that the environment names, so the process has one realm, `shared`.
/// Tickets are stored in the realm's directory only.
package final class KerberosRealm: Sendable {
    package static let name = "TEST.EXAMPLE"
    package static let user = "ali"
    package static let password = "open sesame"

    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let started = Result { try KerberosRealm() }

    /// Started at first use; ends with the process.
    package static func shared() throws -> KerberosRealm { try started.get() }

    private let process: ChildProcess
    private let directory: TemporaryDirectory

    package var keytab: URL { directory.file("keytab") }
    package var environment: [String: String] {
        ["KRB5_CONFIG": directory.file("krb5.conf").path, "KRB5_KDC_PROFILE": directory.file("kdc.conf").path]
    }

    private init() throws {
        let centre = try ServerFarm.Part.krb5kdc.requireExecutable()
        directory = try TemporaryDirectory()
        let port = try BoundSocket(.ipv4).port
        try directory.write(Array(Self.clientConfiguration(directory.path, port: port).utf8), to: "krb5.conf")
        try directory.write(Array(Self.centreConfiguration(directory.path, port: port).utf8), to: "kdc.conf")
        let environment = [
            "KRB5_CONFIG": directory.file("krb5.conf").path, "KRB5_KDC_PROFILE": directory.file("kdc.conf").path,
        ]
        func run(_ part: ServerFarm.Part, _ arguments: [String]) throws {
            let result = try ChildProcess.run(part.requireExecutable(), arguments, environment: environment)
            guard result.exit == .code(0) else { throw StartFailure(description: result.output) }
        }
        try run(.kdb5Util, ["create", "-s", "-P", "master", "-r", Self.name])
        try run(.kadmin, ["-q", "addprinc -pw \"\(Self.password)\" \(Self.user)"])
        try run(.kadmin, ["-q", "addprinc -randkey HTTP/localhost"])
        try run(.kadmin, ["-q", "ktadd -k \(directory.file("keytab").path) HTTP/localhost"])
        // A server that is started by root drops its privileges before it reads this.
        chmod(directory.path, 0o755)
        chmod(directory.file("keytab").path, 0o644)
        process = try ChildProcess(centre, ["-n"], environment: environment, output: directory.file("output"))
        for (name, value) in environment { setenv(name, value, 1) }
        try waitForTicket()
        removeTicket()
    }

    deinit { process.end() }

    /// Gets a ticket for the user, which GSSAPI then finds.
    package func getTicket() throws {
        let ticket = try kinit()
        guard ticket.exit == .code(0) else { throw StartFailure(description: ticket.output) }
    }

    package func removeTicket() {
        try? FileManager.default.removeItem(at: directory.file("tickets"))
    }

    private func kinit() throws -> (exit: ChildProcess.Exit, output: String) {
        // From a keytab, because a password prompt needs a terminal.
        try ChildProcess.run(
            ServerFarm.Part.kinit.requireExecutable(), ["-k", "-t", directory.file("user.keytab").path, Self.user],
            environment: environment)
    }

    private func waitForTicket() throws {
        let export = try ChildProcess.run(
            ServerFarm.Part.kadmin.requireExecutable(),
            ["-q", "ktadd -norandkey -k \(directory.file("user.keytab").path) \(Self.user)"], environment: environment)
        guard export.exit == .code(0) else { throw StartFailure(description: export.output) }
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            let ticket = try kinit()
            if ticket.exit == .code(0) { return }
            if let exit = process.exit { throw StartFailure(description: "\(exit): \(ticket.output)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: ticket.output) }
            usleep(20_000)
        }
    }

    private static func clientConfiguration(_ directory: String, port: Int) -> String {
        """
        [libdefaults]
            default_realm = \(name)
            dns_lookup_kdc = false
            dns_lookup_realm = false
            dns_canonicalize_hostname = false
            rdns = false
            udp_preference_limit = 1
            default_ccache_name = FILE:\(directory)/tickets
        [realms]
            \(name) = {
                kdc = 127.0.0.1:\(port)
            }
        [domain_realm]
            localhost = \(name)

        """
    }

    private static func centreConfiguration(_ directory: String, port: Int) -> String {
        """
        [kdcdefaults]
            kdc_listen = 127.0.0.1:\(port)
            kdc_tcp_listen = 127.0.0.1:\(port)
        [realms]
            \(name) = {
                database_name = \(directory)/principal
                key_stash_file = \(directory)/stash
                acl_file = \(directory)/acl
            }
        [logging]
            kdc = FILE:\(directory)/kdc.log

        """
    }
}
