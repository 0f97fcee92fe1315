/// Interprets responses to conditional requests (RFC 9111 §4.3.3 to §4.3.5).
package enum CacheValidationRules {
    /// Interprets the response to a request of `CacheDecision.revalidate`.
    ///
    /// - Parameters:
    ///   - requestTime: When the conditional request was sent, in seconds since 1970.
    ///   - request: Without the fields that the decision has added.
    ///   - indices: The indices of the decision.
    package static func read(
        status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64, to request: CacheRequest,
        stored: [StoredResponse], validated indices: [Int]
    ) -> CacheValidation {
        if status != 304 { return .answered }
        let selected = selected(by: fields, indices.filter(stored.indices.contains), of: stored)
        guard let first = newest(selected, of: stored) else { return .unusable }
        let isUnwanted = request.control.noStore
        let confirmed = { (index: Int) in
            var response = refreshed(stored[index], fields, requestTime, responseTime)
            // The selected response becomes the variant of this request.
            if index == first {
                response.variant = CacheVariant(varyOf: response.fields, for: request)
            } else if !hasSameVary(fields, stored[index]) {
                response.needsValidation = true
            }
            let isRemoved = CacheStorageRules.isForbidden(response.fields)
            return CacheValidation.Confirmed(
                index: index, response: response, fate: isRemoved ? .removed : isUnwanted ? .untouched : .stored)
        }
        return .confirmed(confirmed(first), others: selected.filter { $0 != first }.map(confirmed))
    }

    /// The effect of a response to HEAD on the stored responses of GET (CACHE-20), by the index of each changed
    /// response.
    package static func readHead(
        status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64, to request: CacheRequest,
        stored: [StoredResponse]
    ) -> [Int: CacheHeadUpdate] {
        guard request.method == "HEAD", status == 200, !request.isForRange, !request.control.noStore
        else { return [:] }
        var effects: [Int: CacheHeadUpdate] = [:]
        for index in stored.indices where stored[index].status == 200 && stored[index].matches(request) {
            // RFC 9111 §5.2.2.5: no part of such a response may be stored.
            if CacheStorageRules.isForbidden(fields) {
                effects[index] = .removed
                continue
            }
            var response = stored[index]
            if describesSameBody(fields, as: response.fields), hasSameVary(fields, response) {
                response = refreshed(response, fields, requestTime, responseTime)
            } else {
                response.needsValidation = true
            }
            effects[index] = .changed(response)
        }
        return effects
    }

    /// Whether the new `Vary` names the same fields as before. Otherwise the values of the new fields in the original
    /// request are unknown, so the stored response must be validated.
    private static func hasSameVary(_ fields: HTTPFields, _ stored: StoredResponse) -> Bool {
        !fields.contains("Vary") || CacheVariant.names(fields) == stored.variant?.names
    }

    private static func refreshed(
        _ old: StoredResponse, _ fields: HTTPFields, _ requestTime: Int64, _ responseTime: Int64
    ) -> StoredResponse {
        StoredResponse(
            status: old.status, fields: CachedFields.updated(old.fields, with: fields, responseTime: responseTime),
            requestTime: requestTime, responseTime: responseTime, variant: old.variant)
    }

    /// The stored responses that a 304 selects (§4.3.4).
    private static func selected(by fields: HTTPFields, _ candidates: [Int], of stored: [StoredResponse]) -> [Int] {
        if let tag = fields.firstOctets("ETag") {
            let tagged = candidates.compactMap { index in stored[index].fields.firstOctets("ETag").map { (index, $0) } }
            let strong = tagged.filter { EntityTag.matchStrongly($0.1, tag) }
            if !strong.isEmpty { return strong.map { $0.0 } }
            // A server that compresses a response weakens its entity tag, and often sends the strong one in the 304.
            let weak = tagged.filter { EntityTag.matchWeakly($0.1, tag) }
            if !tagged.isEmpty { return newest(weak.map { $0.0 }, of: stored).map { [$0] } ?? [] }
        }
        // A date or no validator does not distinguish variants. Many servers send a 304 without validators, which is
        // unambiguous if only one response was validated.
        guard let only = candidates.first, candidates.count == 1 else { return [] }
        guard
            let new = fields.firstValue("Last-Modified").flatMap({ HTTPDate.parse($0, at: stored[only].responseTime) }),
            let old = stored[only].fields.firstValue("Last-Modified").flatMap({
                HTTPDate.parse($0, at: stored[only].responseTime)
            })
        else { return [only] }
        return new == old ? [only] : []
    }

    private static func newest(_ indices: [Int], of stored: [StoredResponse]) -> Int? {
        indices.max { stored[$0].isOlder(than: stored[$1]) }
    }

    /// §4.3.5
    private static func describesSameBody(_ fields: HTTPFields, as kept: HTTPFields) -> Bool {
        ["ETag", "Last-Modified", "Content-Length"].allSatisfy { name in
            guard let new = fields.firstOctets(name) else { return true }
            // A chunked response has no stored length to compare with.
            if name == "Content-Length", !kept.contains(name) { return true }
            return kept.firstOctets(name) == new
        }
    }
}
