internal import Glibc

/// A port of UDP on loopback where somebody listens and never answers.
package final class SilentDatagramPort: Sendable {
    package let port: Int
    private let descriptor: Watched<Int32>

    /// Without a port the kernel chooses one.
    package init(_ port: Int = 0) throws {
        let descriptor = socket(
            AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        guard Loopback.ipv4.withAddress(port: port, { bind(descriptor, $0, $1) }) == 0 else {
            let failure = POSIXFailure("bind")
            Glibc.close(descriptor)
            throw failure
        }
        self.descriptor = Watched(descriptor)
        self.port = Loopback.port(of: descriptor) { getsockname($0, $1, $2) }
    }

    deinit { close() }

    /// Whether anything has come since it was asked last.
    package var hasHeard: Bool {
        var byte: UInt8 = 0
        var isHeard = false
        while recv(descriptor.current, &byte, 1, 0) == 1 { isHeard = true }
        return isHeard
    }

    /// From now on nobody is there.
    package func close() {
        descriptor.withValue { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }
}
