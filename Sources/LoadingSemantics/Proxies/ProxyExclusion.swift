/// One entry of a list of hosts that are reached without a proxy.
struct ProxyExclusion: Sendable, Equatable {
    private enum Hosts: Sendable, Equatable {
        case all
        case host(String)
        /// A host and its subdomains.
        case domain(String)
        /// "*" matches any text.
        case pattern([UInt8])
        case addresses(IPAddressRange)
    }

    /// How a name without a leading dot and without "*" is interpreted.
    enum Names {
        /// As a domain with its subdomains, as in `no_proxy`.
        case domains
        /// As one host. A proxy dictionary uses "*." for subdomains.
        case hosts
    }

    private var hosts: Hosts
    private var port: UInt16?

    /// Parses "*", a name, a pattern, an IP address or a network, optionally with a port. Returns nil for anything
    /// else, so that an invalid entry excludes nothing.
    init?(_ entry: Substring, names: Names) {
        if let range = Self.range(String(entry)) {
            hosts = .addresses(range)
            return
        }
        guard let (text, number) = ProxyServer.hostAndPort(entry.utf8), let port = UInt16(exactly: number) else {
            return nil
        }
        self.port = port == 0 ? nil : port
        if let range = Self.range(text) {
            hosts = .addresses(range)
        } else if text == "*" {
            hosts = .all
        } else if text.contains("*") {
            hosts = .pattern(text.utf8.map(asciiLowercase))
        } else {
            let isBelow = text.hasPrefix(".")
            guard var name = ProxyServer.plainHost(isBelow ? String(text.dropFirst()) : text) else { return nil }
            if name.hasSuffix(".") { name.removeLast() }
            if name.isEmpty { return nil }
            hosts = isBelow || names == .domains ? .domain(name) : .host(name)
        }
    }

    func matches(_ destination: ProxyDestination) -> Bool {
        if let port, port != destination.port { return false }
        switch hosts {
        case .all: return true
        case .host(let name): return destination.plainHost == name
        case .domain(let name): return CookieDomain.matches(host: destination.plainHost, domain: name)
        case .pattern(let pattern): return Self.matches(Array(destination.plainHost.utf8), pattern)
        case .addresses(let range): return destination.plainAddress.map(range.contains(address:)) ?? false
        }
    }

    /// Parses an IP address or a network, optionally in brackets. Trailing zero octets may be omitted, as in
    /// "169.254/16".
    private static func range(_ text: String) -> IPAddressRange? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var address = String(parts.first ?? "")
        if address.hasPrefix("["), address.hasSuffix("]") { address = String(address.dropFirst().dropLast()) }
        guard parts.count > 1 else { return IPAddressRange(address) }
        if !address.contains(":") {
            let missing = 4 - address.split(separator: ".", omittingEmptySubsequences: false).count
            if missing > 0 { address += String(repeating: ".0", count: missing) }
        }
        return IPAddressRange("\(address)/\(parts[1])")
    }

    /// Backtracks only to the last "*", so the time is at most the product of both lengths.
    private static func matches(_ text: [UInt8], _ pattern: [UInt8]) -> Bool {
        let star = UInt8(ascii: "*")
        var index = 0
        var position = 0
        var retry: (index: Int, position: Int)?
        while index < text.count {
            if position < pattern.count, pattern[position] == star {
                position += 1
                retry = (index, position)
            } else if position < pattern.count, pattern[position] == text[index] {
                index += 1
                position += 1
            } else if let last = retry {
                index = last.index + 1
                position = last.position
                retry = (index, position)
            } else {
                return false
            }
        }
        return pattern[position...].allSatisfy { $0 == star }
    }
}
