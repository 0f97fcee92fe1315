internal import Glibc

/// A socket bound to a loopback port, listening or not. Closed with the last reference.
final class BoundSocket: Sendable {
    let descriptor: Int32
    let address: Loopback
    let port: Int

    /// Without a port the kernel chooses one.
    ///
    /// - Parameters:
    ///   - isEverywhere: Whether to bind to all addresses of that family.
    ///   - isAgain: Whether connections of an earlier user of the port may still be in TIME_WAIT.
    ///   - isMultipath: Whether to accept multipath TCP.
    init(
        _ address: Loopback, port: Int = 0, isEverywhere: Bool = false, isAgain: Bool = false, isMultipath: Bool = false
    ) throws {
        self.address = address
        descriptor = try address.makeSocket(isMultipath: isMultipath)
        let socket = descriptor
        if isAgain {
            var on: Int32 = 1
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        guard address.withAddress(port: port, isEverywhere: isEverywhere, { bind(socket, $0, $1) }) == 0 else {
            let failure = POSIXFailure("bind")
            close(descriptor)
            throw failure
        }
        self.port = Loopback.port(of: descriptor) { getsockname($0, $1, $2) }
    }

    deinit {
        close(descriptor)
    }

    /// Sockets on one port for several addresses.
    static func onOnePort(
        _ addresses: [Loopback], isEverywhere: Bool = false, isMultipath: Bool = false
    ) throws -> [BoundSocket] {
        // A port that is free for the first address may be in use for the next one, so try several.
        var failure: any Error = POSIXFailure("bind", code: EADDRINUSE)
        for _ in 0..<16 {
            do {
                var sockets: [BoundSocket] = []
                for address in addresses {
                    sockets.append(
                        try BoundSocket(
                            address, port: sockets.first?.port ?? 0, isEverywhere: isEverywhere,
                            isMultipath: isMultipath))
                }
                return sockets
            } catch {
                failure = error
            }
        }
        throw failure
    }

    func listen(backlog: Int) throws {
        guard Glibc.listen(descriptor, Int32(clamping: backlog)) == 0 else { throw POSIXFailure("listen") }
    }

    /// Accepted sockets inherit these.
    func set(_ option: Int32, to value: Int) {
        var value = Int32(clamping: value)
        setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
