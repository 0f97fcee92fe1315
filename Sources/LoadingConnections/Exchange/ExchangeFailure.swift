package import LoadingSemantics

/// Why an exchange came to nothing.
package struct ExchangeFailure {
    package var error: LoadError
    /// What decides whether the request may go out again (CONN-10, CONN-4).
    package var progress: LostExchange.Progress
    /// The server takes this request over HTTP/1.1 only.
    package var requiresHTTP1: Bool
    /// The connection is lost, and the server may be reached in another way.
    package var hasOtherWay: Bool

    package init(
        error: LoadError, progress: LostExchange.Progress, requiresHTTP1: Bool = false, hasOtherWay: Bool = false
    ) {
        self.error = error
        self.progress = progress
        self.requiresHTTP1 = requiresHTTP1
        self.hasOtherWay = hasOtherWay
    }
}
