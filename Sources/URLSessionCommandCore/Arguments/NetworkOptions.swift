package import LoadingSemantics

/// Where connections go: proxies, addresses, sockets.
package struct NetworkOptions: Equatable, Sendable {
    /// A URL; empty for no proxy; nil for the system's settings.
    package var proxy: String?
    /// `NAME:PASSWORD`
    package var proxyUser: String?
    /// Hosts without a proxy; nil for the system's settings.
    package var noProxy: String?
    /// Everything that is asked of the connections themselves.
    package var destinations = ConnectionDestinations()

    package init() {}

    /// The URL of the proxy, checked: the library resolves no names for SOCKS proxies.
    static func proxy(_ value: String) throws(UsageError) -> String {
        if value.isEmpty { return "" }
        let parts = value.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
        switch scheme {
        case "http", "https", "socks5h", "socks4a": break
        case "socks", "socks4": throw UsageError("-x \(scheme)://: the proxy resolves names: use socks4a://")
        case "socks5": throw UsageError("-x socks5://: the proxy resolves names: use socks5h://")
        default: throw UsageError("-x takes http://, https://, socks5h:// or socks4a://, not '\(scheme)://'")
        }
        let rest = String(parts[parts.count - 1].prefix { $0 != "/" && $0 != "?" && $0 != "#" })
        let authority = rest.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard !authority.isEmpty, !authority.hasPrefix(":") else { throw UsageError("-x: the proxy has no host") }
        // Behind the brackets of an IPv6 address, if there are any.
        let end = authority[(authority.firstIndex(of: "]") ?? authority.startIndex)...]
        let port = end.firstIndex(of: ":").map { end[end.index(after: $0)...] }
        if let port, Self.port(port) == nil { throw UsageError("-x: '\(port)' is not a port") }
        // curl's default.
        return "\(scheme)://\(rest)" + (port != nil ? "" : scheme == "https" ? ":443" : ":1080")
    }

    /// `[+]HOST:PORT:ADDRESS[,ADDRESS]…`, or `-HOST:PORT` to take it back.
    mutating func resolve(_ value: String) throws(UsageError) {
        let advice = "--resolve needs HOST:PORT:ADDRESS, not '\(value)'"
        let isRemoval = value.hasPrefix("-")
        // A plus sign lets an entry expire, which makes no difference within one run.
        let text = value.hasPrefix("-") || value.hasPrefix("+") ? value.dropFirst() : value[...]
        let parts = Self.fields(text, count: isRemoval ? 2 : 3)
        guard parts.count == (isRemoval ? 2 : 3), let port = Self.port(parts[1][...]), !parts[0].isEmpty else {
            throw UsageError(advice)
        }
        guard !ConnectionDestinations.isAddress(parts[0]) else {
            throw UsageError("--resolve is about names, and '\(parts[0])' is an address: use --connect-to")
        }
        guard !isRemoval else { return destinations.forget(host: parts[0], port: port) }
        let addresses = parts[2].split(separator: ",").map { Self.withoutBrackets(String($0)) }
        guard destinations.resolve(host: parts[0], port: port, to: addresses) else { throw UsageError(advice) }
    }

    /// `HOST:PORT:HOST:PORT`; an empty host or port is any, or the same.
    mutating func connect(_ value: String) throws(UsageError) {
        let parts = Self.fields(value[...], count: 4)
        guard parts.count == 4, [parts[1], parts[3]].allSatisfy({ $0.isEmpty || Self.port($0[...]) != nil }) else {
            throw UsageError("--connect-to needs HOST:PORT:HOST:PORT, not '\(value)'")
        }
        destinations.connect(
            host: parts[0].isEmpty ? nil : parts[0], port: Self.port(parts[1][...]),
            toHost: parts[2].isEmpty ? nil : parts[2], port: Self.port(parts[3][...]))
    }

    /// Digits only, from 1 to 65,535.
    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = UInt16(text), port > 0 else { return nil }
        return port
    }

    /// Splits at colons, but not within the brackets of an IPv6 address. The last field takes the rest.
    private static func fields(_ text: Substring, count: Int) -> [String] {
        var fields: [String] = []
        var rest = text
        while fields.count < count - 1 {
            let end =
                rest.hasPrefix("[")
                ? rest.firstIndex(of: "]").flatMap { rest[$0...].firstIndex(of: ":") } : rest.firstIndex(of: ":")
            guard let end else { break }
            fields.append(withoutBrackets(String(rest[..<end])))
            rest = rest[rest.index(after: end)...]
        }
        return fields + [count == 3 ? String(rest) : withoutBrackets(String(rest))]
    }

    private static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}
