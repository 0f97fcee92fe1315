package import LoadingSemantics

/// Why there is no connection.
package struct ConnectionFailure {
    package var error: LoadError
    /// Whether the next way of a `ProxyRoute` may be tried.
    package var permitsNextWay = false

    package init(_ error: LoadError) { self.error = error }

    init(_ failure: ProxyFailure) {
        error = failure.loadError
        permitsNextWay = failure.permitsNextWay
    }
}
