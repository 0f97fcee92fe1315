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
    /// Whether the connection has carried no other request.
    package var wasAlone: Bool
    /// When the server last answered anybody over such connections, by the loop's clock; 0 if that is not known.
    package var lastAnswer: Int64

    package init(
        error: LoadError, progress: LostExchange.Progress, requiresHTTP1: Bool = false, hasOtherWay: Bool = false,
        wasAlone: Bool = true, lastAnswer: Int64 = 0
    ) {
        self.error = error
        self.progress = progress
        self.requiresHTTP1 = requiresHTTP1
        self.hasOtherWay = hasOtherWay
        self.wasAlone = wasAlone
        self.lastAnswer = lastAnswer
    }
}
