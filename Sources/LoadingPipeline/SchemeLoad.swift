package import LoadingSemantics

/// A load as its task steers it, whatever the scheme: `Load` for HTTP, others for what comes from elsewhere. Confined to
/// the session's loop.
package protocol SchemeLoad: AnyObject {
    func start()
    /// Stops what can be stopped, and the clocks (T-2).
    func suspend()
    func resume()
    /// Ends the load with `error`, unless it has ended.
    func cancel(_ error: LoadError)
    /// From now on another client is told.
    func handOver(to client: any LoadClient)
    /// The client takes more after it said that it had enough.
    func resumeReading()
    /// The client lets the response through, and may have its body go elsewhere than it said at first.
    func answerResponse(_ destination: BodyDestination?)
    /// What the client makes of a redirect: follow this request, or nil to take the redirect itself as the response.
    func answerRedirect(_ next: LoadRequest?)
    /// What the client says to a question of the server's.
    func answerChallenge(_ answer: AuthenticationAnswer)
    func setPriority(_ priority: Float)
}

extension SchemeLoad {
    package func answerResponse() { answerResponse(nil) }
    /// For those that never ask.
    package func answerChallenge(_ answer: AuthenticationAnswer) {}
}
