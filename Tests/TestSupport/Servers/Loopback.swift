internal import Glibc

/// The loopback addresses, as socket addresses.
package enum Loopback: Sendable, Hashable, CaseIterable {
    case ipv4
    case ipv6

    /// The host in a URL.
    package var host: String {
        switch self {
        case .ipv4: "127.0.0.1"
        case .ipv6: "[::1]"
        }
    }

    /// Whether this process has a socket that is connected to the port.
    package static func hasConnection(to port: Int) -> Bool {
        (0..<getdtablesize()).contains { isConnected($0, to: port) }
    }

    /// The number of this process's UDP sockets that are connected to the port.
    package static func datagramSocketCount(to port: Int) -> Int {
        (0..<getdtablesize()).count { descriptor in
            var (kind, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            return isConnected(descriptor, to: port)
                && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &length) == 0
                && kind == Int32(SOCK_DGRAM.rawValue)
        }
    }

    private static func isConnected(_ descriptor: Int32, to port: Int) -> Bool {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutableBytes(of: &address) { bytes in
            getpeername(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return outcome == 0 && Int(UInt16(bigEndian: address.sin_port)) == port
    }

    var family: Int32 {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    /// A new stream socket that no child process inherits.
    func makeSocket(isMultipath: Bool = false) throws -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let multipath: Int32 = 262
        let descriptor = socket(family, type, isMultipath ? multipath : 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        if self == .ipv6 {
            var on: Int32 = 1
            setsockopt(
                descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        return descriptor
    }

    /// Calls `bind` or `connect` with this address, or `bind` with that of all interfaces.
    func withAddress(
        port: Int, isEverywhere: Bool = false, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        let port = in_port_t(truncatingIfNeeded: port).bigEndian
        switch self {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port
            address.sin_addr.s_addr = in_addr_t(isEverywhere ? INADDR_ANY : 0x7F00_0001).bigEndian
            return Self.withSockaddr(&address, body)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port
            address.sin6_addr = isEverywhere ? in6addr_any : in6addr_loopback
            return Self.withSockaddr(&address, body)
        }
    }

    private static func withSockaddr<Address>(
        _ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeBytes(of: &address) { bytes in
            guard let start = bytes.bindMemory(to: sockaddr.self).baseAddress else { return -1 }
            return body(start, socklen_t(bytes.count))
        }
    }

    /// The address family of a connected socket's peer.
    static func family(of descriptor: Int32) -> Self {
        var address = sockaddr()
        var length = socklen_t(MemoryLayout<sockaddr>.size)
        return getpeername(descriptor, &address, &length) == 0 && Int32(address.sa_family) == AF_INET6 ? .ipv6 : .ipv4
    }

    /// The port at one end of a socket of this family.
    static func port(
        of descriptor: Int32,
        by call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let start = bytes.bindMemory(to: sockaddr.self).baseAddress,
                call(descriptor, start, &length) == 0
            else { return 0 }
            // In both families the port follows the family.
            return Int(bytes.load(fromByteOffset: 2, as: in_port_t.self).bigEndian)
        }
    }
}
