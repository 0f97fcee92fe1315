/// A port on which the kernel accepts connections, and nothing is ever sent.
package final class SilentPort: Sendable {
    private let listener: BoundSocket

    package var port: Int { listener.port }

    /// Without a port the kernel chooses one.
    package init(on address: Loopback = .ipv4, port: Int = 0) throws {
        listener = try BoundSocket(address, port: port)
        try listener.listen(backlog: 16)
    }
}
