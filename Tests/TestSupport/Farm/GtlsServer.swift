internal import Foundation
internal import Glibc

/// The server of ngtcp2's own, which speaks HTTP/3 over GnuTLS: files by GET, and a count of what was posted to it.
package final class GtlsServer: Sendable {
    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    package let port: Int
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts it, at a port if one is wanted, and returns when it answers.
    ///
    /// - Parameter isEverywhere: Whether it listens at all addresses, for a network of the test's own.
    package init(
        files: [String: [UInt8]] = [:], authority: TestCertificateAuthority, profile: CertificateProfile = .localhost,
        isEverywhere: Bool = false, options: [String] = [], port wanted: Int? = nil
    ) throws {
        let executable = try ServerFarm.Part.gtlsserver.requireExecutable()
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(profile), of: authority)
        for (name, bytes) in files { try directory.write(bytes, to: "htdocs/\(name)") }
        try directory.write("", to: "htdocs/.there")
        self.directory = directory
        var failure: any Error = StartFailure(description: "there is no port")
        // Somebody else may take the port before the server does.
        for _ in 0..<5 {
            let port = try wanted ?? BoundSocket(.ipv4).port
            let process = try ChildProcess(
                executable,
                options + [
                    "--quiet", "--htdocs=\(directory.file("htdocs").path)", isEverywhere ? "0.0.0.0" : "127.0.0.1",
                    "\(port)",
                    certificates.privateKey.path, certificates.chain.path,
                ], output: directory.file("output"))
            do {
                try Self.waitForPort(port, of: process)
                self.port = port
                self.process = process
                return
            } catch {
                process.end()
                let words = (try? String(contentsOf: directory.file("output"), encoding: .utf8)) ?? ""
                failure = StartFailure(description: "gtlsserver does not answer: \(error); it says: \(words)")
            }
        }
        throw failure
    }

    package func stop() { process.end() }

    /// Ends it as a loss of power does.
    package func kill() {
        process.send(SIGKILL)
        process.end()
    }

    /// A datagram to a port that nobody has is answered with an error, which the next call tells.
    private static func waitForPort(_ port: Int, of process: ChildProcess) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        defer { close(descriptor) }
        guard Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            throw POSIXFailure("connect")
        }
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            var octet: UInt8 = 0
            if send(descriptor, &octet, 1, 0) == 1 {
                usleep(1_000)
                if send(descriptor, &octet, 1, 0) == 1 { return }
            }
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }
}
