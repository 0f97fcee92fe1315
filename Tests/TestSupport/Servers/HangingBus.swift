internal import Glibc

/// Listens where a message bus would, and has no room for another client: connecting waits until the last reference is
/// released, and fails then.
package final class HangingBus: Sendable {
    package let address: String

    private let folder: TemporaryDirectory
    private let sockets: [Int32]

    package init() throws {
        folder = try TemporaryDirectory()
        let path = folder.path + "/bus"
        address = "unix:path=\(path)"
        var sockets = [try Self.makeSocket()]
        guard Self.call({ bind($0, $1, $2) }, sockets[0], path), listen(sockets[0], 0) == 0 else {
            let failure = POSIXFailure("listen")
            close(sockets[0])
            throw failure
        }
        // The kernel queues one client more than it is asked to.
        while let next = try? Self.makeSocket() {
            sockets.append(next)
            if !Self.call({ connect($0, $1, $2) }, next, path) { break }
        }
        self.sockets = sockets
    }

    deinit { for socket in sockets { close(socket) } }

    private static func makeSocket() throws -> Int32 {
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(AF_UNIX, Int32(type), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        return descriptor
    }

    /// Binds or connects a socket to the path.
    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ socket: Int32, _ path: String
    ) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
