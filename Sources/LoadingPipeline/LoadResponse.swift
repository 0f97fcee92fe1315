internal import LoadingProtocols
package import LoadingSemantics

/// The head of a response, and the facts known of its body.
///
/// Copies share their values until one is changed: a load passes its response from stage to stage.
package struct LoadResponse {
    private var storage: Storage

    private struct Values {
        var url: HTTPURL
        var head: ResponseHead
        var expectedLength: Int64
        var resumedOffset: Int64?
        var endsWithConnection = false
        var hasBody = false
        var startOfBody: [UInt8]?
        var isPart = false
    }

    /// Reached through the response alone: exclusive access to the response protects the values, and only an instance
    /// with a single owner is changed. It is therefore not checked again.
    private final class Storage {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }

    package init(url: HTTPURL, head: ResponseHead, expectedLength: Int64) {
        storage = Storage(Values(url: url, head: head, expectedLength: expectedLength))
    }

    /// The storage to change: copied first if another response shares it.
    private mutating func owned() -> Storage {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
        return storage
    }

    package var url: HTTPURL {
        get { storage.values.url }
        set { owned().values.url = newValue }
    }

    package var head: ResponseHead {
        get { storage.values.head }
        _modify { yield &owned().values.head }
    }

    package var expectedLength: Int64 {
        get { storage.values.expectedLength }
        set { owned().values.expectedLength = newValue }
    }

    /// The length of the partial file of an earlier download, when this response has the rest.
    package var resumedOffset: Int64? {
        get { storage.values.resumedOffset }
        set { owned().values.resumedOffset = newValue }
    }

    /// Whether the end of the connection ends the body. Only the body itself can then show whether it is complete.
    package var endsWithConnection: Bool {
        get { storage.values.endsWithConnection }
        set { owned().values.endsWithConnection = newValue }
    }

    /// Whether a body follows.
    package var hasBody: Bool {
        get { storage.values.hasBody }
        set { owned().values.hasBody = newValue }
    }

    /// The first bytes of the body, decoded, as far as they have arrived. Set only if nothing else determines the type;
    /// nil until they are examined.
    package var startOfBody: [UInt8]? {
        get { storage.values.startOfBody }
        set { owned().values.startOfBody = newValue }
    }

    /// Whether this is a part of a multipart body.
    package var isPart: Bool {
        get { storage.values.isPart }
        set { owned().values.isPart = newValue }
    }
}
