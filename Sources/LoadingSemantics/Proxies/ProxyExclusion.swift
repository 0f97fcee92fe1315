/// One entry in a list of what no proxy is used for.
struct ProxyExclusion: Sendable, Equatable {
    private enum Hosts: Sendable, Equatable {
        case all
        case host(String)
        /// A host, and all below it.
        case domain(String)
        /// With "*" for any text.
        case pattern([UInt8])
        case addresses(IPAddressRange)
    }

    /// How a name is read that has neither a dot at its start nor a "*".
    enum Names {
        /// In `no_proxy`, as everybody reads it.
        case domains
        /// In the exceptions of a dictionary, which writes "*." for what is below.
        case hosts
    }

    private var hosts: Hosts
    private var port: UInt16?

    /// Reads "*", a name, a pattern, an address or a network, each with or without a port. Nil for anything else, so that
    /// what is not understood excludes nothing.
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

    /// An address or a network, which may stand in brackets, and which may leave out the zeros at its end, as in
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

    /// One step back to the last "*" is enough, so the time is at most the product of both lengths.
    private static func matches(_ text: [UInt8], _ pattern: [UInt8]) -> Bool {
        let star = UInt8(ascii: "*")
        var index = 0
        var place = 0
        var retry: (index: Int, place: Int)?
        while index < text.count {
            if place < pattern.count, pattern[place] == star {
                place += 1
                retry = (index, place)
            } else if place < pattern.count, pattern[place] == text[index] {
                index += 1
                place += 1
            } else if let last = retry {
                index = last.index + 1
                place = last.place
                retry = (index, place)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == star }
    }
}
