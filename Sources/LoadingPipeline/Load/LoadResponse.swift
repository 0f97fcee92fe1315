package import LoadingSemantics

/// The head of a response, and the facts known of its body. An object, because a load passes it from stage to stage. It
/// changes only before the client receives it, and no access lasts while other code is called. Exclusive access is not
/// checked; clients in other modules read it by computed properties, because they would check a stored one.
package final class LoadResponse {
    package let url: HTTPURL
    package let head: ResponseHead
    /// In bytes; -1 if unknown.
    package internal(set) var expectedLength: Int64 {
        get { currentLength }
        set { currentLength = newValue }
    }
    @exclusivity(unchecked) private var currentLength: Int64
    /// Whether a body follows.
    package let hasBody: Bool
    /// Whether the end of the connection ends the body. Only the body itself can then show whether it is complete.
    package let endsWithConnection: Bool
    /// Whether this is a part of a multipart body.
    package let isPart: Bool
    /// The length of the partial file of an earlier download, when this response has the rest.
    package internal(set) var resumedOffset: Int64? {
        get { currentOffset }
        set { currentOffset = newValue }
    }
    @exclusivity(unchecked) private var currentOffset: Int64?
    /// The first bytes of the body, decoded, as far as they have arrived. Set only if nothing else determines the type;
    /// nil until they are examined.
    package internal(set) var startOfBody: [UInt8]? {
        get { knownStart }
        set { knownStart = newValue }
    }
    @exclusivity(unchecked) private var knownStart: [UInt8]?

    package init(
        url: HTTPURL, head: ResponseHead, expectedLength: Int64, hasBody: Bool = false,
        endsWithConnection: Bool = false, isPart: Bool = false
    ) {
        self.url = url
        self.head = head
        currentLength = expectedLength
        self.hasBody = hasBody
        self.endsWithConnection = endsWithConnection
        self.isPart = isPart
    }
}
