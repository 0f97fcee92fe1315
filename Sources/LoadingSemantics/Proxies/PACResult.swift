/// The result of `FindProxyForURL`: "PROXY a:80; SOCKS5 b:1080; DIRECT".
package struct PACResult: Sendable, Equatable {
    package enum Limit {
        /// The number of bytes that are parsed.
        package static let length = 64 << 10
        package static let routes = 32
    }

    /// Unknown entries are skipped. An empty result means direct. If all entries are skipped there is no route, because
    /// the script requires a proxy.
    package let route: ProxyRouteList

    package init(_ text: String) {
        var routes: [ProxyRoute] = []
        var isEmpty = text.utf8.count <= Limit.length
        for entry in Self.entries(text) where routes.count < Limit.routes {
            let words = entry.split { $0 <= 0x20 }
            guard let keyword = words.first else { continue }
            isEmpty = false
            guard let route = Self.route(keyword, words.dropFirst()), !routes.contains(route) else { continue }
            routes.append(route)
        }
        route = isEmpty ? .direct : ProxyRouteList(routes)
    }

    /// The entries that lie completely within the limit.
    private static func entries(_ text: String) -> [Substring.UTF8View] {
        let semicolon = UInt8(ascii: ";")
        var read = text.utf8[...]
        if read.count > Limit.length {
            let end = read.prefix(Limit.length).lastIndex(of: semicolon)
            read = end.map { read[..<$0] } ?? read.prefix(0)
        }
        return read.split(separator: semicolon)
    }

    private static func route(
        _ keyword: Substring.UTF8View, _ words: ArraySlice<Substring.UTF8View>
    ) -> ProxyRoute? {
        let kind: ProxyServer.Kind
        switch String(Substring(keyword)).uppercased() {
        case "DIRECT": return words.isEmpty ? .direct : nil
        case "PROXY", "HTTP": kind = .http
        case "HTTPS": kind = .https
        // Apple's system uses SOCKS5 for an unversioned SOCKS proxy.
        case "SOCKS", "SOCKS5": kind = .socks5
        case "SOCKS4": kind = .socks4
        default: return nil
        }
        guard words.count == 1, let address = words.first, let (host, port) = ProxyServer.hostAndPort(address) else {
            return nil
        }
        return ProxyServer(kind: kind, host: host, port: port).map(ProxyRoute.through)
    }
}
