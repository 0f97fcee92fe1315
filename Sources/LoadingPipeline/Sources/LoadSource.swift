package import LoadingSemantics

/// The source of a load's bytes other than an HTTP server: a file, a `data:` URL, an FTP server or a protocol of the
/// caller. Confined to the session's loop.
package protocol LoadSource: AnyObject {
    /// Starts. Events are reported to `load` in a later turn of the loop.
    func start(for load: SourceLoad)
    /// Pauses or resumes the source. A source that cannot pause may continue: the load keeps its bytes.
    func setPaused(_ isPaused: Bool)
    /// The client has received everything. False if the source has work to do before the load ends; it then calls
    /// `load.sourceFinished()`.
    func isDelivered() -> Bool
    /// The client's answer to a challenge of the source.
    func answerChallenge(_ answer: AuthenticationAnswer)
    /// The point at which another download may resume after this one stops, with `delivered` bytes in the file `name`.
    func resumePoint(ofFile name: String, delivered: Int64) -> DownloadResumePoint?
    /// The partial file of an earlier download is unusable: the source starts from the beginning.
    func restart()
    var timeoutError: LoadError { get }
    /// Stops the source for good. Called once for each `start`, also after the source has reported its end.
    func stop()
}

extension LoadSource {
    package func isDelivered() -> Bool { true }
    package var timeoutError: LoadError { .timedOut }
    /// Most sources send no challenge.
    package func answerChallenge(_ answer: AuthenticationAnswer) {}
    /// Most sources cannot resume.
    package func restart() {}
    package func resumePoint(ofFile name: String, delivered: Int64) -> DownloadResumePoint? { nil }
}

/// The description of the bytes that follow.
package struct SourceResponse {
    package var mimeType: String?
    package var textEncodingName: String?
    /// -1 when unknown.
    package var expectedLength: Int64
    /// The length of the partial file, when the rest follows.
    package var resumedOffset: Int64?
    /// A response object of the caller's protocol, which the client receives in place of these values.
    package var object: AnyObject?

    package init(
        mimeType: String?, textEncodingName: String? = nil, expectedLength: Int64, object: AnyObject? = nil
    ) {
        self.mimeType = mimeType
        self.textEncodingName = textEncodingName
        self.expectedLength = expectedLength
        self.object = object
    }
}
