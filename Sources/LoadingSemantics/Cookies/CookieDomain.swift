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
            if host.last == UInt8(ascii: ".") { end -= 1 }
            var start = end
            while start > 0, host[start - 1] != UInt8(ascii: ".") { start -= 1 }
            return start < end && isNumber(host[start..<end]) || host.contains(UInt8(ascii: ":"))
        }
    }

    private static func isNumber(_ label: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        if label.allSatisfy({ $0 &- 0x30 < 10 }) { return true }
        guard label.count >= 2, label.first == UInt8(ascii: "0"),
            asciiLowercase(label[label.startIndex + 1]) == UInt8(ascii: "x")
        else { return false }
        return label.dropFirst(2).allSatisfy { byte in
            byte &- 0x30 < 10 || asciiLowercase(byte) &- UInt8(ascii: "a") < 6
        }
    }
}
