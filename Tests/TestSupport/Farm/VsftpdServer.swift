package import Foundation
internal import Glibc

/// vsftpd, as a process with its own configuration, port and directory.
///
/// Named users would require PAM, which uses system files. So the only user is `anonymous`, with a password if
/// required.
package final class VsftpdServer: Sendable {
    package static let user = "anonymous"
    package static let password = "Circle@Life"

    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    package let port: Int
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts vsftpd. Returns when it answers.
    ///
    /// - Parameters:
    ///   - wantsPassword: Whether a password is required.
    ///   - directives: More lines for the configuration.
    package init(
        files: [String: [UInt8]] = [:], wantsPassword: Bool = false, address: Loopback = .ipv4, directives: String = ""
    ) throws {
        let executable = try ServerFarm.Part.vsftpd.requireExecutable()
        directory = try TemporaryDirectory()
        for (name, bytes) in files {
            let file = try directory.write(bytes, to: "files/\(name)")
            // A file that has just been modified gives no resume data.
            let past = Date(timeIntervalSinceNow: -3600)
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: file.path)
        }
        for folder in ["files", "empty"] {
            try FileManager.default.createDirectory(at: directory.file(folder), withIntermediateDirectories: true)
        }
        // The server drops root privileges and then needs access to this directory.
        if geteuid() == 0 { chmod(directory.path, 0o755) }
        try directory.write(Self.password + "\n", to: "passwords")

        var failure: any Error = StartFailure(description: "there is no port")
        // Another process may take the port before vsftpd does.
        for _ in 0..<5 {
            let port = try BoundSocket(address).port
            let configuration = try directory.write(
                Self.configuration(
                    directory.path, address: address, port: port, wantsPassword: wantsPassword,
                    directives: directives),
                to: "vsftpd.conf")
            let output = directory.file("output")
            let process = try ChildProcess(executable, [configuration.path], output: output)
            do {
                try Self.waitForAnswer(address, port: port, of: process)
                self.port = port
                self.process = process
                return
            } catch {
                process.end()
                let words = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
                failure = StartFailure(description: "vsftpd does not answer: \(error); it says: \(words)")
            }
        }
        throw failure
    }

    deinit { stop() }

    package func stop() { process.end() }

    /// - Parameter user: The user information of the URL.
    package func url(_ path: String, user: String? = nil, host: String = "127.0.0.1") -> URL {
        URL(string: "ftp://\(user.map { $0 + "@" } ?? "")\(host):\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// Replaces the contents of a file.
    package func change(_ name: String, to bytes: [UInt8]) throws { try directory.write(bytes, to: "files/\(name)") }

    private static func waitForAnswer(_ address: Loopback, port: Int, of process: ChildProcess) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            let descriptor = try address.makeSocket()
            if address.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 {
                let connection = try ServerConnection(adopting: descriptor)
                let answer = String(decoding: try connection.receive(through: "\r\n"), as: UTF8.self)
                guard answer.hasPrefix("220") else { throw StartFailure(description: answer) }
                try connection.send("QUIT\r\n")
                return
            }
            close(descriptor)
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }

    private static func configuration(
        _ directory: String, address: Loopback, port: Int, wantsPassword: Bool, directives: String
    ) -> String {
        let listen =
            switch address {
            case .ipv4: "listen=YES\nlisten_ipv6=NO\nlisten_address=127.0.0.1"
            case .ipv6: "listen=NO\nlisten_ipv6=YES\nlisten_address6=::1"
            }
        return """
            \(listen)
            listen_port=\(port)
            background=NO
            anonymous_enable=YES
            secure_email_list_enable=\(wantsPassword ? "YES" : "NO")
            email_password_file=\(directory)/passwords
            run_as_launching_user=\(geteuid() == 0 ? "NO" : "YES")
            anon_root=\(directory)/files
            secure_chroot_dir=\(directory)/empty
            port_enable=NO
            delay_failed_login=0
            delay_successful_login=0
            seccomp_sandbox=NO
            isolate=NO
            isolate_network=NO
            xferlog_enable=NO
            \(directives)

            """
    }
}
