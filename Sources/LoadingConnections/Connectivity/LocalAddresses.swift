internal import Glibc
internal import LoadingEvents
internal import LoadingTransport

/// The addresses of this machine's active interfaces at one moment.
struct LocalAddresses: Equatable {
    /// Whether the interface of each address has a carrier.
    private let carries: [SocketAddress: Bool]

    /// Nil if the kernel does not provide them.
    init?() {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var found: [SocketAddress: Bool] = [:]
        var entry = list
        while let interface = entry {
            entry = interface.pointee.ifa_next
            let flags = interface.pointee.ifa_flags
            guard flags & UInt32(IFF_UP) != 0, let address = interface.pointee.ifa_addr else { continue }
            let size =
                switch Int32(address.pointee.sa_family) {
                case AF_INET: MemoryLayout<sockaddr_in>.size
                case AF_INET6: MemoryLayout<sockaddr_in6>.size
                default: 0
                }
            guard let known = SocketAddress(sockaddr: address, count: size) else { continue }
            let hasCarrier = flags & UInt32(IFF_RUNNING) != 0
            // The kernel does not always include the interface (scope) in a socket's link-local address.
            for name in Set([known.with(port: 0), known.with(port: 0).withoutScope]) {
                found[name] = hasCarrier || found[name] ?? false
            }
        }
        carries = found
    }

    /// Whether the addresses are the same. An unplugged cable does not change them.
    static func == (left: Self, right: Self) -> Bool { left.carries.keys == right.carries.keys }

    /// Whether the address is one of them. All of 127.0.0.0/8 exists if one loopback address does.
    func contains(_ address: SocketAddress) -> Bool {
        if address.isLoopback { return carries.keys.contains { $0.isLoopback } }
        return carries[address.with(port: 0)] != nil
    }

    /// Whether packets from the address can leave: its interface has a carrier.
    func mayCarry(_ address: SocketAddress) -> Bool { address.isLoopback || carries[address.with(port: 0)] == true }
}

/// The machine's last known addresses, shared by the users of a store that is valid for one network.
package final class KnownNetwork: @unchecked Sendable {
    // Sendable because the addresses are guarded by `lock`.
    private let lock = Lock()
    private var addresses: LocalAddresses?

    package init() {}

    /// Stores the current addresses. Returns whether different ones were stored before.
    func changes(to addresses: LocalAddresses) -> Bool {
        lock.withLock {
            defer { self.addresses = addresses }
            return self.addresses.map { $0 != addresses } ?? false
        }
    }
}
