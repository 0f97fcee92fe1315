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
