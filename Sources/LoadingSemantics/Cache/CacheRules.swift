/// Decides whether a stored response satisfies a request (RFC 9111 §4, as a private cache).
package enum CacheRules {
    /// - Parameters:
    ///   - stored: The stored responses for the request's `CacheKey`; nil if the session has no cache (C-27).
    ///   - bodyLengths: The lengths of their bodies, in bytes. No part is served of a response that has none here.
    ///   - now: Seconds since 1970.
    package static func decide(
        _ request: CacheRequest, stored: [StoredResponse]?, bodyLengths: [Int64] = [], now: Int64
    ) -> CacheDecision {
        guard let stored else {
            // The directives of the request are for intermediate caches only.
            return request.policy == .returnCacheDataDontLoad
                ? .fail(.resourceUnavailable, because: .noCache)
                : .load(adding: reloadFields(of: request), because: .noCache)
        }
        if request.policy.ignoresStored { return .load(adding: reloadFields(of: request), because: .policy) }
        guard CacheKey.exists(method: request.method, url: request.url) else {
            return miss(request, because: .notCacheable)
        }
        if request.isForRange {
            return part(of: stored, bodyLengths, for: request, now: now) ?? miss(request, because: .range)
        }

        let selected = select(stored, for: request)
        if request.policy.returnsAnythingStored, let selected {
            let age = CacheFreshness.age(of: stored[selected], now: now)
            return .serve(selected, age: age, because: .policy)
        }
        if request.isConditional { return miss(request, because: .conditionalRequest) }
        guard let selected else {
            if stored.isEmpty { return miss(request, because: .nothingStored) }
            return askForVariant(of: stored, for: request)
        }
        if request.policy == .reloadRevalidatingCacheData {
            return validate(selected, of: stored, for: request, because: .policy)
        }
        let control = CacheControl(stored[selected].fields)
        let freshness = CacheFreshness(stored[selected], control, now: now)
        let (isServed, reason) = judge(stored[selected], control, freshness, for: request)
        return isServed
            ? .serve(selected, age: freshness.age, because: reason)
            : validate(selected, of: stored, for: request, because: reason)
    }

    /// The decision to serve a part, where the whole response would be served without validation. Nil if the request
    /// goes to the server, also if none of the bytes are stored, because the resource may have become longer.
    private static func part(
        of stored: [StoredResponse], _ bodyLengths: [Int64], for request: CacheRequest, now: Int64
    ) -> CacheDecision? {
        guard !request.isConditional, request.policy != .reloadRevalidatingCacheData, let range = request.range,
            let selected = select(stored, for: request), bodyLengths.indices.contains(selected),
            stored[selected].isDivisible, let bytes = range.bytes(of: bodyLengths[selected])
        else { return nil }
        if request.policy.returnsAnythingStored {
            let age = CacheFreshness.age(of: stored[selected], now: now)
            return .servePart(selected, bytes, age: age, because: .policy)
        }
        let control = CacheControl(stored[selected].fields)
        let freshness = CacheFreshness(stored[selected], control, now: now)
        let (isServed, reason) = judge(stored[selected], control, freshness, for: request)
        return isServed ? .servePart(selected, bytes, age: freshness.age, because: reason) : nil
    }

    /// §4.1: of the matching responses, those with `Vary` come before those without, and then the most recent.
    private static func select(_ stored: [StoredResponse], for request: CacheRequest) -> Int? {
        var selected: Int?
        var hasVary = false
        for index in stored.indices where stored[index].isSelectable(for: request) {
            let isVariant = stored[index].variant?.names.isEmpty == false
            if let selected, hasVary != isVariant ? hasVary : !stored[selected].isOlder(than: stored[index]) {
                continue
            }
            (selected, hasVary) = (index, isVariant)
        }
        return selected
    }

    /// Whether a response is served without validation (§4.2, §5.2.1).
    private static func judge(
        _ response: StoredResponse, _ control: CacheControl, _ freshness: CacheFreshness, for request: CacheRequest
    ) -> (isServed: Bool, because: CacheReason) {
        let (wanted, requestNoCache) = request.directives
        if response.needsValidation { return (false, .needsValidation) }
        if control.noCache { return (false, .responseNoCache) }
        if requestNoCache { return (false, .requestNoCache) }
        guard let age = freshness.age, let remaining = freshness.remaining else { return (false, .clockMovedBack) }

        // RFC 8246: an immutable response is not validated while fresh. Only over https, which protects the directive
        // from changes on the path.
        let isImmutable = control.isImmutable && request.url.scheme == .https && remaining > 0
        // Ages are rounded down to seconds, so an age equal to `max-age` may exceed it.
        if let maxAge = wanted.maxAge, age >= maxAge, !isImmutable { return (false, .notFreshEnough) }
        if let minFresh = wanted.minFresh, remaining < minFresh { return (false, .notFreshEnough) }
        if remaining > 0 { return (true, .fresh) }

        // `max-stale` applies only to a response that had a freshness lifetime (CACHE-7).
        guard !control.mustRevalidate, freshness.basis != .nothing else { return (false, .stale) }
        switch wanted.maxStale {
        case .any: return (true, .staleAllowed)
        case .atMost(let seconds) where remaining >= -seconds: return (true, .staleAllowed)
        default: return (false, .stale)
        }
    }

    /// No stored response satisfies the request.
    private static func miss(_ request: CacheRequest, because reason: CacheReason) -> CacheDecision {
        if mustNotLoad(request) { return .fail(.resourceUnavailable, because: reason) }
        return .load(adding: reloadFields(of: request), because: reason)
    }

    /// CACHE-9, RFC 9111 §5.2.1.7. Other methods than GET and HEAD always reach the server.
    private static func mustNotLoad(_ request: CacheRequest) -> Bool {
        request.policy == .returnCacheDataDontLoad
            || isRetrieval(request) && request.control.onlyIfCached
    }

    private static func isRetrieval(_ request: CacheRequest) -> Bool {
        request.method == "GET" || request.method == "HEAD"
    }

    /// A conditional request (CACHE-13), or an unconditional one if the response has no validator (§4.3.1).
    private static func validate(
        _ index: Int, of stored: [StoredResponse], for request: CacheRequest, because reason: CacheReason
    ) -> CacheDecision {
        let tag = stored[index].tag
        let date = stored[index].lastModified
        if tag == nil, date == nil { return miss(request, because: reason) }
        if mustNotLoad(request) { return .fail(.resourceUnavailable, because: reason) }
        var fields = reloadFields(of: request)
        if let tag { fields.append("If-None-Match", octets: tag) }
        if let date { fields.append("If-Modified-Since", date) }
        return .revalidate([index], adding: fields, because: reason)
    }

    /// Asks the server whether one of the other variants matches. Only strong entity tags distinguish variants: a weak
    /// one may belong to several at once (RFC 9110 §8.8.1).
    private static func askForVariant(of stored: [StoredResponse], for request: CacheRequest) -> CacheDecision {
        var tagged: [Int] = []
        var tags: [ArraySlice<UInt8>] = []
        for index in stored.indices {
            guard let tag = stored[index].tag, EntityTag(tag)?.isWeak == false else { continue }
            tagged.append(index)
            if !tags.contains(tag) { tags.append(tag) }
        }
        if tags.isEmpty || mustNotLoad(request) { return miss(request, because: .otherVariant) }
        var fields = reloadFields(of: request)
        fields.append("If-None-Match", octets: Array(tags.joined(separator: ", ".utf8))[...])
        return .revalidate(tagged, adding: fields, because: .otherVariant)
    }

    /// The fields by which a policy controls intermediate caches, unless the caller has set them.
    private static func reloadFields(of request: CacheRequest) -> HTTPFields {
        var fields = HTTPFields()
        guard isRetrieval(request) else { return fields }
        let isSilent = !request.hasControl
        switch request.policy {
        // CACHE-10, CACHE-11
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData:
            if isSilent { fields.append("Cache-Control", "no-cache") }
            if !request.hasPragma { fields.append("Pragma", "no-cache") }
        // CACHE-12: the origin must validate, not an intermediate cache.
        case .reloadRevalidatingCacheData:
            if isSilent { fields.append("Cache-Control", "max-age=0") }
        default:
            break
        }
        return fields
    }
}
