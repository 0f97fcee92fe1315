/// The parts of a request that the cache rules use.
package struct CacheRequest: Sendable {
    /// Maps a long or secret value to a short one. Distinct values must have distinct results.
    package typealias Fingerprint = @Sendable ([UInt8]) -> [UInt8]

    package var method: String
    package var url: HTTPURL
    /// All fields as sent, including those of the loader, because `Vary` may name any.
    package var fields: HTTPFields
    /// See `CachePolicy.effective`.
    package var policy: CachePolicy
    /// Identifies variants. Persistent stores use a cryptographic hash, because `Vary` may name `Cookie` and
    /// `Authorization`.
    package var fingerprint: Fingerprint

    package init(
        method: String = "GET", url: HTTPURL, fields: HTTPFields = HTTPFields(),
        policy: CachePolicy = .useProtocolCachePolicy, fingerprint: @escaping Fingerprint = { $0 }
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
        self.fingerprint = fingerprint
    }

    /// `Pragma: no-cache` applies if there is no `Cache-Control` (RFC 9111 §5.4).
    var directives: (control: CacheControl, noCache: Bool) {
        let control = CacheControl(fields)
        if fields.contains("Cache-Control") { return (control, control.noCache) }
        let pragma = fields.combinedValue("Pragma") ?? ""
        let words = pragma.utf8.split { OptionalWhitespace.contains($0) || $0 == UInt8(ascii: ",") }
        return (control, words.contains { $0.map(asciiLowercase).elementsEqual("no-cache".utf8) })
    }

    /// Whether the caller has set conditional fields (CACHE-15).
    var isConditional: Bool {
        // Nearly no request has one: a look at the first letters.
        guard fields.hasName(beginningWith: "if-") else { return false }
        return fields.contains("If-None-Match") || fields.contains("If-Modified-Since") || fields.contains("If-Match")
            || fields.contains("If-Unmodified-Since") || fields.contains("If-Range")
    }

    var isForRange: Bool { fields.contains("Range") }
}
