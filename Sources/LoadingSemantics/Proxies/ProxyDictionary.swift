/// What a `connectionProxyDictionary` says (PROXY-1 to PROXY-4).
package struct ProxyDictionary: Sendable, Equatable {
    /// What may stand in a dictionary.
    package enum Value: Sendable, Equatable {
        case number(Int)
        case text(String)
        case texts([String])
    }

    /// Nil for what is not enabled.
    private var http: ProxyRoute?
    private var https: ProxyRoute?
    private var ftp: ProxyRoute?
    private var socks: ProxyRoute?
    /// Its answer comes before the proxies that the dictionary names itself.
    private var autoConfiguration: ProxyScript?
    private var exclusions = ProxyExclusions()

    /// - Parameter values: By the text of their keys. An empty dictionary means no proxy at all (PROXY-4).
    package init(_ values: [String: Value]) {
        let reader = Reader(values: values)
        let credential = reader.credential(user: "kCFProxyUsernameKey", password: "kCFProxyPasswordKey")
        let socksCredential = reader.credential(
            user: "kCFStreamPropertySOCKSUser", password: "kCFStreamPropertySOCKSPassword")
        http = reader.route("HTTP", .http, credential)
        // Names the traffic, not what the proxy speaks.
        https = reader.route("HTTPS", .http, credential)
        ftp = reader.route("FTP", .http, credential)
        socks = reader.route("SOCKS", .socks5, socksCredential ?? credential)
        autoConfiguration = reader.script
        exclusions = ProxyExclusions(
            exceptions: reader.texts("ExceptionsList"),
            excludesSimpleHostnames: reader.isSet("ExcludeSimpleHostnames"))
    }

    var namesNone: Bool { http == nil && https == nil && ftp == nil && socks == nil && autoConfiguration == nil }

    func script(for destination: ProxyDestination) -> ProxyScript? {
        exclusions.contains(destination) ? nil : autoConfiguration
    }

    /// - Parameter answer: What the script has said, if one was asked and has given an answer.
    func route(for destination: ProxyDestination, answer: ProxyRoute?) -> ProxyRoute {
        if exclusions.contains(destination) { return .direct }
        if autoConfiguration != nil, let answer { return answer }
        let own: ProxyRoute? =
            switch destination.traffic {
            case .http: http
            case .https: https
            case .ftp: ftp
            case .other: nil
            }
        // To go directly would show the user's network what the script was to hide.
        return own ?? socks ?? (autoConfiguration == nil ? .direct : .unknown)
    }
}

extension ProxyDictionary {
    private struct Reader {
        let values: [String: Value]

        /// "Enabled" is present and not zero.
        func isSet(_ key: String) -> Bool { number(key).map { $0 != 0 } ?? false }

        func number(_ key: String) -> Int? {
            switch values[key] {
            case .number(let number): number
            case .text(let text): Int(text)
            case .texts, nil: nil
            }
        }

        func text(_ key: String) -> String? {
            if case .text(let text) = values[key], !text.isEmpty { text } else { nil }
        }

        func texts(_ key: String) -> [String] {
            switch values[key] {
            case .texts(let texts): texts
            case .text(let text): [text]
            case .number, nil: []
            }
        }

        /// The one without a password is as good as none (PROXY-2): a challenge asks for it.
        func credential(user: String, password: String) -> ProxyCredential? {
            guard let user = text(user), case .text(let password) = values[password] else { return nil }
            return ProxyCredential(user: user, password: password)
        }

        func route(_ name: String, _ kind: ProxyServer.Kind, _ credential: ProxyCredential?) -> ProxyRoute? {
            // Without a host no proxy is named.
            guard isSet(name + "Enable"), let host = text(name + "Proxy") else { return nil }
            let port = values[name + "Port"] == nil ? 0 : number(name + "Port") ?? -1
            let server = ProxyServer(kind: kind, host: host, port: port, credential: credential)
            return server.map(ProxyRoute.through) ?? .blocked
        }

        var script: ProxyScript? {
            guard isSet("ProxyAutoConfigEnable") else { return nil }
            if let source = text("ProxyAutoConfigJavaScript") { return .source(ProxyScriptText(source)) }
            guard let address = text("ProxyAutoConfigURLString"), let url = try? HTTPURL(address),
                url.scheme == .http || url.scheme == .https
            else { return nil }
            return .url(address)
        }
    }
}
