package import LoadingSemantics

/// Why there is no connection.
package struct ConnectionFailure {
    package var error: LoadError
    /// What has happened to the connection itself, which `error` does not tell of one to a proxy (PROXY-10).
    package let reason: LoadError
    /// Whether the next way of a `ProxyRouteList` may be tried.
    package internal(set) var permitsNextRoute = false
    /// How far the way was gone.
    package private(set) var step = ConnectPhase.connection
    /// Whether it concerns trust or credentials: another request may succeed.
    package internal(set) var isPersonal: Bool

    package init(_ error: LoadError) {
        self.error = error
        reason = error
        isPersonal = -1299 ... -1200 ~= error.code
    }

    /// - Parameter proxy: Nil where the settings name none that there can be.
    package init(_ failure: ProxyFailure, of proxy: ProxyServer?) {
        var error = failure.loadError
        error.proxy = proxy.map { FailedProxy($0, status: failure.status) }
        self.error = error
        reason = failure.reason ?? error
        permitsNextRoute = failure.permitsNextRoute
        if failure.reason == nil { step = .tunnel }
        isPersonal = failure == .tunnelRefused(status: 407) || failure == .badCredentials
    }

    /// The TLS handshake with a proxy failed, so there is no connection to it.
    init(_ error: LoadError, inHandshakeWith proxy: ProxyServer) {
        var error = error
        error.proxy = FailedProxy(proxy)
        self.init(error)
        permitsNextRoute = true
    }
}

/// The steps of a route, in order.
package enum ConnectPhase: Sendable {
    /// The address of the first hop.
    case resolution
    /// The first connection, with its TLS where a proxy wants that.
    case connection
    /// That the proxy has made a tunnel.
    case tunnel
}

/// The step of a route that is awaited, and since when, by the loop's clock.
package struct PendingPhase: Sendable {
    package let step: ConnectPhase
    package let since: Int64
}
