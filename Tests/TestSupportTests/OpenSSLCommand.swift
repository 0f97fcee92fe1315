import Foundation
import TestSupport

/// The `openssl` command: a judge that shares no code with what it judges, beyond the library.
enum OpenSSLCommand {
    static func run(_ arguments: [String]) throws -> String {
        try ChildProcess.run("/usr/bin/openssl", arguments).output
    }

    /// `OK`, or the text of the first error.
    static func verification(of identity: TestIdentity, root: TestCertificate, _ options: String...) throws -> String {
        let directory = try TemporaryDirectory()
        let root = try directory.write(root.pem, to: "root.pem").path
        let leaf = try directory.write(identity.certificate.pem, to: "leaf.pem").path
        var arguments = ["verify", "-CAfile", root] + options
        if !identity.intermediates.isEmpty {
            let between = try directory.write(identity.intermediates.map(\.pem).joined(), to: "between.pem").path
            arguments += ["-untrusted", between]
        }
        let output = try run(arguments + [leaf])
        if output.hasSuffix("leaf.pem: OK\n") { return "OK" }
        let failure = output.split(separator: "\n").first { $0.hasPrefix("error ") } ?? output[...]
        return failure.split(separator: ": ").last.map(String.init) ?? output
    }

    /// What `openssl x509 -text` says, without indentation.
    static func text(of certificate: TestCertificate) throws -> [String] {
        let directory = try TemporaryDirectory()
        let file = try directory.write(certificate.pem, to: "certificate.pem").path
        return try run(["x509", "-in", file, "-noout", "-text"])
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
