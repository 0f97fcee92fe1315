package import LoadingSemantics

/// Why there is no connection.
package struct ConnectionFailure {
    package var error: LoadError
    /// Whether the next way of a `ProxyRoute` may be tried.
    package var permitsNextWay = false
    /// Whether it is about whom somebody trusts, or who he is: somebody else may fare otherwise.
    var isPersonal: Bool

    package init(_ error: LoadError) {
        self.error = error
        isPersonal = -1299 ... -1200 ~= error.code
    }

    init(_ failure: ProxyFailure) {
        error = failure.loadError
        permitsNextWay = failure.permitsNextWay
        isPersonal = failure == .tunnelRefused(status: 407) || failure == .badCredentials
    }
}
