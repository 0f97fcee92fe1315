internal import LoadingProtocols
package import LoadingSemantics

/// The head of a response, and what is known of its body.
package struct LoadResponse {
    package var url: HTTPURL
    package var head: ResponseHead
    package var expectedLength: Int64
    /// How much of the body an earlier download has left, when this response brings the rest.
    package var resumedOffset: Int64?
    /// Whether the body ends where the connection does, so that nothing but itself tells whether it is whole.
    package var endsWithConnection = false
    /// Whether a body follows.
    package var hasBody = false
    /// The first bytes of the body, decoded, as far as they are here and nothing else tells the type; nil until they were
    /// looked for.
    package var startOfBody: [UInt8]?
    /// Whether this is a part of a body in parts.
    package var isPart = false

    package init(url: HTTPURL, head: ResponseHead, expectedLength: Int64) {
        self.url = url
        self.head = head
        self.expectedLength = expectedLength
    }
}
