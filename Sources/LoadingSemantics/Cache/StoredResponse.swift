/// A stored response without its body.
package struct StoredResponse: Sendable, Equatable {
    package var status: Int
    /// The fields that `CachedFields` keeps.
    package var fields: HTTPFields
    /// When the request was sent and when the response arrived, in seconds since 1970 by the local clock.
    package var requestTime: Int64
    package var responseTime: Int64
    /// Nil if the matching requests are unknown.
    package var variant: CacheVariant?
    /// Whether the response must be validated before its next use (RFC 9111 §4.3.5).
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

    /// A response without recorded times and request: they are derived from its fields.
    ///
    /// - Parameter time: When the program stores it. It counts as the time of arrival of a response without `Date` (RFC
    ///   9110 §6.6.1). Nil if it is unknown; such a response is then never fresh.
    package init(status: Int, fields: HTTPFields, storedAt time: Int64? = nil) {
        let date = fields.firstValue("Date").flatMap { HTTPDate.parse($0, at: time) }
        let received = time.map { min(date ?? $0, $0) } ?? date ?? .min
        let isForAll = CacheVariant.names(fields)?.isEmpty == true
        self.init(
            status: status, fields: fields, requestTime: received, responseTime: received,
            variant: isForAll ? CacheVariant(names: [], fingerprint: []) : nil)
    }

    /// Notes the request for which a program stores the response.
    ///
    /// - Parameter request: With the fields that each load adds to it.
    package mutating func note(_ request: CacheRequest) { variant = CacheVariant(varyOf: fields, forStoring: request) }

    /// Replaces status and fields by those of a response that a program has derived from this one.
    package mutating func replaceHead(status: Int, fields: HTTPFields) {
        self.status = status
        self.fields = fields
        guard let names = CacheVariant.names(fields), names != variant?.names else { return }
        // The values of other fields in the request are unknown.
        variant = names.isEmpty ? CacheVariant(names: [], fingerprint: []) : nil
    }

    /// When the origin generated the response: `Date`, or else the time of arrival.
    var date: Int64 {
        fields.firstIndex(of: "Date").flatMap { HTTPDate.parse(fields, at: $0, received: responseTime) } ?? responseTime
    }

    /// The entity tag, if it is a valid field value. Values from disk or from the application may not be. A malformed
    /// tag is sent back too, because the servers that send it compare text. Not one with an asterisk, which may match
    /// anything: `If-None-Match: *` is answered by 304 for every existing resource (RFC 9110 §13.1.2).
    var tag: ArraySlice<UInt8>? {
        guard let tag = fields.firstOctets("ETag"), !tag.isEmpty, tag.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            !tag.contains(UInt8(ascii: "*")) || EntityTag(tag) != nil
        else { return nil }
        return tag
    }

    /// The value of `Last-Modified`, if it is a date. Servers ignore other values.
    var lastModified: String? {
        guard let text = fields.firstValue("Last-Modified"), HTTPDate.parse(text, at: responseTime) != nil
        else { return nil }
        return text
    }

    /// The fields of the response when it is served at that age (RFC 9111 §4, §5.1).
    package func fields(age: Int64) -> HTTPFields {
        var result = fields.contains("Age") ? fields.filtered { !fields.isNamed("Age", at: $0) } : fields
        result.append("Age", String(min(age, DeltaSeconds.maximum)))
        return result
    }

    /// Whether the stored body is that of which a range is requested: it is complete, and was not decoded.
    var isDivisible: Bool { status == 200 && DownloadResumePoint.hasNoCoding(fields) }

    /// The fields of a 206 with a part of the body (RFC 9110 §15.3.7).
    ///
    /// - Parameters:
    ///   - length: That of the whole body.
    ///   - age: Nil if it is unknown.
    package func fields(ofPart bytes: ClosedRange<Int64>, of length: Int64, age: Int64?) -> HTTPFields {
        let whole = age.map { fields(age: $0) } ?? fields
        var result = whole.filtered { index in !Self.ofTheContent.contains { whole.isNamed($0, at: index) } }
        result.append("Content-Length", String(bytes.upperBound - bytes.lowerBound + 1))
        result.append("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound)/\(length)")
        return result
    }

    /// Fields that describe the bytes of the message (RFC 9110 §8.6, §14.4, RFC 9530 §2).
    private static let ofTheContent = ["Content-Length", "Content-Range", "Content-Digest", "Content-MD5"]

    /// Of two responses with one date, the one that arrived earlier is older.
    func isOlder(than other: StoredResponse) -> Bool {
        (date, responseTime) < (other.date, other.responseTime)
    }

    /// Whether the other one is more recent by its `Date`. One without it has a time of this machine's clock, which
    /// does not compare with a server's.
    package func isOutdated(by other: StoredResponse) -> Bool {
        other.fields.contains("Date") && isOlder(than: other)
    }

    func matches(_ request: CacheRequest) -> Bool { variant?.matches(request) ?? false }

    /// Whether the response may be selected for the request. If it is not known which requests it matches, only the
    /// policies that return anything stored select it (CACHE-8).
    func isSelectable(for request: CacheRequest) -> Bool {
        variant?.matches(request) ?? request.policy.returnsAnythingStored
    }
}
