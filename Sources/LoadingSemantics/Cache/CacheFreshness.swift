/// The age and the freshness lifetime of a stored response, in seconds (RFC 9111 §4.2).
package struct CacheFreshness: Sendable, Equatable {
    package enum Basis: Sendable, Equatable {
        case maxAge
        case expires
        /// Heuristic: a tenth of the time since the last modification.
        case lastModified
        /// The response has no expiration time, and no heuristic applies (CACHE-7).
        case nothing
    }

    package let basis: Basis
    package let lifetime: Int64
    /// Nil if unknown, because the response was received in the future of the present clock.
    package let age: Int64?

    package init(_ response: StoredResponse, now: Int64) {
        self.init(response, CacheControl(response.fields), now: now)
    }

    /// - Parameter control: That of the response.
    init(_ response: StoredResponse, _ control: CacheControl, now: Int64) {
        (basis, lifetime) = Self.lifetime(of: response, control)
        age = Self.age(of: response, now: now)
    }

    /// The remaining freshness lifetime; 0 or negative if the response is stale. Nil if the age is unknown.
    package var remaining: Int64? { age.map { DeltaSeconds.difference(lifetime, $0) } }

    /// §4.2.1, §4.2.2, CACHE-17
    private static func lifetime(of response: StoredResponse, _ control: CacheControl) -> (Basis, Int64) {
        if let maxAge = control.maxAge { return (.maxAge, maxAge) }
        let date = response.date
        if let index = response.fields.firstIndex(of: "Expires") {
            // A malformed date, such as "0", is in the past (RFC 9111 §5.3).
            let expires = HTTPDate.parse(response.fields, at: index, received: response.responseTime) ?? .min
            return (.expires, max(0, DeltaSeconds.difference(expires, date)))
        }
        if control.isPublic || CacheStatus.isHeuristicallyCacheable(response.status),
            let modified = response.fields.firstIndex(of: "Last-Modified").flatMap({
                HTTPDate.parse(response.fields, at: $0, received: response.responseTime)
            }), modified <= date
        {
            return (.lastModified, DeltaSeconds.difference(date, modified) / 10)
        }
        return (.nothing, 0)
    }

    /// §4.2.3
    static func age(of response: StoredResponse, now: Int64) -> Int64? {
        let resident = DeltaSeconds.difference(now, response.responseTime)
        // The clock has moved back, so the age is unknown and the response must be validated.
        if resident < 0 { return nil }
        let apparent = max(0, DeltaSeconds.difference(response.responseTime, response.date))
        let delay = max(0, DeltaSeconds.difference(response.responseTime, response.requestTime))
        let corrected = DeltaSeconds.sum(receivedAge(response.fields), delay)
        return DeltaSeconds.sum(max(apparent, corrected), resident)
    }

    /// §5.1: the first of several values; 0 if malformed.
    private static func receivedAge(_ fields: HTTPFields) -> Int64 {
        guard let text = fields.firstValue("Age") else { return 0 }
        let first = text.utf8.prefix { $0 != UInt8(ascii: ",") }
        return DeltaSeconds.parse(OptionalWhitespace.trimmed(first)) ?? 0
    }
}
