/// Upgrades URLs to secure schemes (RFC 6797 §8.3).
package enum SecureURL {
    /// Changes `http` to `https` and `ws` to `wss`. Port 80 is removed, other ports are kept. Everything else is
    /// unchanged.
    ///
    /// - Parameter port: The port of the URL.
    package static func upgrade(_ url: String, port: UInt16) -> String {
        var reference = URLReference(Array(url.utf8))
        guard let scheme = reference.scheme else { return url }
        reference.scheme = Array((scheme.count == 2 ? "wss" : "https").utf8)[...]
        if port == 80, let authority = reference.authority {
            let hostStart = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
            // IPv6 hosts, which contain colons, are never upgraded.
            reference.authority =
                authority[..<(authority[hostStart...].firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex)]
        }
        return String(decoding: reference.bytes, as: UTF8.self)
    }
}
