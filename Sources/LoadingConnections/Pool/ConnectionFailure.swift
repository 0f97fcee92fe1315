package import LoadingSemantics

/// Why no connection was made.
package struct ConnectionFailure: Error {
    package var error: LoadError
    /// The failure of the connection itself. If a proxy failed, `error` does not contain it (PROXY-10).
    package let reason: LoadError
    /// Whether the next route of a `ProxyRouteList` may be tried.
    package internal(set) var permitsNextRoute = false
    /// The phase that failed.
    package private(set) var phase = ConnectPhase.connection
    /// Whether it concerns trust or credentials, so that another request may succeed.
    package internal(set) var isPersonal: Bool

    package init(_ error: LoadError) {
        self.error = error
        reason = error
        isPersonal = -1299 ... -1200 ~= error.code
    }

    /// - Parameter proxy: Nil if the settings name no valid proxy.
    package init(_ failure: ProxyFailure, of proxy: ProxyServer?) {
        var error = failure.loadError
        error.proxy = proxy.map { FailedProxy($0, status: failure.status) }
        self.error = error
        reason = failure.reason ?? error
        permitsNextRoute = failure.permitsNextRoute
        if failure.reason == nil { phase = .tunnel }
        isPersonal = failure == .tunnelRefused(status: 407) || failure == .badCredentials
    }

    /// The TLS handshake with a proxy failed, so there is no connection to the proxy.
    init(_ error: LoadError, inHandshakeWith proxy: ProxyServer) {
        var error = error
        error.proxy = FailedProxy(proxy)
        self.init(error)
        permitsNextRoute = true
    }
}

/// The phases of a connection over a route, in order.
package enum ConnectPhase: Sendable {
    /// Name resolution of the first hop.
    case resolution
    /// The connection to the first hop, with its TLS handshake if the first hop is a proxy that requires TLS.
    case connection
    /// Establishing the tunnel through the proxy.
    case tunnel
}

/// The phase that the first hop of a route has not completed, and when it started, by the loop's clock. Nil, where it
/// is optional, if something else is awaited.
package struct PendingPhase: Sendable {
    package let phase: ConnectPhase
    package let since: Int64
}
