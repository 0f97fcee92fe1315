/// A proxy and the domains it applies to.
public struct ProxyConfiguration: Hashable, Sendable {
    /// The proxy protocol.
    package enum Kind: Hashable, Sendable {
        case httpCONNECT
        /// HTTP CONNECT over a TLS connection to the proxy.
        case secureHTTPCONNECT
        case socksv5
    }

    package let kind: Kind
    package let endpoint: NWEndpoint
    package private(set) var username: String?
    package private(set) var password: String?

    /// Whether to connect without the proxy if it cannot be reached. The default is false.
    public var allowFailover = false

    /// The domains, with their subdomains, that use the proxy; empty for all.
    public var matchDomains: [String] = []

    /// The domains, with their subdomains, that do not use the proxy.
    public var excludedDomains: [String] = []

    /// An HTTP CONNECT proxy (RFC 9110 §9.3.6). With `tlsOptions` the connection to the proxy uses TLS.
    public init(httpCONNECTProxy proxyEndpoint: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {
        kind = tlsOptions == nil ? .httpCONNECT : .secureHTTPCONNECT
        endpoint = proxyEndpoint
    }

    /// A SOCKS 5 proxy (RFC 1928).
    public init(socksv5Proxy proxyEndpoint: NWEndpoint) {
        kind = .socksv5
        endpoint = proxyEndpoint
    }

    /// Sets the credential for the proxy.
    public mutating func applyCredential(username: String, password: String) {
        self.username = username
        self.password = password
    }
}

/// Without the password, because descriptions are written to logs.
extension ProxyConfiguration: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch endpoint {
        case .hostPort(let host, let port): "\(kind) \(host):\(port)"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}
