/// A response as the cache's rules see it: all but its body.
package struct StoredResponse: Sendable, Equatable {
    package var status: Int
    /// As they are kept: see `CachedFields`.
    package var fields: HTTPFields
    /// When the request was sent, and when the response came: seconds since 1970, by this machine's clock.
    package var requestTime: Int64
    package var responseTime: Int64
    /// Nil if it is not known for which requests it is meant.
    package var variant: CacheVariant?
    /// Whether something has cast doubt on it (RFC 9111 §4.3.5).
    package var needsValidation: Bool

    package init(
        status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64, variant: CacheVariant?,
        needsValidation: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.variant = variant
        self.needsValidation = needsValidation
    }

    /// A response of which nobody has noted when it came and what it answered: all there is to know is in its fields.
    package init(status: Int, fields: HTTPFields) {
        let date = fields.firstValue("Date").flatMap(HTTPDate.parse)
        let isForAll = CacheVariant.names(fields)?.isEmpty == true
        self.init(
            status: status, fields: fields, requestTime: date ?? .min, responseTime: date ?? .min,
            variant: isForAll ? CacheVariant(names: [], fingerprint: []) : nil)
    }

    /// When the origin made it, as far as is known.
    var date: Int64 { fields.firstValue("Date").flatMap(HTTPDate.parse) ?? responseTime }

    /// The entity tag as it is sent back. What a disk or the caller's cache has kept may be no field's value.
    var tag: String? {
        guard let tag = fields.firstValue("ETag"), !tag.isEmpty, tag.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        return tag
    }

    /// The date of the last change as it is sent back. What is none would be read over by the server.
    var lastModified: String? {
        guard let text = fields.firstValue("Last-Modified"), HTTPDate.parse(text) != nil else { return nil }
        return text
    }

    /// The fields with which it is served at that age (RFC 9111 §4, §5.1).
    package func fields(age: Int64) -> HTTPFields {
        var result = fields.filtered { !fields.isNamed("Age", at: $0) }
        result.append("Age", String(min(age, DeltaSeconds.maximum)))
        return result
    }

    /// The later of two with one date is the one that came later.
    func isOlder(than other: StoredResponse) -> Bool {
        (date, responseTime) < (other.date, other.responseTime)
    }

    func matches(_ request: CacheRequest) -> Bool { variant?.matches(request) ?? false }
}
