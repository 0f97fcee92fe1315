/// A proxy, and the hosts it is for.
public struct ProxyConfiguration: Hashable, Sendable {
    /// What the proxy speaks.
    package enum Kind: Hashable, Sendable {
        case httpCONNECT
        /// The same within TLS that ends at the proxy.
        case secureHTTPCONNECT
        case socksv5
    }

    package let kind: Kind
    package let endpoint: NWEndpoint
    package private(set) var username: String?
    package private(set) var password: String?

    /// Whether to go on without the proxy when it cannot be reached; false unless set.
    public var allowFailover = false

    /// The domains the proxy is for, with their subdomains; empty for all.
    public var matchDomains: [String] = []

    /// The domains the proxy is not for, with their subdomains.
    public var excludedDomains: [String] = []

    /// A proxy that makes tunnels on request (RFC 9110 §9.3.6), reached in the clear, or by TLS with options for that.
    public init(httpCONNECTProxy proxyEndpoint: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {
        kind = tlsOptions == nil ? .httpCONNECT : .secureHTTPCONNECT
        endpoint = proxyEndpoint
    }

    /// A SOCKS proxy of version 5 (RFC 1928).
    public init(socksv5Proxy proxyEndpoint: NWEndpoint) {
        kind = .socksv5
        endpoint = proxyEndpoint
    }

    /// The name and the password to show the proxy.
    public mutating func applyCredential(username: String, password: String) {
        self.username = username
        self.password = password
    }
}

/// Without the password, which has no place in a log.
extension ProxyConfiguration: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch endpoint {
        case .hostPort(let host, let port): "\(kind) \(host):\(port)"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}
