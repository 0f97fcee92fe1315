package import LoadingSemantics

/// Where a load's bytes come from when no server of HTTP sends them: a file, an address that has them in itself, a
/// protocol of the caller's. Confined to the session's loop.
package protocol LoadSource: AnyObject {
    /// Begins; what comes of it is told to `load`, in a later turn of the loop.
    func start(for load: SourceLoad)
    /// Whether more is wanted for now. A source that cannot be stopped may go on: what it gives is put by.
    func setPaused(_ isPaused: Bool)
    /// The client has all that the source gave. False when the source has something to do before the load ends, and says
    /// `load.mayEnd()` then.
    func isDelivered() -> Bool
    /// The client's answer to what the source had it asked by `load.ask`.
    func answerChallenge(_ answer: AuthenticationAnswer)
    /// Where another download may go on when this one stops, of which so many bytes went to the file of that name.
    func resumePoint(ofFile name: String, delivered: Int64) -> DownloadResumePoint?
    /// What an earlier download has left, and the source went on with, is of no use: everything is wanted after all.
    func beginAnew()
    /// What it is that the source has given nothing in time.
    var silence: LoadError { get }
    /// Nothing more is wanted, ever. Called once for each `start`, also after the source has told its end.
    func stop()
}

extension LoadSource {
    package func isDelivered() -> Bool { true }
    package var silence: LoadError { .timedOut }
    /// Most sources send no challenge.
    package func answerChallenge(_ answer: AuthenticationAnswer) {}
    /// Most sources cannot resume.
    package func beginAnew() {}
    package func resumePoint(ofFile name: String, delivered: Int64) -> DownloadResumePoint? { nil }
}

/// What a source says of the bytes that follow.
package struct SourceResponse {
    package var mimeType: String?
    package var textEncodingName: String?
    /// -1 when unknown.
    package var expectedLength: Int64
    /// How much an earlier download has left, when the rest follows.
    package var resumedOffset: Int64?
    /// What the client is to be given in place of these values: a response that it made itself.
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
