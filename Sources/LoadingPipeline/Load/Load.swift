package import LoadingEvents
package import LoadingSemantics

/// A load as its task controls it, for any scheme: `HTTPLoad` for HTTP, other types for other sources. Confined to the
/// session's loop.
package protocol Load: AnyObject {
    func start(_ reason: LoadEvent.FetchReason)
    /// Stops the transfer, as far as it can be stopped, and the timeouts (T-2).
    func suspend()
    func resume()
    /// Ends the load with `error`, unless it has ended.
    func cancel(_ error: LoadError)
    /// Another load replaces this one, which ends without a call to the client. Does nothing if the load has ended.
    func abandon()
    /// Whether the load has ended, or has failed and only has to close its file.
    var hasEnded: Bool { get }
    func handOver(to client: any LoadClient)
    /// The client accepts more, after it had stopped the flow.
    func resumeReading()
    /// The client accepts the response. It may change the destination of the body.
    func answerResponse(_ destination: BodyDestination?)
    /// The client's decision on a redirect: the request to send, or nil to deliver the redirect itself as the response.
    func answerRedirect(_ next: LoadRequest?)
    /// The URL at another origin at which the client lets an upload resume; nil if it may not.
    func answerUploadMove(_ url: String?, without names: [String])
    /// The client's answer to a challenge.
    func answerChallenge(_ answer: AuthenticationAnswer)
    func setPriority(_ priority: Float)
    /// The point at which another download could resume if this one were abandoned. The bytes received are those in the
    /// file by then. Nil before the first write.
    var resumePointUnderWay: DownloadResumePoint? { get }
}

extension Load {
    package func answerResponse() { answerResponse(nil) }

    // Streams and WebSockets have no body, no redirects and no resumable transfers; for the task of a background
    // session, the service has them.
    package func abandon() {}
    package func handOver(to client: any LoadClient) {}
    package func resumeReading() {}
    package func answerResponse(_ destination: BodyDestination?) {}
    package func answerRedirect(_ next: LoadRequest?) {}
    package func answerUploadMove(_ url: String?, without names: [String]) {}
    package func answerChallenge(_ answer: AuthenticationAnswer) {}
    package func setPriority(_ priority: Float) {}
    package var resumePointUnderWay: DownloadResumePoint? { nil }
}
