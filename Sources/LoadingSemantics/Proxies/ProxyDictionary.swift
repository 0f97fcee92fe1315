/// What a `connectionProxyDictionary` says (PROXY-1 to PROXY-4).
package struct ProxyDictionary: Sendable, Equatable {
    /// What may stand in a dictionary.
    package enum Value: Sendable, Equatable {
        case number(Int)
        case text(String)
        case texts([String])
        /// What no setting is.
        case other
    }

    /// Nil for what is not enabled.
    private var http: ProxyRouteList?
    private var https: ProxyRouteList?
    private var ftp: ProxyRouteList?
    private var socks: ProxyRouteList?
    /// Its answer comes before the proxies that the dictionary names itself.
    private var autoConfiguration: AutoConfiguration?
    private var exclusions = ProxyExclusions()

    /// A script that is enabled.
    private enum AutoConfiguration: Sendable, Equatable {
        case script(ProxyScript)
        /// None that there can be: it gives no answer (PROXY-10).
        case impossible
    }

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
        autoConfiguration = reader.autoConfiguration
        exclusions = ProxyExclusions(
            exceptions: reader.texts("ExceptionsList"),
            excludesSimpleHostnames: reader.isSet("ExcludeSimpleHostnames"))
    }

    var namesNone: Bool { http == nil && https == nil && ftp == nil && socks == nil && autoConfiguration == nil }

    func script(for destination: ProxyDestination) -> ProxyScript? {
        guard case .script(let script) = autoConfiguration, !exclusions.contains(destination) else { return nil }
        return script
    }

    /// - Parameter answer: What the script has said, if one was asked and has given an answer.
    func route(for destination: ProxyDestination, answer: ProxyRouteList?) -> ProxyRouteList {
        if exclusions.contains(destination) { return .direct }
        if autoConfiguration != nil, let answer, answer.isAnswer { return answer }
        let own: ProxyRouteList? =
            switch destination.traffic {
            case .http: http
            case .https: https
            case .ftp: ftp
            // A SOCKS proxy carries any port. A proxy for HTTPS makes tunnels as well (STREAM-9), but many only to port 443.
            case .other: socks ?? https
            }
        // To go directly would show the user's network what the script was to hide.
        return own ?? socks ?? (autoConfiguration == nil ? .direct : answer ?? .scriptFailed)
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
            case .texts, .other, nil: nil
            }
        }

        func text(_ key: String) -> String? {
            if case .text(let text) = values[key], !text.isEmpty { text } else { nil }
        }

        func texts(_ key: String) -> [String] {
            switch values[key] {
            case .texts(let texts): texts
            case .text(let text): [text]
            case .number, .other, nil: []
            }
        }

        /// The one without a password is as good as none (PROXY-2): a challenge asks for it.
        func credential(user: String, password: String) -> ProxyCredential? {
            guard let user = text(user), case .text(let password) = values[password] else { return nil }
            return ProxyCredential(user: user, password: password)
        }

        func route(_ name: String, _ kind: ProxyServer.Kind, _ credential: ProxyCredential?) -> ProxyRouteList? {
            // Without a host no proxy is named.
            guard isSet(name + "Enable"), let named = values[name + "Proxy"], named != .text("") else { return nil }
            guard case .text(let host) = named else { return .noUsableProxy }
            let port = values[name + "Port"] == nil ? 0 : number(name + "Port") ?? -1
            let server = ProxyServer(kind: kind, host: host, port: port, credential: credential)
            return server.map(ProxyRouteList.through) ?? .noUsableProxy
        }

        var autoConfiguration: AutoConfiguration? {
            guard isSet("ProxyAutoConfigEnable") else { return nil }
            if let source = text("ProxyAutoConfigJavaScript") { return .script(.source(ProxyScriptText(source))) }
            // It is often copied with what stands around it.
            let written = (text("ProxyAutoConfigURLString") ?? "").drop(while: \.isWhitespace)
            let end = written.lastIndex { !$0.isWhitespace }.map(written.index(after:)) ?? written.startIndex
            let address = String(written[..<end])
            guard let url = try? HTTPURL(address), url.scheme == .http || url.scheme == .https else {
                return .impossible
            }
            return .script(.url(address))
        }
    }
}
