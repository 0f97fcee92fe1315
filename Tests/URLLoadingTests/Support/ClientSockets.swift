import Glibc

/// The sockets of this process that are connected to a port of loopback.
enum ClientSockets {
    /// What an option of each of them is, where it can be told.
    static func values(of option: Int32, at level: Int32, connectedTo port: Int) -> [Int32] {
        (Int32(0)..<1024).compactMap { descriptor in
            var peer = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            guard result == 0, peer.sin_family == AF_INET, Int(UInt16(bigEndian: peer.sin_port)) == port else {
                return nil
            }
            var value: Int32 = 0
            length = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, level, option, &value, &length) == 0 ? value : nil
        }
    }
}
