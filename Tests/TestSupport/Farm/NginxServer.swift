package import Foundation
internal import Glibc

/// nginx, as a process with its own configuration, ports and directories.
///
///     let server = try NginxServer(files: ["big.bin": .pattern(count: 1_000_000)], authority: authority)
///     defer { server.stop() }
///     … server.url("/big.bin"), server.secureURL("/gzip/big.bin"), server.url("/status/503") …
///
/// | path | response |
/// |---|---|
/// | `/name` | a file, with ranges, validators and keep-alive |
/// | `/gzip/name` | the same, compressed if the client accepts it |
/// | `/closing/name` | the same, and the connection is closed afterwards |
/// | `/status/404` | a response of that status, 200 to 599 |
/// | `/upload` | reads a body and answers 200 |
package final class NginxServer: FarmServer {
    package struct Options: Sendable {
        /// The number of requests after which nginx closes a connection.
        package var keepAliveRequests = 1_000
        /// The idle time in seconds after which nginx closes a connection.
        package var keepAliveTimeout = 60
        /// Whether the secure port also supports HTTP/2.
        package var offersHTTP2 = true
        /// Whether it also listens on ::1, if available: for clients that resolve "localhost".
        package var listensOnBothLoopbacks = false
        /// The certificate status in the stapled OCSP response, if any.
        package var stapledStatus: TestCertificateAuthority.RevocationStatus?
        /// More directives for the server block.
        package var directives = ""

        package init() {}
    }

    /// A line of the access log.
    package struct LoggedRequest: Sendable, Equatable {
        /// The number of the connection in order of acceptance, and of the request on it; both from 1.
        package let connection: Int
        package let requestOnConnection: Int
        package let line: String
        package let status: Int
        package let bodyBytesSent: Int
    }

    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The issuer of the secure port's certificate.
    package let authority: TestCertificateAuthority
    package let port: Int
    package let securePort: Int
    private let process: Watched<ChildProcess>
    private let executable: String
    private let configuration: URL
    private let directory: TemporaryDirectory
    private let certificates: CertificateFiles

    /// Starts nginx. Returns when it answers.
    package init(
        files: [String: [UInt8]] = [:], authority: TestCertificateAuthority? = nil, options: Options = Options()
    ) throws {
        executable = try ServerFarm.Part.nginx.requireExecutable()
        self.authority = try authority ?? TestCertificateAuthority()
        let identity = try self.authority.issue(.localhost)
        certificates = try CertificateFiles(identity, of: self.authority)
        directory = try TemporaryDirectory()
        var options = options
        if let status = options.stapledStatus {
            let response = try self.authority.ocspResponse(for: identity.certificate, status: status)
            let file = try directory.write(response, to: "ocsp.der")
            options.directives += "\nssl_stapling on; ssl_stapling_file \(file.path);"
        }
        for (name, bytes) in files { try directory.write(bytes, to: "files/\(name)") }
        try FileManager.default.createDirectory(at: directory.file("files"), withIntermediateDirectories: true)

        let sockets = try [BoundSocket(.ipv4), BoundSocket(.ipv4)]
        port = sockets[0].port
        securePort = sockets[1].port
        configuration = try directory.write(
            Self.configuration(
                directory: directory.path, certificates: certificates, port: port, securePort: securePort,
                options: options),
            to: "nginx.conf")
        process = Watched(
            try Self.start(
                executable, configuration: configuration, sockets: sockets, output: directory.file("output")))
    }

    deinit {
        stop()
    }

    package var processID: Int32 { process.current.processID }

    package func stop() {
        process.current.end()
    }

    /// A graceful reload: new workers accept connections, and the old ones end after their current requests.
    package func reload() { process.current.send(SIGHUP) }

    package func restart(_ ending: ServerEnding) throws {
        switch ending {
        case .orderly: process.current.end()
        case .abrupt: process.current.endAbruptly()
        }
        let sockets = try [port, securePort].map(Self.socketAgain)
        let next = try Self.start(
            executable, configuration: configuration, sockets: sockets, output: directory.file("output"))
        process.withValue { $0 = next }
    }

    package func url(_ path: String = "/", host: String = "127.0.0.1") -> URL {
        Self.url("http", host, port, path)
    }

    package func secureURL(_ path: String = "/", host: String) -> URL { Self.url("https", host, securePort, path) }
    package func secureURL(_ path: String) -> URL { secureURL(path, host: "localhost") }

    private static func url(_ scheme: String, _ host: String, _ port: Int, _ path: String) -> URL {
        URL(string: "\(scheme)://\(host):\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The contents of a file in the folder `kept`, to which additional directives may write bodies.
    package func kept(_ name: String) throws -> Data { try Data(contentsOf: directory.file("kept/\(name)")) }

    /// The served requests. A line is written after the response, so the log is complete after `stop()`.
    package var log: [LoggedRequest] {
        let text = (try? String(contentsOf: directory.file("access.log"), encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n").compactMap { line -> LoggedRequest? in
            let parts = line.split(separator: " ", maxSplits: 4).map(String.init)
            guard parts.count == 5, let connection = Int(parts[0]), let request = Int(parts[1]),
                let status = Int(parts[2]), let bytes = Int(parts[3])
            else { return nil }
            return LoggedRequest(
                connection: connection, requestOnConnection: request, line: parts[4], status: status,
                bodyBytesSent: bytes)
        }
        return lines
    }

}

extension NginxServer {
    /// The ports are opened here and inherited, as nginx does in a binary upgrade: no other process can take them, and
    /// early connections wait in the queue.
    private static func start(
        _ executable: String, configuration: URL, sockets: [BoundSocket], output: URL
    ) throws -> ChildProcess {
        for socket in sockets {
            // Connections in TIME_WAIT must not prevent a restart.
            socket.set(SO_REUSEADDR, to: 1)
            try socket.listen(backlog: 511)
        }
        let numbers = sockets.indices.map { Int32(200 + $0) }
        let process = try ChildProcess(
            executable,
            ["-p", configuration.deletingLastPathComponent().path, "-e", "stderr", "-c", configuration.path],
            environment: ["NGINX": numbers.map { "\($0);" }.joined()],
            inheriting: Dictionary(zip(numbers, sockets.map(\.descriptor))) { $1 },
            leadsGroup: true, output: output)
        do {
            try waitForAnswer(port: sockets[0].port)
            return process
        } catch {
            process.end()
            let words = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
            throw StartFailure(
                description: "nginx does not answer: \(error); \(process.exit.map { "\($0)" } ?? ""); it says: \(words)"
            )
        }
    }

    /// The port of a killed process is released with a delay.
    private static func socketAgain(_ port: Int) throws -> BoundSocket {
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            do {
                return try BoundSocket(.ipv4, port: port, isAgain: true)
            } catch {
                if ContinuousClock.now > deadline { throw error }
                usleep(1_000)
            }
        }
    }

    /// The path to check whether it answers.
    private static let question = "GET /status/204 HTTP/1.0"

    /// If the program has died its port is closed, which ends this wait.
    private static func waitForAnswer(port: Int) throws {
        let descriptor = try Loopback.ipv4.makeSocket()
        guard Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            let failure = POSIXFailure("connect")
            close(descriptor)
            throw failure
        }
        let connection = try ServerConnection(adopting: descriptor)
        try connection.send("\(question)\r\n\r\n")
        let answer = String(decoding: try connection.receive(through: "\r\n"), as: UTF8.self)
        guard answer.contains(" 204 ") else { throw StartFailure(description: answer) }
    }

    private static func listen(_ port: Int, _ parameters: String, _ options: Options) -> String {
        var addresses = ["127.0.0.1"]
        let hasOther = (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
            .contains("00000000000000000000000000000001")
        if options.listensOnBothLoopbacks, hasOther == true { addresses.append("[::1]") }
        return addresses.map { "listen \($0):\(port)\(parameters);" }.joined(separator: "\n")
    }

    private static func configuration(
        directory: String, certificates: CertificateFiles, port: Int, securePort: Int, options: Options
    ) -> String {
        // Workers drop root privileges and then need access to this directory.
        let user = geteuid() == 0 ? "user root;" : ""
        let statuses = (200...599).map { "location = /status/\($0) { return \($0); }" }.joined(separator: "\n")
        return """
            \(user)
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            events { worker_connections 1024; }
            http {
                client_body_temp_path body;
                proxy_temp_path proxy;
                fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi;
                scgi_temp_path scgi;
                log_format test '$connection $connection_requests $status $body_bytes_sent $request';
                access_log access.log test;
                default_type application/octet-stream;
                types { text/html html; text/plain txt; application/json json; }
                keepalive_requests \(options.keepAliveRequests);
                keepalive_timeout \(options.keepAliveTimeout)s;
                client_max_body_size 0;
                server {
                    \(listen(port, "", options))
                    \(listen(securePort, options.offersHTTP2 ? " ssl http2" : " ssl", options))
                    server_name localhost;
                    ssl_certificate \(certificates.chain.path);
                    ssl_certificate_key \(certificates.privateKey.path);
                    ssl_protocols TLSv1.2 TLSv1.3;
                    location / { root \(directory)/files; }
                    location /gzip/ {
                        alias \(directory)/files/;
                        gzip on;
                        gzip_types *;
                        gzip_min_length 1;
                    }
                    location /closing/ {
                        alias \(directory)/files/;
                        keepalive_timeout 0;
                    }
                    location = /upload { return 200; }
                    \(statuses)
                    \(options.directives)
                }
            }

            """
    }
}
