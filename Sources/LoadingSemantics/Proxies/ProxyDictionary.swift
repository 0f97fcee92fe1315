/// The settings of a `connectionProxyDictionary` (PROXY-1 to PROXY-4).
package struct ProxyDictionary: Sendable, Equatable {
    /// A value of the dictionary.
    package enum Value: Sendable, Equatable {
        case number(Int)
        case text(String)
        case texts([String])
        /// A type that no setting uses.
        case other
    }

    /// Nil for proxies that are not enabled.
    private var http: ProxyRouteList?
    private var https: ProxyRouteList?
    private var ftp: ProxyRouteList?
    private var socks: ProxyRouteList?
    /// The result of automatic configuration takes precedence over the explicit proxies.
    private var autoConfiguration: AutoConfiguration?
    private var exclusions = ProxyExclusions()

    /// Automatic configuration that is enabled.
    private enum AutoConfiguration: Sendable, Equatable {
        case script(PACScript)
        /// The script is missing or invalid, so it gives no result (PROXY-10).
        case impossible
    }

    /// - Parameter values: By key string. An empty dictionary means no proxy (PROXY-4).
    package init(_ values: [String: Value]) {
        let reader = Reader(values: values)
        let credential = reader.credential(user: "kCFProxyUsernameKey", password: "kCFProxyPasswordKey")
        let isSOCKS4 = reader.text("kCFStreamPropertySOCKSVersion") == "kCFStreamSocketSOCKSVersion4"
        let socksCredential = reader.credential(
            user: "kCFStreamPropertySOCKSUser", password: "kCFStreamPropertySOCKSPassword", needsPassword: !isSOCKS4)
        http = reader.route("HTTP", .http, credential)
        // The key names the kind of traffic, not the protocol of the proxy.
        https = reader.route("HTTPS", .http, credential)
        ftp = reader.route("FTP", .http, credential)
        socks = reader.route("SOCKS", isSOCKS4 ? .socks4 : .socks5, socksCredential ?? credential)
        autoConfiguration = reader.autoConfiguration
        exclusions = ProxyExclusions(
            exceptions: reader.texts("ExceptionsList"),
            excludesSimpleHostnames: reader.isSet("ExcludeSimpleHostnames"))
    }

    var isEmpty: Bool { http == nil && https == nil && ftp == nil && socks == nil && autoConfiguration == nil }

    func script(for destination: ProxyDestination) -> PACScript? {
        guard case .script(let script) = autoConfiguration, !exclusions.contains(destination) else { return nil }
        return script
    }

    /// - Parameter answer: The result of the script; nil if there is no script, or no result.
    func route(for destination: ProxyDestination, answer: ProxyRouteList?) -> ProxyRouteList {
        if exclusions.contains(destination) { return .direct }
        if autoConfiguration != nil, let answer, answer.isAnswer { return answer }
        let own: ProxyRouteList? =
            switch destination.traffic {
            case .http: http
            case .https: https
            case .ftp: ftp
            // A SOCKS proxy accepts any port. An HTTPS proxy tunnels as well (STREAM-9), but many allow only port 443.
            case .other: socks ?? https
            }
        // A direct connection would reveal the destination to the local network, which the script may exist to prevent.
        return own ?? socks ?? (autoConfiguration == nil ? .direct : answer ?? .scriptFailed)
    }
}

extension ProxyDictionary {
    private struct Reader {
        let values: [String: Value]

        /// Enabled means present and not zero.
        func isSet(_ key: String) -> Bool { number(key).map { $0 != 0 } ?? false }

        /// A SOCKS proxy is enabled without the key too: iOS has no constant for it, so programs give only the host and
        /// the port. A direct connection would reveal what they route through Tor.
        func isEnabled(_ name: String) -> Bool {
            isSet(name + "Enable") || name == "SOCKS" && values["SOCKSEnable"] == nil
        }

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

        /// A user without a password is ignored (PROXY-2): the proxy's challenge then asks for both. SOCKS4 has neither
        /// a password nor a challenge.
        func credential(user: String, password: String, needsPassword: Bool = true) -> ProxyCredential? {
            guard let user = text(user) else { return nil }
            if case .text(let password) = values[password] { return ProxyCredential(user: user, password: password) }
            return needsPassword ? nil : ProxyCredential(user: user, password: "")
        }

        func route(_ name: String, _ kind: ProxyServer.Kind, _ credential: ProxyCredential?) -> ProxyRouteList? {
            // Without a host the setting is ignored.
            guard isEnabled(name), let named = values[name + "Proxy"], named != .text("") else { return nil }
            guard case .text(let host) = named else { return .noUsableProxy }
            let port = values[name + "Port"] == nil ? 0 : number(name + "Port") ?? -1
            let server = ProxyServer(kind: kind, host: host, port: port, credential: credential)
            return server.map(ProxyRouteList.through) ?? .noUsableProxy
        }

        var autoConfiguration: AutoConfiguration? {
            guard isSet("ProxyAutoConfigEnable") else { return nil }
            if let source = text("ProxyAutoConfigJavaScript") { return .script(.source(PACScriptText(source))) }
            // Copied URLs often have surrounding white space.
            let written = (text("ProxyAutoConfigURLString") ?? "").drop(while: \.isWhitespace)
            let end = written.lastIndex { !$0.isWhitespace }.map(written.index(after:)) ?? written.startIndex
            let address = String(written[..<end])
            guard let url = try? HTTPURL(address), url.scheme.isHTTP else { return .impossible }
            return .script(.url(address))
        }
    }
}
