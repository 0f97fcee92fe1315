/// One way to reach a server: directly, or through a proxy.
package enum ProxyRoute: Sendable, Hashable {
    case direct
    /// Indirect, so that the copies which each load makes of its route are those of a reference at most.
    indirect case through(ProxyServer)
}

/// The routes to a server, in the order in which they are tried.
package struct ProxyRouteList: Sendable, Hashable {
    package let routes: [ProxyRoute]
    /// Why the PAC script gave no answer; nil if a script answered or none was needed.
    private var scriptFailure: ScriptFailure?

    private enum ScriptFailure: Sendable {
        case failed
        case needsCredentials
    }

    package init(_ routes: [ProxyRoute]) { self.routes = routes }

    package static func through(_ server: ProxyServer) -> ProxyRouteList { ProxyRouteList([.through(server)]) }

    package static let direct = ProxyRouteList([.direct])

    /// The settings require a proxy and name no usable one. The load fails: a direct connection would reveal the
    /// destination to the user's network.
    package static let noUsableProxy = ProxyRouteList([])

    /// No route, because the PAC script could not be loaded or run.
    package static let scriptFailed = ProxyRouteList(.failed)

    /// No route, because the server of the PAC script requires credentials.
    package static let scriptNeedsCredentials = ProxyRouteList(.needsCredentials)

    private init(_ failure: ScriptFailure) {
        routes = []
        scriptFailure = failure
    }

    /// Whether this is the answer of a script or of the desktop, and not the lack of one.
    var isAnswer: Bool { scriptFailure == nil }

    /// Why the list is empty.
    package func failure(_ service: ProxyFailure.Service) -> ProxyFailure {
        switch scriptFailure {
        case nil: .unusableSettings(service)
        case .failed: .scriptFailed
        case .needsCredentials: .scriptNeedsCredentials
        }
    }

    package var firstProxy: ProxyServer? {
        for case .through(let proxy) in routes { return proxy }
        return nil
    }
}

extension ProxyRouteList {
    /// Parses the output of libproxy: one proxy per line, "direct://" for a direct connection.
    ///
    /// Empty text means direct. Lines that cannot be parsed are skipped.
    package init(desktop text: String) {
        var routes: [ProxyRoute] = []
        let lines = text.utf8.prefix(PACResult.Limit.length).split(separator: UInt8(ascii: "\n"))
        for line in lines where routes.count < PACResult.Limit.routes {
            let line = String(Substring(line))
            let route: ProxyRoute? = line.hasPrefix("direct:") ? .direct : ProxyServer(line).map { .through($0) }
            if let route, !routes.contains(route) { routes.append(route) }
        }
        self = lines.isEmpty ? .direct : ProxyRouteList(routes)
    }
}
