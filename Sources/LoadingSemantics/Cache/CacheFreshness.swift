/// How old a stored response is and how long it lasts, in seconds (RFC 9111 §4.2).
package struct CacheFreshness: Sendable, Equatable {
    package enum Basis: Sendable, Equatable {
        case maxAge
        case expires
        /// A tenth of the time for which it had not changed.
        case lastModified
        /// Nothing says how long it lasts (CACHE-7).
        case nothing
    }

    package let basis: Basis
    package let lifetime: Int64
    /// Nil if it cannot be told: by the clock it has not come yet.
    package let age: Int64?

    package init(_ response: StoredResponse, now: Int64) {
        let control = CacheControl(response.fields)
        (basis, lifetime) = Self.lifetime(of: response, control)
        age = Self.age(of: response, now: now)
    }

    /// For how long it is fresh yet; not positive if it is stale. Nil if the age is not known.
    package var remaining: Int64? { age.map { DeltaSeconds.difference(lifetime, $0) } }

    /// §4.2.1, §4.2.2, CACHE-17
    private static func lifetime(of response: StoredResponse, _ control: CacheControl) -> (Basis, Int64) {
        if let maxAge = control.maxAge { return (.maxAge, maxAge) }
        let date = response.date
        if let text = response.fields.firstValue("Expires") {
            // What is no date, such as "0", is in the past.
            let expires = HTTPDate.parse(text) ?? .min
            return (.expires, max(0, DeltaSeconds.difference(expires, date)))
        }
        if control.isPublic || CacheStatus.isHeuristicallyCacheable(response.status),
            let modified = response.fields.firstValue("Last-Modified").flatMap(HTTPDate.parse), modified <= date
        {
            return (.lastModified, DeltaSeconds.difference(date, modified) / 10)
        }
        return (.nothing, 0)
    }

    /// §4.2.3
    private static func age(of response: StoredResponse, now: Int64) -> Int64? {
        let resident = DeltaSeconds.difference(now, response.responseTime)
        // A cache that does not know the time has to ask.
        if resident < 0 { return nil }
        let apparent = max(0, DeltaSeconds.difference(response.responseTime, response.date))
        let delay = max(0, DeltaSeconds.difference(response.responseTime, response.requestTime))
        let corrected = DeltaSeconds.sum(receivedAge(response.fields), delay)
        return DeltaSeconds.sum(max(apparent, corrected), resident)
    }

    /// §5.1: the first of several; none if it is not a number.
    private static func receivedAge(_ fields: HTTPFields) -> Int64 {
        guard let text = fields.firstValue("Age") else { return 0 }
        let first = text.utf8.prefix { $0 != UInt8(ascii: ",") }
        return DeltaSeconds.parse(OptionalWhitespace.trimmed(first)) ?? 0
    }
}
