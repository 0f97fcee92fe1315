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
    /// Whether it is about whom somebody trusts, or who he is: somebody else may fare otherwise.
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

    /// There is no TLS with a proxy, and so no connection to it, whoever of the two did not want it.
    init(_ error: LoadError, inHandshakeWith proxy: ProxyServer) {
        var error = error
        error.proxy = FailedProxy(proxy)
        self.init(error)
        permitsNextRoute = true
    }
}
