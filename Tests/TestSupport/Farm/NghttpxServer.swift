package import Foundation

/// nghttpx, a proxy that speaks HTTP/2 and HTTP/1.1 over TLS, in front of a server that speaks HTTP/1.1 in the clear.
package final class NghttpxServer: Sendable {
    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts nghttpx, and returns when it takes connections.
    package init(before backend: Int, authority: TestCertificateAuthority) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        self.directory = directory
        process = try ServingProcess(
            try ServerFarm.Part.nghttpx.requireExecutable(), output: directory.file("output")
        ) { port in
            [
                "--conf=/dev/null", "--workers=1", "--backend=127.0.0.1,\(backend)", "--frontend=127.0.0.1,\(port)",
                "--accesslog-file=\(directory.file("access.log").path)",
                "--accesslog-format=$remote_port $alpn $status $request",
                certificates.privateKey.path, certificates.chain.path,
            ]
        }
    }

    package func stop() { process.end() }

    package func secureURL(_ path: String = "/") -> URL {
        URL(string: "https://localhost:\(process.port)\(path)") ?? URL(fileURLWithPath: path)
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
}
