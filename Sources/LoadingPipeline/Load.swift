package import LoadingEvents
package import LoadingSemantics

/// A load as its task steers it, whatever the scheme: `HTTPLoad` for HTTP, others for what comes from elsewhere. Confined to
/// the session's loop.
package protocol Load: AnyObject {
    func start(_ reason: LoadEvent.FetchReason)
    /// Stops what can be stopped, and the clocks (T-2).
    func suspend()
    func resume()
    /// Ends the load with `error`, unless it has ended.
    func cancel(_ error: LoadError)
    /// Another load replaces this one, which ends without a call to the client. Does nothing if the load has ended.
    func abandon()
    /// Whether the end is reached, or nothing but the file of a failed load is left to close.
    var hasEnded: Bool { get }
    /// From now on another client is told.
    func handOver(to client: any LoadClient)
    /// The client takes more after it said that it had enough.
    func resumeReading()
    /// The client lets the response through, and may have its body go elsewhere than it said at first.
    func answerResponse(_ destination: BodyDestination?)
    /// What the client makes of a redirect: follow this request, or nil to take the redirect itself as the response.
    func answerRedirect(_ next: LoadRequest?)
    /// Where the client lets an upload go on that is to go to another origin; nil: nowhere.
    func answerUploadMove(_ url: String?)
    /// The client's answer to a challenge.
    func answerChallenge(_ answer: AuthenticationAnswer)
    func setPriority(_ priority: Float)
    /// Where another download might go on if this one stopped without another word. What has come is what the file has
    /// by then. Nil before anything was written.
    var resumePointUnderWay: DownloadResumePoint? { get }
}

extension Load {
    package func answerResponse() { answerResponse(nil) }

    /// Nothing but HTTP has such uploads.
    package func answerUploadMove(_ url: String?) {}
}
