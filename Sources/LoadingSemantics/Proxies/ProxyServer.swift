/// A proxy: where it is, what it speaks, and who the user is to it.
package struct ProxyServer: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// HTTP in the clear.
        case http
        /// HTTP within TLS that ends at the proxy.
        case https
        /// SOCKS4 for IPv4 addresses, and SOCKS4a for names.
        case socks4
        /// SOCKS5 (RFC 1928). Names are the proxy's to resolve (PROXY-5).
        case socks5

        package var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .socks4, .socks5: 1080
            }
        }

        package var isSOCKS: Bool { self == .socks4 || self == .socks5 }
    }

    /// Whether it is asked to load requests itself that it may read.
    package var forwards: Bool { !kind.isSOCKS && !alwaysTunnels }

    package var hostPort: HostPort { HostPort(host, port) }

    package let kind: Kind
    /// Lower-case ASCII, without brackets; the zone of an IPv6 address follows after "%".
    package let host: String
    package let port: UInt16
    package var credential: ProxyCredential?
    /// Whether requests in the clear go through a tunnel too, and not to the proxy itself.
    package var alwaysTunnels = false

    /// Nil if there can be no such host or port.
    ///
    /// - Parameters:
    ///   - host: A name or an address, the latter with or without brackets.
    ///   - port: 0 for the kind's own.
    package init?(kind: Kind, host: String, port: Int = 0, credential: ProxyCredential? = nil) {
        guard let host = Self.plainHost(host), let number = UInt16(exactly: port) else { return nil }
        self.kind = kind
        self.host = host
        self.port = number == 0 ? kind.defaultPort : number
        self.credential = credential
    }

    /// Reads "http://user:password@host:port", of which host alone has to be there; without a scheme it is `http`
    /// (PROXY-8). What follows after the port has no meaning.
    package init?(_ text: String) {
        var rest = text.utf8[...]
        while let first = rest.first, first <= 0x20 { rest.removeFirst() }
        while let last = rest.last, last <= 0x20 { rest.removeLast() }
        var kind = Kind.http
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest[colon...].starts(with: "://".utf8) {
            guard let named = Self.kind(ofScheme: rest[..<colon]) else { return nil }
            kind = named
            rest = rest[rest.index(colon, offsetBy: 3)...]
        }
        let ends = "/?#".utf8
        var authority = rest.prefix { !ends.contains($0) }
        var credential: ProxyCredential?
        if let mark = authority.lastIndex(of: UInt8(ascii: "@")) {
            credential = Self.credential(authority[..<mark])
            authority = authority[authority.index(after: mark)...]
        }
        guard let (host, port) = Self.hostAndPort(authority) else { return nil }
        self.init(kind: kind, host: host, port: port, credential: credential)
    }

    /// `socks` alone is taken for version 5, as desktops write it.
    private static func kind(ofScheme scheme: Substring.UTF8View) -> Kind? {
        switch String(Substring(scheme)).lowercased() {
        case "http": .http
        case "https": .https
        case "socks", "socks5", "socks5h": .socks5
        case "socks4", "socks4a": .socks4
        default: nil
        }
    }

    private static func credential(_ userinfo: Substring.UTF8View) -> ProxyCredential? {
        let parts = userinfo.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let words = parts.map { String(decoding: PercentEncoding.decode($0) ?? Array($0), as: UTF8.self) }
        guard let user = words.first, !userinfo.isEmpty else { return nil }
        return ProxyCredential(user: user, password: words.count > 1 ? words[1] : "")
    }

    /// Cuts "host", "host:port", "[address]", "[address]:port" and a bare IPv6 address; port 0 where none is written.
    static func hostAndPort(_ authority: Substring.UTF8View) -> (host: String, port: Int)? {
        let text = String(Substring(authority))
        let colon = UInt8(ascii: ":")
        var portMark = authority.lastIndex(of: colon)
        if authority.first == UInt8(ascii: "[") {
            guard let bracket = authority.lastIndex(of: UInt8(ascii: "]")) else { return nil }
            let next = authority.index(after: bracket)
            guard next == authority.endIndex || authority[next] == colon else { return nil }
            portMark = next == authority.endIndex ? nil : next
        } else if IPAddressRange.bytes(String(text.prefix { $0 != "%" })) != nil {
            portMark = nil
        }
        guard let portMark else { return (text, 0) }
        let host = String(Substring(authority[..<portMark]))
        let digits = authority[authority.index(after: portMark)...]
        if digits.isEmpty { return (host, 0) }
        guard digits.count <= 5, digits.allSatisfy({ $0 &- 0x30 < 10 }), let port = Int(Substring(digits)), port > 0
        else { return nil }
        return (host, port)
    }

    /// The host as it would stand in an `HTTPURL`; nil for what is not a host and nothing else.
    static func plainHost(_ host: String) -> String? {
        let hasBrackets = host.hasPrefix("[") && host.hasSuffix("]")
        let bare = hasBrackets ? String(host.dropFirst().dropLast()) : host
        // Whatever would end the host of a URL.
        let marks = "/?#@[]\\".utf8
        if bare.utf8.contains(where: marks.contains) { return nil }
        guard bare.utf8.contains(UInt8(ascii: ":")) else {
            return hasBrackets ? nil : (try? HTTPURL("http://\(bare)/"))?.host
        }
        guard IPAddressRange.bytes(String(bare.prefix { $0 != "%" })) != nil else { return nil }
        return (try? HTTPURL("http://[\(bare)]/"))?.host
    }
}

/// Without the credential, which has no place in a log.
extension ProxyServer: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(kind) \(authority)" }

    /// As the variables of the environment have it.
    var url: String { "\(kind)://\(authority)" }

    private var authority: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    package var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}
