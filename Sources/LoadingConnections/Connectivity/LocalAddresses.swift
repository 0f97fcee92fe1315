internal import Glibc
internal import LoadingTransport

/// The addresses of this machine's interfaces that are up, at one moment.
struct LocalAddresses {
    private let addresses: Set<SocketAddress>

    /// Nil if the kernel does not tell.
    init?() {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var found: Set<SocketAddress> = []
        var entry = list
        while let interface = entry {
            entry = interface.pointee.ifa_next
            guard interface.pointee.ifa_flags & UInt32(IFF_UP) != 0, let address = interface.pointee.ifa_addr else {
                continue
            }
            let size = MemoryLayout<sockaddr_in6>.size
            switch Int32(address.pointee.sa_family) {
            case AF_INET:
                if let four = SocketAddress(sockaddr: address, count: MemoryLayout<sockaddr_in>.size) {
                    found.insert(four.with(port: 0))
                }
            case AF_INET6:
                if let six = SocketAddress(sockaddr: address, count: size) { found.insert(six.with(port: 0)) }
            default: break
            }
        }
        addresses = found
    }

    /// Whether it is one of them. All of 127.0.0.0/8 is there as long as one is.
    func contains(_ address: SocketAddress) -> Bool {
        if address.isLoopback { return addresses.contains { $0.isLoopback } }
        return addresses.contains(address.with(port: 0))
    }
}
