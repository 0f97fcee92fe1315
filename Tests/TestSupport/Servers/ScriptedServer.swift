package import Foundation

/// A server, on loopback unless its options say otherwise, that runs a script for each connection, on a thread of its own.
///
///     let server = try ScriptedServer { connection in
///         let request = try connection.readRequest()
///         try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
///         try connection.waitForClose()
///     }
///     defer { server.stop() }
///     … server.url("/path") …
///
/// When the script returns, the connection is closed in order, unless the script has ended it in its own way.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (ServerConnection) throws -> Void

    package struct Options: Sendable {
        package var addresses = [Loopback.ipv4]
        /// Whether it listens at all addresses of those families, for a network of the test's own.
        package var isEverywhere = false
        /// Whether clients may come by several ways at once (RFC 8684).
        package var isMultipath = false
        package var backlog = 128
        /// The kernel's buffers; small ones make back-pressure show early. The kernel doubles the numbers.
        package var sendBufferSize: Int?
        package var receiveBufferSize: Int?
        /// How long a call in a script waits for the client.
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

    /// Ends every connection and thread, and closes the port. Scripts see `ServerStopped` thrown out of their waits.
    package func stop() {
        let isFirst = isStopped.withValue { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        core.stopSwitch.stop()
        acceptor.join()
    }

    // MARK: Where it is

    package var port: Int { core.port }

    /// With the first of the addresses as host unless another is given.
    package func url(_ path: String = "/", host: String? = nil) -> URL {
        var components = URLComponents()
        components.scheme = core.tls == nil ? "http" : "https"
        components.percentEncodedHost = host ?? core.host
        components.port = port
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        components.percentEncodedPath = parts.first.map(String.init) ?? "/"
        components.percentEncodedQuery = parts.count > 1 ? String(parts[1]) : nil
        return components.url ?? URL(fileURLWithPath: "/")
    }

    // MARK: What it saw

    package var connectionCount: Int { core.log.current.connections.count }
    /// In the order in which they were accepted.
    package var connections: [ConnectionRecord] { core.log.current.connections }
    /// Every request that a script has read, connection by connection.
    package var requests: [ReceivedRequest] { connections.flatMap(\.requests) }
    /// What the kernel took from all connections, in bytes of the wire.
    package var bytesAccepted: Int { connections.map(\.bytesAccepted).reduce(0, +) }
    /// What scripts threw, other than for being stopped.
    package var failures: [any Error] { core.log.current.failures }

    /// Waits for a connection, by its place in the order of acceptance.
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

    /// Waits until every script so far has ended, and throws what the first failing one threw.
    package func finish(within deadline: Duration = .testDeadline) throws {
        try core.log.wait(for: "the end of every script", within: deadline) { $0.running == 0 ? () : nil }
        if let failure = failures.first { throw failure }
    }

    package func finish(within deadline: Duration = .testDeadline) async throws {
        try await core.log.wait(for: "the end of every script", within: deadline) { $0.running == 0 ? () : nil }
        if let failure = failures.first { throw failure }
    }
}
