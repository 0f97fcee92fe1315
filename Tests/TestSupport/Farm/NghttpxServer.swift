package import Foundation
internal import Glibc

/// nghttpx, a proxy that speaks HTTP/2 and HTTP/1.1 over TLS, in front of a server that speaks HTTP/1.1 in the clear.
package final class NghttpxServer: Sendable {
    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    package let port: Int
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts nghttpx, and returns when it takes connections.
    package init(before backend: Int, authority: TestCertificateAuthority) throws {
        let executable = try ServerFarm.Part.nghttpx.requireExecutable()
        directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        var failure: any Error = StartFailure(description: "there is no port")
        // Somebody else may take the port before nghttpx does.
        for _ in 0..<5 {
            let port = try BoundSocket(.ipv4).port
            let output = directory.file("output")
            let process = try ChildProcess(
                executable,
                [
                    "--conf=/dev/null", "--workers=1", "--backend=127.0.0.1,\(backend)", "--frontend=127.0.0.1,\(port)",
                    "--accesslog-file=\(directory.file("access.log").path)",
                    "--accesslog-format=$remote_port $alpn $status $request",
                    certificates.privateKey.path, certificates.chain.path,
                ], output: output)
            do {
                try Self.waitForPort(port, of: process)
                self.port = port
                self.process = process
                return
            } catch {
                process.end()
                let words = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
                failure = StartFailure(description: "nghttpx does not answer: \(error); it says: \(words)")
            }
        }
        throw failure
    }

    deinit { stop() }

    package func stop() { process.end() }

    package func secureURL(_ path: String = "/") -> URL {
        URL(string: "https://localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// What it served: each request with the number of its connection, in the order of first use, from 1.
    package var log: [String] {
        let text = (try? String(contentsOf: directory.file("access.log"), encoding: .utf8)) ?? ""
        var connections: [Substring] = []
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            if !connections.contains(parts[0]) { connections.append(parts[0]) }
            return "\((connections.firstIndex(of: parts[0]) ?? 0) + 1) \(parts[1])"
        }
    }

    private static func waitForPort(_ port: Int, of process: ChildProcess) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            let descriptor = try Loopback.ipv4.makeSocket()
            defer { close(descriptor) }
            if Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 { return }
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }
}
