internal import CLoadingLinux
internal import Glibc

/// An IPv4 or IPv6 address with a port, without a heap allocation.
package struct SocketAddress: Sendable, Hashable {
    package enum Family: UInt8, Sendable, Hashable {
        case ipv4, ipv6
    }

    package let family: Family
    package var port: UInt16
    /// The interface index of a link-local IPv6 address, otherwise 0.
    package let scope: UInt32
    /// The address as a 128-bit number. IPv4 uses the lowest 32 bits.
    private let high: UInt64
    private let low: UInt64

    private init(family: Family, port: UInt16, scope: UInt32, high: UInt64, low: UInt64) {
        self.family = family
        self.port = port
        self.scope = scope
        self.high = high
        self.low = low
    }

    /// Parses an IPv4 address, or an IPv6 address without brackets, optionally with "%" and a zone by name or number.
    /// Returns nil for anything else, including host names.
    package init?(literal text: String, port: UInt16) {
        // C functions would ignore text after NUL.
        if text.utf8.contains(0) { return nil }
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(
                family: .ipv4, port: port, scope: 0, high: 0, low: UInt64(UInt32(bigEndian: four.s_addr)))
            return
        }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var six = in6_addr()
        guard let address = parts.first, inet_pton(AF_INET6, String(address), &six) == 1 else { return nil }
        var scope: UInt32 = 0
        if parts.count == 2 {
            let zone = String(parts[1])
            scope = UInt32(zone) ?? if_nametoindex(zone)
            if scope == 0 { return nil }
        }
        self.init(six, port: port, scope: scope)
    }

    /// Reads a `sockaddr` of `count` bytes. Returns nil for other address families.
    package init?(sockaddr bytes: UnsafeRawPointer, count: Int) {
        guard count >= MemoryLayout<sa_family_t>.size else { return nil }
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            guard count >= MemoryLayout<sockaddr_in>.size else { return nil }
            let address = bytes.loadUnaligned(as: sockaddr_in.self)
            self.init(
                family: .ipv4, port: UInt16(bigEndian: address.sin_port), scope: 0, high: 0,
                low: UInt64(UInt32(bigEndian: address.sin_addr.s_addr)))
        case AF_INET6:
            guard count >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let address = bytes.loadUnaligned(as: sockaddr_in6.self)
            self.init(
                address.sin6_addr, port: UInt16(bigEndian: address.sin6_port), scope: address.sin6_scope_id)
        default:
            return nil
        }
    }

    private init(_ address: in6_addr, port: UInt16, scope: UInt32) {
        let (high, low) = withUnsafeBytes(of: address) { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(
            family: .ipv6, port: port, scope: scope, high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    }

    package func with(port: UInt16) -> SocketAddress {
        var copy = self
        copy.port = port
        return copy
    }

    /// Calls `body` with a `sockaddr_storage` that contains this address, and its length.
    package func withSockaddr<Result, Failure: Error>(
        _ body: (UnsafeRawPointer, UInt32) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var storage = sockaddr_storage()
        let length: Int
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(truncatingIfNeeded: low).bigEndian
            length = MemoryLayout<sockaddr_in>.size
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6Address
            address.sin6_scope_id = scope
            length = MemoryLayout<sockaddr_in6>.size
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in6.self) }
        }
        return try withUnsafePointer(to: storage) { pointer throws(Failure) in
            try body(UnsafeRawPointer(pointer), UInt32(length))
        }
    }

    package var withoutScope: SocketAddress {
        SocketAddress(family: family, port: port, scope: 0, high: high, low: low)
    }

    /// Whether the kernel has a route to this address. True if that cannot be determined. Sends nothing.
    package var hasRoute: Bool {
        let descriptor = datagramSocket()
        guard descriptor >= 0 else { return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(cll_errno()) }
        defer { close(descriptor) }
        return isConnected(descriptor)
    }

    /// The source address that the kernel would use for this destination; nil without a route. Sends nothing.
    package var preferredSource: SocketAddress? {
        let descriptor = datagramSocket()
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        guard isConnected(descriptor), cll_getsockname(descriptor, &storage, &length) == 0 else { return nil }
        return withUnsafeBytes(of: &storage) { bytes in
            bytes.baseAddress.flatMap { SocketAddress(sockaddr: $0, count: Int(length)) }
        }
    }

    private func datagramSocket() -> Int32 {
        cll_socket(family == .ipv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    }

    /// Connects a UDP socket to this address. Returns false if there is no route.
    private func isConnected(_ descriptor: Int32) -> Bool {
        withSockaddr { connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), $1) } == 0
    }

    /// 127.0.0.0/8, ::1, and IPv4-mapped 127.0.0.0/8.
    package var isLoopback: Bool {
        switch family {
        case .ipv4: low >> 24 == 127
        case .ipv6: high == 0 && (low == 1 || low >> 24 == 0xFF_FF7F)
        }
    }

    private var in6Address: in6_addr {
        var address = in6_addr()
        withUnsafeMutableBytes(of: &address) { bytes in
            bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The numeric address, without the port, with the zone as a number.
    package var description: String {
        let numeric = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let written: UnsafePointer<CChar>?
            switch family {
            case .ipv4:
                var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
                written = inet_ntop(AF_INET, &address, text.baseAddress, socklen_t(text.count))
            case .ipv6:
                var address = in6Address
                written = inet_ntop(AF_INET6, &address, text.baseAddress, socklen_t(text.count))
            }
            return written.map { String(cString: $0) } ?? ""
        }
        return scope == 0 ? numeric : "\(numeric)%\(scope)"
    }
}
