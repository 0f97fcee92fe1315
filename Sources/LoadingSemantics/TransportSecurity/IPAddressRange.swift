internal import Glibc

/// A range of IP addresses with a common prefix (RFC 4632 §3.1, RFC 4291 §2.3): one address, or a network.
struct IPAddressRange: Sendable, Equatable {
    /// 4 or 16 bytes.
    private let bytes: [UInt8]
    /// The length of the prefix, in bits.
    let length: Int

    /// Parses "192.0.2.1", "192.0.2.0/24", "2001:db8::1" and "2001:db8::/32".
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let bytes = Self.bytes(String(Substring(first))) else { return nil }
        self.bytes = bytes
        guard parts.count > 1 else {
            length = bytes.count * 8
            return
        }
        guard (1...3).contains(parts[1].count), parts[1].allSatisfy({ $0 &- 0x30 < 10 }),
            let length = Int(Substring(parts[1])), length <= bytes.count * 8
        else { return nil }
        self.length = length
    }

    /// - Parameter host: As in `HTTPURL`. A zone is ignored.
    func contains(_ host: String) -> Bool {
        Self.bytes(String(host.prefix { $0 != "%" })).map(contains(address:)) ?? false
    }

    /// - Parameter other: 4 or 16 bytes.
    func contains(address other: [UInt8]) -> Bool {
        guard other.count == bytes.count else { return false }
        let whole = length / 8
        guard other.prefix(whole) == bytes.prefix(whole) else { return false }
        let rest = length % 8
        return rest == 0 || (other[whole] ^ bytes[whole]) >> (8 - rest) == 0
    }

    /// The bytes of an address, or nil if the text is not an address.
    static func bytes(_ text: String) -> [UInt8]? {
        if text.utf8.contains(0) { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
