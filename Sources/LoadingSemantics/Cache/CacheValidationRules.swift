/// How the answers to validating requests are read (RFC 9111 §4.3.3 to §4.3.5).
package enum CacheValidationRules {
    /// The answer to a request of `CacheDecision.revalidate`.
    ///
    /// - Parameters:
    ///   - requestTime: When the conditional request was sent; seconds since 1970.
    ///   - request: Without the fields that the decision has added.
    ///   - indices: Those of the decision.
    package static func read(
        status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64, to request: CacheRequest,
        stored: [StoredResponse], validated indices: [Int]
    ) -> CacheValidation {
        if status != 304 { return .answered }
        let meant = meant(by: fields, indices.filter(stored.indices.contains), of: stored)
        guard let first = newest(meant, of: stored) else { return .unusable }
        let isUnwanted = CacheControl(request.fields).noStore
        let confirmed = { (index: Int) in
            var response = refreshed(stored[index], fields, requestTime, responseTime)
            // Of several variants, the one that is served now answers this request.
            if index == first {
                response.variant = CacheVariant(varyOf: response.fields, for: request)
            } else if !variesAsBefore(fields, stored[index]) {
                response.needsValidation = true
            }
            let isRemoved = CacheStorageRules.isForbidden(response.fields)
            return CacheValidation.Confirmed(
                index: index, response: response, fate: isRemoved ? .removed : isUnwanted ? .untouched : .stored)
        }
        return .confirmed(confirmed(first), others: meant.filter { $0 != first }.map(confirmed))
    }

    /// What a response to HEAD does to the stored responses that could have answered a GET (CACHE-20), by the indices of
    /// those to which it does something.
    package static func readHead(
        status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64, to request: CacheRequest,
        stored: [StoredResponse]
    ) -> [Int: CacheHeadUpdate] {
        guard request.method == "HEAD", status == 200, !request.isForRange, !CacheControl(request.fields).noStore
        else { return [:] }
        var effects: [Int: CacheHeadUpdate] = [:]
        for index in stored.indices where stored[index].status == 200 && stored[index].matches(request) {
            // RFC 9111 §5.2.2.5: no part of such a response is stored.
            if CacheStorageRules.isForbidden(fields) {
                effects[index] = .removed
                continue
            }
            var response = stored[index]
            if speaksOfSame(fields, as: response.fields), variesAsBefore(fields, response) {
                response = refreshed(response, fields, requestTime, responseTime)
            } else {
                response.needsValidation = true
            }
            effects[index] = .changed(response)
        }
        return effects
    }

    /// Whether new fields leave it clear which requests a stored response is for. If their `Vary` names others than before,
    /// it is not known what those were in the request that was answered; those of another request say nothing of the body.
    private static func variesAsBefore(_ fields: HTTPFields, _ stored: StoredResponse) -> Bool {
        !fields.contains("Vary") || CacheVariant.names(fields) == stored.variant?.names
    }

    private static func refreshed(
        _ old: StoredResponse, _ fields: HTTPFields, _ requestTime: Int64, _ responseTime: Int64
    ) -> StoredResponse {
        StoredResponse(
            status: old.status, fields: CachedFields.updated(old.fields, with: fields, responseTime: responseTime),
            requestTime: requestTime, responseTime: responseTime, variant: old.variant)
    }

    /// Which stored responses a 304 speaks of (§4.3.4).
    private static func meant(by fields: HTTPFields, _ candidates: [Int], of stored: [StoredResponse]) -> [Int] {
        if let tag = fields.firstValue("ETag") {
            let tagged = candidates.compactMap { index in stored[index].fields.firstValue("ETag").map { (index, $0) } }
            let strong = tagged.filter { EntityTag.matchStrongly($0.1, tag) }
            if !strong.isEmpty { return strong.map { $0.0 } }
            // A server that compresses a response makes its tag weak, and often forgets that in the 304.
            let weak = tagged.filter { EntityTag.matchWeakly($0.1, tag) }
            if !tagged.isEmpty { return newest(weak.map { $0.0 }, of: stored).map { [$0] } ?? [] }
        }
        // A date, or nothing, does not tell variants apart. Many servers send a 304 without validators; where only
        // one was asked about, it is clear which is meant.
        guard let only = candidates.first, candidates.count == 1 else { return [] }
        guard let new = fields.firstValue("Last-Modified").flatMap(HTTPDate.parse),
            let old = stored[only].fields.firstValue("Last-Modified").flatMap(HTTPDate.parse)
        else { return [only] }
        return new == old ? [only] : []
    }

    private static func newest(_ indices: [Int], of stored: [StoredResponse]) -> Int? {
        indices.max { stored[$0].isOlder(than: stored[$1]) }
    }

    /// §4.3.5
    private static func speaksOfSame(_ fields: HTTPFields, as kept: HTTPFields) -> Bool {
        ["ETag", "Last-Modified", "Content-Length"].allSatisfy { name in
            guard let new = fields.firstValue(name) else { return true }
            // A body that came in chunks has no length to compare with.
            if name == "Content-Length", !kept.contains(name) { return true }
            return kept.firstValue(name) == new
        }
    }
}
