/// Hosts and the domains of cookies, both in lower-case ASCII (RFC 6265bis §5.1.2, §5.1.3).
package enum CookieDomain {
    /// Whether a host is a domain or lies below it. An IP address lies below nothing.
    package static func matches(host: String, domain: String) -> Bool {
        let isBelow = CookieText.compare(host, domain) { host, domain in
            let start = host.count - domain.count
            guard start > 0, !domain.isEmpty, host[start - 1] == UInt8(ascii: ".") else { return false }
            for index in domain.indices where host[start + index] != domain[index] { return false }
            return true
        }
        return isBelow ? !isAddress(host) : host == domain
    }

    /// Whether a host is an IP address: of version 6 if it has a colon, and of version 4 if its last label is a number,
    /// which that of a name never is.
    package static func isAddress(_ host: String) -> Bool {
        var host = host
        return host.withUTF8 { host in
            var end = host.count
            if host.last == UInt8(ascii: ".") { end -= 1 }
            var start = end
            while start > 0, host[start - 1] != UInt8(ascii: ".") { start -= 1 }
            return start < end && host[start..<end].allSatisfy { $0 &- 0x30 < 10 } || host.contains(UInt8(ascii: ":"))
        }
    }
}
