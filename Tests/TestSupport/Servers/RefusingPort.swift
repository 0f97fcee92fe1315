/// A port that refuses every connection: bound, so that nobody else takes it, and not listening.
package final class RefusingPort: Sendable {
    private let sockets: [BoundSocket]

    package var port: Int { sockets.first?.port ?? 0 }

    package init(on addresses: [Loopback] = [.ipv4]) throws {
        sockets = try BoundSocket.onOnePort(addresses)
    }

    /// At the port of a server that listens on other addresses.
    package init(on address: Loopback, port: Int) throws {
        sockets = [try BoundSocket(address, port: port)]
    }
}
