import Glibc

/// The sockets of this process that are connected to a loopback port.
enum ClientSockets {
    /// The value of a socket option of each of them.
    static func values(of option: Int32, at level: Int32, connectedTo port: Int) -> [Int32] {
        connected(to: port).compactMap { value(of: option, at: level, $0.descriptor) }
    }

    /// The traffic class of each of them.
    static func trafficClasses(connectedTo port: Int) -> [Int32] {
        connected(to: port).compactMap { descriptor, family in
            family == AF_INET6
                ? value(of: IPV6_TCLASS, at: Int32(IPPROTO_IPV6), descriptor)
                : value(of: IP_TOS, at: Int32(IPPROTO_IP), descriptor)
        }
    }

    /// The traffic class of the socket that is bound to the port.
    static func trafficClasses(from port: Int) -> [Int32] {
        (Int32(0)..<1024).compactMap { descriptor in
            var own = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &own) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard result == 0, own.sin_family == AF_INET, Int(UInt16(bigEndian: own.sin_port)) == port else {
                return nil
            }
            return value(of: IP_TOS, at: Int32(IPPROTO_IP), descriptor)
        }
    }

    private static func connected(to port: Int) -> [(descriptor: Int32, family: Int32)] {
        (Int32(0)..<1024).compactMap { descriptor in
            // In both families the port follows the family.
            var peer = sockaddr_in6()
            var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let result = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            let family = Int32(peer.sin6_family)
            guard result == 0, family == AF_INET || family == AF_INET6,
                Int(UInt16(bigEndian: peer.sin6_port)) == port
            else { return nil }
            return (descriptor, family)
        }
    }

    private static func value(of option: Int32, at level: Int32, _ descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, level, option, &value, &length) == 0 ? value : nil
    }
}
