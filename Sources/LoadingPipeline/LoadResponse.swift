internal import LoadingProtocols
package import LoadingSemantics

/// The head of a response, and what is known of its body.
package struct LoadResponse {
    package var url: HTTPURL
    package var head: ResponseHead
    package var expectedLength: Int64
    /// How much of the body an earlier download has left, when this response brings the rest.
    package var resumedOffset: Int64?
    /// Whether this is a part of a body in parts.
    package var isPart = false

    package init(url: HTTPURL, head: ResponseHead, expectedLength: Int64) {
        self.url = url
        self.head = head
        self.expectedLength = expectedLength
    }
}
