internal import LoadingProtocols
package import LoadingSemantics

/// The head of a response, and the facts known of its body.
package struct LoadResponse {
    package var url: HTTPURL
    package var head: ResponseHead
    package var expectedLength: Int64
    /// The length of the partial file of an earlier download, when this response has the rest.
    package var resumedOffset: Int64?
    /// Whether the end of the connection ends the body. Only the body itself can then show whether it is complete.
    package var endsWithConnection = false
    package var hasBody = false
    /// The first bytes of the body, decoded, as far as they have arrived. Set only if nothing else determines the type;
    /// nil until they are examined.
    package var startOfBody: [UInt8]?
    /// Whether this is a part of a multipart body.
    package var isPart = false

    package init(url: HTTPURL, head: ResponseHead, expectedLength: Int64) {
        self.url = url
        self.head = head
        self.expectedLength = expectedLength
    }
}
