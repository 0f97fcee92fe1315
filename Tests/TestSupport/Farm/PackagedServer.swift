package import Foundation

/// A widely used server in its default configuration, over TLS. It answers every request.
package final class PackagedServer: FarmServer {
    package enum Make: String, Sendable, CaseIterable {
        case haproxy
        case node
        case gunicornSync = "gunicorn, sync"
        case gunicornThreads = "gunicorn, gthread"
        case h2o
        case lighttpd

        package var part: ServerFarm.Part {
            switch self {
            case .haproxy: .haproxy
            case .node: .node
            case .gunicornSync, .gunicornThreads: .gunicorn
            case .h2o: .h2o
            case .lighttpd: .lighttpd
            }
        }

        package var speaksHTTP2: Bool { part != .gunicorn }

        /// The packages of the server and its modules.
        package var packages: [String] { [part.package, self == .lighttpd ? Self.lighttpdTLS : nil].compactMap { $0 } }

        /// The missing packages.
        package var missing: ServerFarm.Missing? {
            if let missing = part.missing { return missing }
            guard self == .lighttpd, !Self.hasLighttpdModule("mod_openssl", in: Self.lighttpdModules) else {
                return nil
            }
            return ServerFarm.Missing(name: "lighttpd's mod_openssl", package: Self.lighttpdTLS)
        }

        private static let lighttpdTLS = "lighttpd-mod-openssl"
        private static let lighttpdModules = ["/usr/lib/lighttpd", "/usr/lib64/lighttpd", "/usr/local/lib/lighttpd"]

        /// Modules may be in other packages than the program.
        package static func hasLighttpdModule(_ name: String, in folders: [String]) -> Bool {
            folders.contains { access("\($0)/\(name).so", R_OK) == 0 }
        }
    }

    private let process: ServingProcess
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts it. Returns when it accepts connections.
    package init(_ make: Make, offersHTTP2: Bool, authority: TestCertificateAuthority) throws {
        let directory = try TemporaryDirectory()
        let certificates = try CertificateFiles(try authority.issue(.localhost), of: authority)
        try directory.write("small", to: "files/small")
        self.directory = directory
        self.certificates = certificates
        process = try ServingProcess(try make.part.requireExecutable(), output: directory.file("output")) { port in
            try Self.arguments(make, port, offersHTTP2: offersHTTP2, directory, certificates)
        }
    }

    package func stop() { process.end() }
    package func restart(_ ending: ServerEnding) throws { try process.restart(ending) }

    package func secureURL(_ path: String) -> URL {
        URL(string: "https://localhost:\(process.port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// Writes its configuration.
    private static func arguments(
        _ make: Make, _ port: Int, offersHTTP2: Bool, _ directory: TemporaryDirectory, _ certificates: CertificateFiles
    ) throws -> [String] {
        let (chain, key) = (certificates.chain.path, certificates.privateKey.path)
        switch make {
        case .haproxy:
            let both = try [certificates.chain, certificates.privateKey].map {
                try String(contentsOf: $0, encoding: .utf8)
            }
            let identity = try directory.write(both.joined(), to: "identity.pem")
            let file = try directory.write(
                """
                defaults
                    mode http
                    timeout client 10s
                    timeout server 10s
                    timeout connect 5s
                    timeout http-keep-alive 5s
                frontend test
                    bind 127.0.0.1:\(port) ssl crt \(identity.path) alpn \(offersHTTP2 ? "h2," : "")http/1.1
                    option http-buffer-request
                    http-request return status 200 content-type text/plain string small

                """, to: "haproxy.cfg")
            return ["-db", "-f", file.path]
        case .node:
            let maker =
                offersHTTP2
                ? "require('http2').createSecureServer(options, answer)"
                : "require('https').createServer(options, answer)"
            let file = try directory.write(
                """
                const fs = require('fs');
                const options = { cert: fs.readFileSync('\(chain)'), key: fs.readFileSync('\(key)') };
                const answer = (request, response) => {
                    request.resume();
                    request.on('end', () => response.end('small'));
                };
                \(maker).listen(\(port), '127.0.0.1');

                """, to: "server.js")
            return [file.path]
        case .gunicornSync, .gunicornThreads:
            try directory.write(
                """
                def answer(environment, start):
                    environment["wsgi.input"].read()
                    start("200 OK", [("Content-Length", "5")])
                    return [b"small"]

                """, to: "answering.py")
            let workers =
                make == .gunicornSync
                ? ["--worker-class", "sync", "--workers", "4"]
                : ["--worker-class", "gthread", "--workers", "2", "--threads", "8"]
            return workers + [
                "--bind", "127.0.0.1:\(port)", "--certfile", chain, "--keyfile", key, "--chdir", directory.path,
                "answering:answer",
            ]
        case .h2o:
            let user = geteuid() == 0 ? "user: root" : ""
            let file = try directory.write(
                """
                \(user)
                http2-max-concurrent-requests-per-connection: \(offersHTTP2 ? 100 : 1)
                listen:
                  host: 127.0.0.1
                  port: \(port)
                  ssl:
                    certificate-file: \(chain)
                    key-file: \(key)
                hosts:
                  default:
                    paths:
                      /:
                        file.dir: \(directory.file("files").path)

                """, to: "h2o.conf")
            return ["-c", file.path]
        case .lighttpd:
            let file = try directory.write(
                """
                server.modules = ("mod_openssl")
                server.document-root = "\(directory.file("files").path)"
                server.bind = "127.0.0.1"
                server.port = \(port)
                server.feature-flags = ("server.h2proto" => "\(offersHTTP2 ? "enable" : "disable")")
                ssl.engine = "enable"
                ssl.pemfile = "\(chain)"
                ssl.privkey = "\(key)"

                """, to: "lighttpd.conf")
            return ["-D", "-f", file.path]
        }
    }
}
