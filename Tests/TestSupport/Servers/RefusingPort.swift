/// A port that refuses connections: bound, so that it is reserved, but not listening.
package final class RefusingPort: Sendable {
    private let sockets: [BoundSocket]

    package var port: Int { sockets.first?.port ?? 0 }

    package init(on addresses: [Loopback] = [.ipv4]) throws {
        sockets = try BoundSocket.onOnePort(addresses)
    }

    /// The port of a server that listens on other addresses.
    package init(on address: Loopback, port: Int) throws {
        sockets = [try BoundSocket(address, port: port)]
    }
}
