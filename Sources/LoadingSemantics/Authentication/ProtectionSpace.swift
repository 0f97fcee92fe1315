/// A realm of a server or proxy under one scheme: the scope of a credential (AUTH-12, RFC 9110 §11.5).
package struct ProtectionSpace: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case server(ServerProtocol)
        case proxy(ProxyKind)
    }

    package enum ServerProtocol: Sendable, Hashable {
        case http
        case https
        case ftp

        package var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .ftp: 21
            }
        }
    }

    /// AUTH-14
    package enum ProxyKind: Sendable, Hashable {
        case http
        case https
        case ftp
        case socks
    }

    package let kind: Kind
    /// In lower case.
    package let host: String
    package let port: UInt16
    package let realm: String?
    package let scheme: AuthenticationScheme

    /// - Parameter port: 0 means the default port of the protocol.
    package init(kind: Kind, host: String, port: UInt16, realm: String?, scheme: AuthenticationScheme) {
        self.kind = kind
        self.host = host.lowercased()
        if port == 0, case .server(let serverProtocol) = kind {
            self.port = serverProtocol.defaultPort
        } else {
            self.port = port
        }
        self.realm = realm
        self.scheme = scheme
    }

    /// The space of a challenge.
    package init(of option: AuthenticationOption, at peer: AuthenticationPeer) {
        self.init(
            kind: peer.kind, host: peer.host, port: peer.port, realm: option.challenge.realm, scheme: option.scheme)
    }

    /// The realm that challenges show and under which credentials are stored. A Basic challenge without the required
    /// realm (RFC 7617 §2) uses the host as its realm (AUTH-12).
    package var effectiveRealm: String? {
        guard realm == nil, scheme == .basic, kind != .server(.ftp) else { return realm }
        return host
    }

    package var isProxy: Bool {
        if case .proxy = kind { true } else { false }
    }

    /// Whether the password is protected from eavesdroppers on the path.
    package var receivesCredentialSecurely: Bool {
        kind == .server(.https) || scheme != .basic
    }
}
