/// The proxy settings of the environment variables, which are the system settings on Linux (PROXY-8).
package struct ProxyEnvironment: Sendable, Equatable {
    /// Nil for variables that are not set.
    private var http: ProxyRouteList?
    private var https: ProxyRouteList?
    private var ftp: ProxyRouteList?
    private var others: ProxyRouteList?
    private var exclusions = ProxyExclusions()

    /// - Parameter variables: All environment variables.
    package init(_ variables: [String: String]) { self.init { variables[$0] } }

    /// - Parameter variable: The value of an environment variable, nil if it is not set.
    package init(variable: (String) -> String?) {
        func value(_ name: String) -> String? {
            // An empty variable counts as not set.
            if let lower = variable(name), !lower.isEmpty { return lower }
            // In a CGI program, HTTP_PROXY is the client's field `Proxy`, and must not be trusted.
            if name == "http_proxy", variable("REQUEST_METHOD") != nil { return nil }
            return variable(name.uppercased()).flatMap { $0.isEmpty ? nil : $0 }
        }
        func route(_ name: String) -> ProxyRouteList? {
            value(name).map { text in ProxyServer(text).map(ProxyRouteList.through) ?? .noUsableProxy }
        }
        http = route("http_proxy")
        https = route("https_proxy")
        ftp = route("ftp_proxy")
        others = route("all_proxy")
        exclusions = ProxyExclusions(noProxy: value("no_proxy") ?? "")
    }

    var isEmpty: Bool { http == nil && https == nil && ftp == nil && others == nil }

    func route(for destination: ProxyDestination) -> ProxyRouteList {
        let own: ProxyRouteList? =
            switch destination.traffic {
            case .http: http
            case .https: https
            case .ftp: ftp
            case .other: nil
            }
        guard let route = own ?? others, !exclusions.contains(destination) else { return .direct }
        return route
    }
}
