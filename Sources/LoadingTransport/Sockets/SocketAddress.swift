internal import Glibc

/// An address and port of IPv4 or IPv6, without a heap allocation.
package struct SocketAddress: Hashable, Sendable {
    /// The 16 bytes of an IPv6 address, or the 4 of an IPv4 one and zeros, in the order of the network.
    private var high: UInt64
    private var low: UInt64
    /// Which link a link-local IPv6 address belongs to; else 0.
    private var scope: UInt32
    package var port: UInt16
    package let isIPv6: Bool

    /// From what the kernel or the resolver gives; nil for other families.
    package init?(sockaddr bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= MemoryLayout<sa_family_t>.size else { return nil }
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
            let address = bytes.loadUnaligned(as: sockaddr_in.self)
            high = UInt64(UInt32(bigEndian: address.sin_addr.s_addr)) << 32
            low = 0
            scope = 0
            port = UInt16(bigEndian: address.sin_port)
            isIPv6 = false
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            let address = bytes.loadUnaligned(as: sockaddr_in6.self)
            (high, low) = withUnsafeBytes(of: address.sin6_addr) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            scope = address.sin6_scope_id
            port = UInt16(bigEndian: address.sin6_port)
            isIPv6 = true
        default:
            return nil
        }
    }

    /// From a literal as it stands in a URL's host, without brackets; a scope may follow "%". Nil for a name.
    package init?(literal text: String, port: UInt16) {
        var ipv4 = in_addr()
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            high = UInt64(UInt32(bigEndian: ipv4.s_addr)) << 32
            low = 0
            scope = 0
            isIPv6 = false
            self.port = port
            return
        }
        let parts = text.split(separator: "%", maxSplits: 1)
        guard let first = parts.first else { return nil }
        var ipv6 = in6_addr()
        guard inet_pton(AF_INET6, String(first), &ipv6) == 1 else { return nil }
        (high, low) = withUnsafeBytes(of: ipv6) {
            (
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        scope = parts.count == 2 ? UInt32(parts[1]) ?? if_nametoindex(String(parts[1])) : 0
        isIPv6 = true
        self.port = port
    }

    package func withPort(_ port: UInt16) -> SocketAddress {
        var copy = self
        copy.port = port
        return copy
    }

    /// Calls `body` with the form that the kernel takes.
    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &address.sin6_addr) {
                $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withUnsafeBytes(of: &address) { call(body, with: $0) }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(truncatingIfNeeded: high >> 32).bigEndian
        return withUnsafeBytes(of: &address) { call(body, with: $0) }
    }

    private func call<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result, with bytes: UnsafeRawBufferPointer
    ) -> Result {
        // Never nil: the buffer is a whole struct of the caller's.
        bytes.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress!, socklen_t(bytes.count)) }
    }

    package var isLoopback: Bool {
        isIPv6 ? high == 0 && low == 1 : high >> 56 == 127
    }

    /// The address in numbers, without port.
    package var hostText: String {
        withSockaddr { address, length in
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
                return ""
            }
            return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String { isIPv6 ? "[\(hostText)]:\(port)" : "\(hostText):\(port)" }
}
