internal import LoadingSemantics

/// A request as seen by the server or proxy that sends a challenge.
enum AuthenticationSubject {
    /// A request to a server.
    case request(LoadRequest)
    /// A request to a proxy that loads it itself.
    case forwarded(LoadRequest, by: ProxyServer)
    /// A CONNECT request.
    case tunnel(to: ProxyDestination, by: ProxyServer)

    var peer: AuthenticationPeer {
        switch self {
        case .request(let request): AuthenticationPeer(serverOf: request.url)
        case .forwarded(let request, let proxy):
            AuthenticationPeer(proxy, as: request.url.scheme == .ftp ? .ftp : .http)
        case .tunnel(_, let proxy): AuthenticationPeer(proxy, as: .https)
        }
    }

    var method: String {
        switch self {
        case .request(let request), .forwarded(let request, _): request.method
        case .tunnel: "CONNECT"
        }
    }

    /// The request target, as in the request line.
    var target: String {
        switch self {
        case .request(let request): String(decoding: request.url.target, as: UTF8.self)
        case .forwarded(let request, _): String(decoding: request.url.absoluteForm, as: UTF8.self)
        case .tunnel(let destination, _): destination.authority
        }
    }

    var body: LoadBody {
        switch self {
        case .request(let request), .forwarded(let request, _): request.body
        case .tunnel: .none
        }
    }

    /// The user in the URL. It is not sent to a proxy.
    var userOfAddress: (user: String, password: String?)? {
        if case .request(let request) = self { request.url.credential ?? request.redirectedUser } else { nil }
    }

    /// The user in the proxy settings, which is tried first, without asking the client (PROXY-2).
    var userOfSettings: LoadCredential? {
        let credential: ProxyCredential? =
            switch self {
            case .request: nil
            case .forwarded(_, let proxy), .tunnel(_, let proxy): proxy.credential
            }
        return credential.map { LoadCredential(user: $0.user, password: $0.password, isKept: true) }
    }

    /// Whether the caller has set the credential field (AUTH-27).
    var hasCredentialField: Bool {
        switch self {
        case .request(let request): request.fields.contains(ChallengeSource.server.credentialField)
        case .forwarded(let request, _): request.fields.contains(ChallengeSource.proxy.credentialField)
        case .tunnel: false
        }
    }
}
