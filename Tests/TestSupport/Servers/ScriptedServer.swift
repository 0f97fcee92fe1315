package import Foundation

/// A server that runs a script for each connection, on its own thread. By default on loopback.
///
///     let server = try ScriptedServer { connection in
///         let request = try connection.readRequest()
///         try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
///         try connection.waitForClose()
///     }
///     defer { server.stop() }
///     … server.url("/path") …
///
/// When the script returns, the connection is closed gracefully, unless the script has closed it.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (ServerConnection) throws -> Void

    package struct Options: Sendable {
        package var addresses = [Loopback.ipv4]
        /// Whether it listens on all addresses of those families, for network namespaces.
        package var isEverywhere = false
        /// Whether it accepts multipath TCP (RFC 8684).
        package var isMultipath = false
        package var backlog = 128
        /// The socket buffer sizes. Small ones cause back-pressure early. The kernel doubles the values.
        package var sendBufferSize: Int?
        package var receiveBufferSize: Int?
        /// The timeout of each call in a script.
        package var deadline = Duration.testDeadline

        package init() {}

        /// For a server in a `RemoteNetwork`.
        package static var everywhere: Self {
            var options = dualStack
            options.isEverywhere = true
            return options
        }

        package static var dualStack: Self {
            var options = Self()
            options.addresses = [.ipv4, .ipv6]
            return options
        }
    }

    private let core: ServerCore
    private let acceptor: JoinableThread
    private let isStopped = Watched(false)

    package init(
        _ options: Options = Options(), tls: TLSServerOptions? = nil, script: @escaping Script
    ) throws {
        let core = try ServerCore(options, tls: tls.map { try TLSServer($0) }, script: script)
        self.core = core
        acceptor = try JoinableThread(name: "test-acceptor") { core.acceptUntilStopped() }
    }

    deinit {
        stop()
    }

    /// Closes all connections and the port, and ends all threads. Waiting scripts get `ServerStopped`.
    package func stop() {
        let isFirst = isStopped.withValue { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        core.stopSwitch.stop()
        acceptor.join()
    }

    // MARK: Addresses

    package var port: Int { core.port }

    /// The host is the first address by default.
    package func url(_ path: String = "/", host: String? = nil) -> URL {
        var components = URLComponents()
        components.scheme = core.tls == nil ? "http" : "https"
        components.percentEncodedHost = host ?? core.host
        components.port = port
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        components.percentEncodedPath = parts.first.map(String.init) ?? "/"
        // What no URL contains is encoded: setting it would end the process.
        let allowed = CharacterSet.urlQueryAllowed.union(CharacterSet(charactersIn: "%"))
        components.percentEncodedQuery =
            parts.count > 1 ? parts[1].addingPercentEncoding(withAllowedCharacters: allowed) : nil
        return components.url ?? URL(fileURLWithPath: "/")
    }

    // MARK: Records

    package var connectionCount: Int { core.log.current.connections.count }
    /// In order of acceptance.
    package var connections: [ConnectionRecord] { core.log.current.connections }
    /// Every request that a script has read, connection by connection.
    package var requests: [ReceivedRequest] { connections.flatMap(\.requests) }
    /// The number of bytes that the kernel accepted from all connections.
    package var bytesAccepted: Int { connections.map(\.bytesAccepted).reduce(0, +) }
    /// The errors of scripts, except `ServerStopped`.
    package var failures: [any Error] { core.log.current.failures }

    /// Waits for a connection by its index.
    package func connection(_ index: Int, within deadline: Duration = .testDeadline) throws -> ConnectionRecord {
        try core.log.wait(for: "connection \(index)", within: deadline) { log in
            log.connections.count > index ? log.connections[index] : nil
        }
    }

    package func connection(_ index: Int, within deadline: Duration = .testDeadline) async throws -> ConnectionRecord {
        try await core.log.wait(for: "connection \(index)", within: deadline) { log in
            log.connections.count > index ? log.connections[index] : nil
        }
    }

    /// Waits until all scripts so far have ended, and throws the error of the first failed one.
    package func finish(within deadline: Duration = .testDeadline) throws {
        try core.log.wait(for: "the end of every script", within: deadline) { $0.running == 0 ? () : nil }
        if let failure = failures.first { throw failure }
    }

    package func finish(within deadline: Duration = .testDeadline) async throws {
        try await core.log.wait(for: "the end of every script", within: deadline) { $0.running == 0 ? () : nil }
        if let failure = failures.first { throw failure }
    }
}

extension ScriptedServer {
    /// A server, and a socket for datagrams on its port. A port that is free for TCP may be in use for datagrams, so
    /// several servers may be made; all but the last one are stopped.
    package static func withDatagrams<Socket>(
        _ makeServer: () throws -> ScriptedServer, on port: (Int) throws -> Socket
    ) throws -> (server: ScriptedServer, datagrams: Socket) {
        for _ in 0..<15 {
            let server = try makeServer()
            do {
                return (server, try port(server.port))
            } catch let failure as POSIXFailure where failure.code == EADDRINUSE {
                server.stop()
            }
        }
        let server = try makeServer()
        return (server, try port(server.port))
    }
}
