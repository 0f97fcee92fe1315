internal import CTestTLS
internal import Glibc

/// A UDP port on loopback that receives but never answers.
package final class SilentDatagramPort: Sendable {
    package let port: Int
    private let descriptor: Watched<Int32>

    package struct Datagram: Sendable {
        package let bytes: [UInt8]
        /// The traffic class octet with the ECN bits.
        package let mark: UInt8
    }

    /// Without a port the kernel chooses one.
    ///
    /// - Parameter coalesces: Whether segments of one GSO send are received as one (GRO).
    package init(_ port: Int = 0, coalesces: Bool = false) throws {
        let descriptor = socket(
            AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        guard Loopback.ipv4.withAddress(port: port, { bind(descriptor, $0, $1) }) == 0 else {
            let failure = POSIXFailure("bind")
            Glibc.close(descriptor)
            throw failure
        }
        ctt_tell_traffic_class(descriptor, coalesces ? 1 : 0)
        self.descriptor = Watched(descriptor)
        self.port = Loopback.port(of: descriptor) { getsockname($0, $1, $2) }
    }

    deinit { close() }

    /// Whether datagrams have arrived since the last call.
    package var hasReceived: Bool { !datagrams().isEmpty }

    /// The datagrams since the last call.
    package func datagrams() -> [Datagram] {
        var all: [Datagram] = []
        while true {
            var mark: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                let length = ctt_receive_datagram(descriptor.current, buffer.baseAddress, UInt(buffer.count), &mark)
                count = max(length, 0)
            }
            if bytes.isEmpty { return all }
            all.append(Datagram(bytes: bytes, mark: UInt8(truncatingIfNeeded: mark)))
        }
    }

    /// Closes the port.
    package func close() {
        descriptor.withValue { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }
}
