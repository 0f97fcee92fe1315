internal import CLoadingOctets

/// Domain matching, with hosts and domains in lower-case ASCII (RFC 6265bis §5.1.2, §5.1.3).
package enum CookieDomain {
    /// Whether a host equals a domain or is a subdomain of it. An IP address has no parent domain.
    package static func matches(host: String, domain: String) -> Bool {
        let isBelow = CookieText.compare(host, domain) { host, domain in
            let start = host.count - domain.count
            guard start > 0, !domain.isEmpty, host[start - 1] == UInt8(ascii: ".") else { return false }
            for index in domain.indices where host[start + index] != domain[index] { return false }
            return true
        }
        return isBelow ? !isAddress(host) : host == domain
    }

    /// Whether a host is an IP address: IPv6 if it contains a colon, IPv4 if its last label is a number, which no
    /// top-level domain is. Resolvers take numbers in hexadecimal too.
    package static func isAddress(_ host: String) -> Bool {
        var host = host
        return host.withUTF8 { host in
            var end = host.count
            if end > 0, host[end - 1] == UInt8(ascii: ".") { end -= 1 }
            var start = end
            while start > 0, host[start - 1] != UInt8(ascii: ".") { start -= 1 }
            return start < end && isNumber(UnsafeBufferPointer(rebasing: host[start..<end]))
                || clo_index_of(host.baseAddress, 0, host.count, UInt8(ascii: ":")) < host.count
        }
    }

    private static func isNumber(_ label: UnsafeBufferPointer<UInt8>) -> Bool {
        let digits = clo_ascii_set(low: 0x03FF_0000_0000_0000, high: 0)
        if clo_end_of_set(label.baseAddress, 0, label.count, digits) == label.count { return true }
        guard label.count >= 2, label[0] == UInt8(ascii: "0"), asciiLowercase(label[1]) == UInt8(ascii: "x") else {
            return false
        }
        let hexadecimal = clo_ascii_set(low: digits.low, high: 0x0000_007E_0000_007E)
        return clo_end_of_set(label.baseAddress, 2, label.count, hexadecimal) == label.count
    }
}
