/// What the rules of the cache want to know of a request.
package struct CacheRequest: Sendable {
    /// Makes a short value of a long or secret one; two different values must not get the same.
    package typealias Fingerprint = @Sendable ([UInt8]) -> [UInt8]

    package var method: String
    package var url: HTTPURL
    /// As they are sent, with those that the loader adds: `Vary` may name any of them.
    package var fields: HTTPFields
    /// See `CachePolicy.effective`.
    package var policy: CachePolicy
    /// What variants are told apart by. A store that outlives the process gives a cryptographic hash, since `Vary`
    /// may name `Cookie` and `Authorization`.
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

    /// `Pragma` speaks for those who know no `Cache-Control` (RFC 9111 §5.4).
    var directives: (control: CacheControl, noCache: Bool) {
        let control = CacheControl(fields)
        if fields.contains("Cache-Control") { return (control, control.noCache) }
        let pragma = fields.combinedValue("Pragma") ?? ""
        let words = pragma.utf8.split { OptionalWhitespace.contains($0) || $0 == UInt8(ascii: ",") }
        return (control, words.contains { $0.map(asciiLowercase).elementsEqual("no-cache".utf8) })
    }

    /// Whether the caller makes conditions of his own (CACHE-15).
    var isConditional: Bool {
        fields.contains("If-None-Match") || fields.contains("If-Modified-Since") || fields.contains("If-Match")
            || fields.contains("If-Unmodified-Since") || fields.contains("If-Range")
    }

    var isForRange: Bool { fields.contains("Range") }
}
