internal import LoadingSemantics

extension URLProtectionSpace {
    /// The public protection space of one of the engine (AUTH-12).
    convenience init(_ space: ProtectionSpace) {
        let method =
            switch space.scheme {
            // FTP has only one method.
            case .basic where space.kind == .server(.ftp): NSURLAuthenticationMethodDefault
            case .basic: NSURLAuthenticationMethodHTTPBasic
            case .digest: NSURLAuthenticationMethodHTTPDigest
            case .ntlm: NSURLAuthenticationMethodNTLM
            case .negotiate: NSURLAuthenticationMethodNegotiate
            }
        switch space.kind {
        case .server(let kind):
            let name =
                switch kind {
                case .http: NSURLProtectionSpaceHTTP
                case .https: NSURLProtectionSpaceHTTPS
                case .ftp: NSURLProtectionSpaceFTP
                }
            self.init(
                host: space.host, port: Int(space.port), protocol: name, realm: space.effectiveRealm,
                authenticationMethod: method)
        case .proxy(let kind):
            let name =
                switch kind {
                case .http: NSURLProtectionSpaceHTTPProxy
                case .https: NSURLProtectionSpaceHTTPSProxy
                case .ftp: NSURLProtectionSpaceFTPProxy
                case .socks: NSURLProtectionSpaceSOCKSProxy
                }
            self.init(
                proxyHost: space.host, port: Int(space.port), type: name, realm: space.effectiveRealm,
                authenticationMethod: method)
        }
    }

    /// The equivalent spaces under which a program may have stored credentials: Basic also as the default method
    /// (AUTH-13), the default port also as 0 (AUTH-12), and an unnamed realm also as nil. A tunnel proxy also as an
    /// HTTP proxy, because both are often the same.
    func spellings(of space: ProtectionSpace) -> [URLProtectionSpace] {
        guard case .server(let kind) = space.kind else { return proxySpellings(of: space) }
        let methods =
            space.scheme == .basic && kind != .ftp
            ? [authenticationMethod, NSURLAuthenticationMethodDefault] : [authenticationMethod]
        let ports = space.port == kind.defaultPort ? [port, 0] : [port]
        return space.realmSpellings.flatMap { realm in
            methods.flatMap { method in
                ports.map { port in
                    URLProtectionSpace(
                        host: host, port: port, protocol: `protocol`, realm: realm, authenticationMethod: method)
                }
            }
        }
    }

    private func proxySpellings(of space: ProtectionSpace) -> [URLProtectionSpace] {
        let types = [proxyType] + (space.kind == .proxy(.https) ? [NSURLProtectionSpaceHTTPProxy] : [])
        let methods = [authenticationMethod] + (space.scheme == .basic ? [NSURLAuthenticationMethodDefault] : [])
        return space.realmSpellings.flatMap { realm in
            types.flatMap { type in
                methods.map { method in
                    URLProtectionSpace(
                        proxyHost: host, port: port, type: type, realm: realm, authenticationMethod: method)
                }
            }
        }
    }
}

extension ProtectionSpace {
    /// The realm, and also nil if the challenge names none.
    fileprivate var realmSpellings: [String?] { effectiveRealm == realm ? [realm] : [effectiveRealm, realm] }
}

extension URLProtectionSpace {
    /// Whether challenges of this space are connection-level. The session's delegate method gets these first (S-54).
    var concernsConnection: Bool {
        switch authenticationMethod {
        case NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
            true
        default: false
        }
    }
}
