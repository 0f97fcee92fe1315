internal import Foundation
internal import Glibc
internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

extension ProxyRules {
    /// The proxy rules of a session (C-17, C-18).
    init(_ session: SessionValues) {
        self.init(
            configurations: session.proxyConfigurations.map { ProxyConfigurationRules($0) },
            dictionary: session.proxySettings().map { ProxyDictionary($0.mapValues { .init($0) }) },
            system: session.proxyVariables.map { ProxyEnvironment($0) } ?? Self.environment,
            // Under CGI, HTTP_PROXY is set from a header field of the client, so libproxy must not read it.
            knowsDesktop: session.proxyVariables == nil && getenv("REQUEST_METHOD") == nil
                && ProxyResolver.knowsDesktop)
    }

    /// The settings of the process's environment now.
    private static var environment: ProxyEnvironment {
        ProxyEnvironment { name in getenv(name).map { String(cString: $0) } }
    }
}

extension ProxyDictionary.Value {
    fileprivate init(_ value: Any) {
        switch value {
        case let number as NSNumber: self = .number(number.intValue)
        case let text as String: self = .text(text)
        case let texts as [String]: self = .texts(texts)
        case let url as URL: self = .text(url.absoluteString)
        default: self = .other
        }
    }
}

extension ProxyConfigurationRules {
    fileprivate init(_ configuration: ProxyConfiguration) {
        let kind: ProxyServer.Kind =
            switch configuration.kind {
            case .httpCONNECT: .http
            case .secureHTTPCONNECT: .https
            case .socksv5: .socks5
            }
        let credential = configuration.username.map {
            ProxyCredential(user: $0, password: configuration.password ?? "")
        }
        var server: ProxyServer? =
            switch configuration.endpoint {
            case .hostPort(let host, let port):
                ProxyServer(kind: kind, host: host.description, port: Int(port.rawValue), credential: credential)
            }
        server?.alwaysTunnels = true
        self.init(
            server: server, allowsFailover: configuration.allowFailover, matchDomains: configuration.matchDomains,
            excludedDomains: configuration.excludedDomains)
    }
}

extension ProxyRoutes {
    /// The proxy routes of a session (C-17, C-18).
    convenience init(_ session: SessionValues, on loop: EventLoop) {
        self.init(ProxyRules(session), on: loop) { address, done in
            PACScriptFetch.start(address) { script in loop.post { done(script) } }
        }
    }
}
