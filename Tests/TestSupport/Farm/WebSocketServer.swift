package import Foundation

/// A WebSocket server that shares no code with this project. It sends every message back at `/echo`; see
/// Tests/WebSocketServers for the other paths.
package final class WebSocketServer: Sendable {
    package enum Make: String, Sendable, CaseIterable {
        /// Python's package `websockets`.
        case python
        /// Node's `http` and `https`.
        case node
        /// Node's `http2`, with extended CONNECT. Needs TLS. Any other request has a response.
        case nodeHTTP2
        /// libwebsockets' test server, with its protocol `lws-mirror-protocol`: it sends text back in messages of up to
        /// 4 KiB.
        case libwebsockets
        /// websocketd before `cat`, which sends lines back; at `/drop` it reads a line and ends.
        case websocketd

        package var part: ServerFarm.Part {
            switch self {
            case .python: .websockets
            case .node, .nodeHTTP2: .node
            case .libwebsockets: .libwebsockets
            case .websocketd: .websocketd
            }
        }
    }

    package let make: Make
    private let isSecure: Bool
    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles?

    private static let programs = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "WebSocketServers")

    /// Starts it. Returns when it accepts connections.
    ///
    /// - Parameter authority: The issuer of its certificate, for TLS.
    package init(_ make: Make, authority: TestCertificateAuthority? = nil) throws {
        let directory = try TemporaryDirectory()
        let certificates = try authority.map { try CertificateFiles(try $0.issue(.localhost), of: $0) }
        self.make = make
        self.directory = directory
        self.certificates = certificates
        isSecure = authority != nil
        process = try ServingProcess(try make.part.requireExecutable(), output: directory.file("output")) { port in
            let files = certificates.map { ($0.chain.path, $0.privateKey.path) }
            switch make {
            case .python:
                // No `.pyc` files beside the program.
                return ["-B", Self.programs.appending(path: "server.py").path, "--port", "\(port)"]
                    + (files.map { ["--certificate", $0.0, "--key", $0.1] } ?? [])
            case .node:
                return [Self.programs.appending(path: "server.js").path, "\(port)"]
                    + (files.map { [$0.0, $0.1] } ?? [])
            case .nodeHTTP2:
                return [Self.programs.appending(path: "server.js").path, "\(port)"]
                    + (files.map { [$0.0, $0.1] } ?? []) + ["http2"]
            case .libwebsockets:
                return ["--port=\(port)"]
                    + (files.map { ["--ssl", "--ssl-cert=\($0.0)", "--ssl-key=\($0.1)"] } ?? [])
            case .websocketd:
                return ["--address=127.0.0.1", "--port=\(port)"]
                    + (files.map { ["--ssl", "--sslcert=\($0.0)", "--sslkey=\($0.1)"] } ?? [])
                    + ["/bin/sh", "-c", "case $PATH_INFO in /drop) read line;; *) exec cat;; esac"]
            }
        }
    }

    package func stop() { process.end() }

    package func url(_ path: String = "/echo") -> URL {
        URL(string: "\(isSecure ? "wss" : "ws")://localhost:\(process.port)\(path)") ?? URL(fileURLWithPath: path)
    }

    package var subprotocols: [String] { make == .libwebsockets ? ["lws-mirror-protocol"] : [] }
}
