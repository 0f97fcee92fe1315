internal import LoadingProtocols
package import LoadingSemantics

/// The head of a response, and the facts known of its body.
///
/// Copies share their values until one is changed: a load passes its response from stage to stage.
package struct LoadResponse {
    private var values: Values

    /// Reached through the response alone: exclusive access to the response protects the values, and only an instance
    /// with a single owner is changed. It is therefore not checked again for each of them.
    private final class Values {
        @exclusivity(unchecked) var url: HTTPURL
        @exclusivity(unchecked) var head: ResponseHead
        @exclusivity(unchecked) var expectedLength: Int64
        @exclusivity(unchecked) var resumedOffset: Int64?
        @exclusivity(unchecked) var endsWithConnection = false
        @exclusivity(unchecked) var hasBody = false
        @exclusivity(unchecked) var startOfBody: [UInt8]?
        @exclusivity(unchecked) var isPart = false

        init(url: HTTPURL, head: ResponseHead, expectedLength: Int64) {
            self.url = url
            self.head = head
            self.expectedLength = expectedLength
        }

        convenience init(copying other: Values) {
            self.init(url: other.url, head: other.head, expectedLength: other.expectedLength)
            resumedOffset = other.resumedOffset
            endsWithConnection = other.endsWithConnection
            hasBody = other.hasBody
            startOfBody = other.startOfBody
            isPart = other.isPart
        }
    }

    package init(url: HTTPURL, head: ResponseHead, expectedLength: Int64) {
        values = Values(url: url, head: head, expectedLength: expectedLength)
    }

    /// The values to change: copied first if another response shares them.
    private mutating func owned() -> Values {
        if !isKnownUniquelyReferenced(&values) { values = Values(copying: values) }
        return values
    }

    package var url: HTTPURL {
        get { values.url }
        set { owned().url = newValue }
    }

    package var head: ResponseHead {
        get { values.head }
        _modify { yield &owned().head }
    }

    package var expectedLength: Int64 {
        get { values.expectedLength }
        set { owned().expectedLength = newValue }
    }

    /// The length of the partial file of an earlier download, when this response has the rest.
    package var resumedOffset: Int64? {
        get { values.resumedOffset }
        set { owned().resumedOffset = newValue }
    }

    /// Whether the end of the connection ends the body. Only the body itself can then show whether it is complete.
    package var endsWithConnection: Bool {
        get { values.endsWithConnection }
        set { owned().endsWithConnection = newValue }
    }

    /// Whether a body follows.
    package var hasBody: Bool {
        get { values.hasBody }
        set { owned().hasBody = newValue }
    }

    /// The first bytes of the body, decoded, as far as they have arrived. Set only if nothing else determines the type;
    /// nil until they are examined.
    package var startOfBody: [UInt8]? {
        get { values.startOfBody }
        set { owned().startOfBody = newValue }
    }

    /// Whether this is a part of a multipart body.
    package var isPart: Bool {
        get { values.isPart }
        set { owned().isPart = newValue }
    }
}
