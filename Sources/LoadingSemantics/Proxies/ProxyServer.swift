/// A proxy server with its protocol and credentials.
package struct ProxyServer: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// HTTP over TCP.
        case http
        /// HTTP over TLS to the proxy.
        case https
        /// SOCKS4 for IPv4 addresses, SOCKS4a for names.
        case socks4
        /// SOCKS5 (RFC 1928). The proxy resolves names (PROXY-5).
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

    /// Whether http requests are sent to the proxy itself, which can read them.
    package var forwards: Bool { !kind.isSOCKS && !alwaysTunnels }

    package var hostPort: HostPort { HostPort(host, port) }

    package let kind: Kind
    /// Lower-case ASCII, without brackets. The zone of an IPv6 address follows "%".
    package let host: String
    package let port: UInt16
    package var credential: ProxyCredential?
    /// Whether http requests use a tunnel too.
    package var alwaysTunnels = false

    /// Returns nil if the host or port is invalid.
    ///
    /// - Parameters:
    ///   - host: A name or an IP address, the latter with or without brackets.
    ///   - port: 0 means the default port of the kind.
    package init?(kind: Kind, host: String, port: Int = 0, credential: ProxyCredential? = nil) {
        guard let host = Self.plainHost(host), let number = UInt16(exactly: port) else { return nil }
        self.kind = kind
        self.host = host
        self.port = number == 0 ? kind.defaultPort : number
        self.credential = credential
    }

    /// Parses "http://user:password@host:port". Only the host is required; the default scheme is `http` (PROXY-8). Text
    /// after the port is ignored.
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

    /// `socks` means SOCKS5, as in desktop settings.
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

    /// Splits "host", "host:port", "[address]", "[address]:port" or a bare IPv6 address. The port is 0 if it is
    /// missing.
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

    /// The host in the form of `HTTPURL.host`; nil if the text is not exactly a host.
    static func plainHost(_ host: String) -> String? {
        let hasBrackets = host.hasPrefix("[") && host.hasSuffix("]")
        let bare = hasBrackets ? String(host.dropFirst().dropLast()) : host
        // Characters that would end the host of a URL.
        let marks = "/?#@[]\\".utf8
        if bare.utf8.contains(where: marks.contains) { return nil }
        guard bare.utf8.contains(UInt8(ascii: ":")) else {
            return hasBrackets ? nil : (try? HTTPURL("http://\(bare)/"))?.host
        }
        guard IPAddressRange.bytes(String(bare.prefix { $0 != "%" })) != nil else { return nil }
        return (try? HTTPURL("http://[\(bare)]/"))?.host
    }
}

/// Credentials are omitted, because descriptions appear in logs.
extension ProxyServer: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(kind) \(authority)" }

    /// In the format of proxy environment variables.
    package var url: String { "\(kind)://\(authority)" }

    private var authority: String {
        guard host.utf8.contains(UInt8(ascii: ":")) else { return "\(host):\(port)" }
        let parts = host.split(separator: "%", maxSplits: 1)
        // RFC 6874. After a mere "%", a zone that begins with "25" would be read without these digits.
        return "[\(parts.joined(separator: "%25"))]:\(port)"
    }

    package var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}

/// A user and password for a proxy, from the proxy settings. Descriptions do not reveal them.
package struct ProxyCredential: Sendable, Hashable {
    package let user: String
    package let password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

extension ProxyCredential: CustomStringConvertible, CustomReflectable {
    package var description: String { "a user and a password" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
