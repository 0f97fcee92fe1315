internal import Glibc

/// A port with a full accept queue, so that connecting neither succeeds nor fails.
///
/// With a backlog of zero Linux queues one connection; the SYNs of the others are dropped.
package final class SaturatedPort: Sendable {
    private let listener: BoundSocket
    private let queued: Int32

    package var port: Int { listener.port }

    /// Without a port the kernel chooses one.
    package init(on address: Loopback = .ipv4, port: Int = 0) throws {
        listener = try BoundSocket(address, port: port)
        try listener.listen(backlog: 0)
        queued = try address.makeSocket()
        let socket = queued
        guard address.withAddress(port: listener.port, { connect(socket, $0, $1) }) == 0 else {
            // `deinit` closes it.
            throw POSIXFailure("connect")
        }
    }

    deinit {
        close(queued)
    }
}
