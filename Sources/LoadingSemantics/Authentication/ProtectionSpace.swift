/// Where a credential is good: a realm of a server or proxy, under one scheme (AUTH-12, RFC 9110 §11.5).
package struct ProtectionSpace: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
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

    package let place: Place
    /// In lower case.
    package let host: String
    package let port: UInt16
    package let realm: String?
    package let scheme: AuthenticationScheme

    /// - Parameter port: 0 for the protocol's own.
    package init(place: Place, host: String, port: UInt16, realm: String?, scheme: AuthenticationScheme) {
        self.place = place
        self.host = host.lowercased()
        if port == 0, case .server(let serverProtocol) = place {
            self.port = serverProtocol.defaultPort
        } else {
            self.port = port
        }
        self.realm = realm
        self.scheme = scheme
    }

    /// The space of who asks.
    package init(of option: AuthenticationOption, at peer: AuthenticationPeer) {
        self.init(
            place: peer.place, host: peer.host, port: peer.port, realm: option.challenge.realm, scheme: option.scheme)
    }

    /// The realm under which challenges are shown and credentials are stored. A Basic challenge has to name one (RFC 7617
    /// §2); one that does not has the name of its host for a realm (AUTH-12).
    package var effectiveRealm: String? {
        guard realm == nil, scheme == .basic, place != .server(.ftp) else { return realm }
        return host
    }

    package var isProxy: Bool {
        if case .proxy = place { true } else { false }
    }

    /// Whether nobody on the way can read the password.
    package var receivesCredentialSecurely: Bool {
        place == .server(.https) || scheme != .basic
    }
}
