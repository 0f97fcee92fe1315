/// When a stored response answers a request (RFC 9111 §4, as a private cache).
package enum CacheRules {
    /// - Parameters:
    ///   - stored: What is stored for the request's `CacheKey`; nil if the session has no cache (C-27).
    ///   - now: Seconds since 1970.
    package static func decide(_ request: CacheRequest, stored: [StoredResponse]?, now: Int64) -> CacheDecision {
        guard let stored else {
            // Not a cache: what the request says to caches is for those on the way.
            return request.policy == .returnCacheDataDontLoad
                ? .fail(.resourceUnavailable, because: .noCacheThere)
                : .load(adding: reloadFields(of: request), because: .noCacheThere)
        }
        if request.policy.ignoresStored { return .load(adding: reloadFields(of: request), because: .policy) }
        guard CacheKey(method: request.method, url: request.url) != nil else {
            return miss(request, because: .notForCaches)
        }
        if request.isForRange { return miss(request, because: .range) }

        let selected = select(stored, for: request)
        if request.policy.returnsAnythingStored, let selected {
            let age = CacheFreshness(stored[selected], now: now).age
            return .serve(selected, age: age, because: .policy)
        }
        if request.isConditional { return miss(request, because: .callersConditions) }
        guard let selected else {
            if stored.isEmpty { return miss(request, because: .nothingStored) }
            return askForVariant(of: stored, for: request)
        }
        if request.policy == .reloadRevalidatingCacheData {
            return validate(selected, of: stored, for: request, because: .policy)
        }
        let freshness = CacheFreshness(stored[selected], now: now)
        let (isServed, reason) = judge(stored[selected], freshness, for: request)
        return isServed
            ? .serve(selected, age: freshness.age, because: reason)
            : validate(selected, of: stored, for: request, because: reason)
    }

    /// §4.1: of those that match, one that says for which requests it is meant before one that does not, if there are
    /// both, and of these the last that was made.
    private static func select(_ stored: [StoredResponse], for request: CacheRequest) -> Int? {
        let matching = stored.indices.filter { stored[$0].matches(request) }
        let withVary = matching.filter { stored[$0].variant?.names.isEmpty == false }
        return (withVary.isEmpty ? matching : withVary).max { stored[$0].isOlder(than: stored[$1]) }
    }

    /// Whether a response is served without asking (§4.2, §5.2.1).
    private static func judge(
        _ response: StoredResponse, _ freshness: CacheFreshness, for request: CacheRequest
    ) -> (isServed: Bool, because: CacheReason) {
        let control = CacheControl(response.fields)
        let (wanted, requestNoCache) = request.directives
        if response.needsValidation { return (false, .doubted) }
        if control.noCache { return (false, .responseNoCache) }
        if requestNoCache { return (false, .requestNoCache) }
        guard let age = freshness.age, let remaining = freshness.remaining else { return (false, .clockWentBack) }

        // What never changes need not be asked about while it is fresh, if it is certain who said so (RFC 8246).
        let isImmutable = control.isImmutable && request.url.scheme == .https && remaining > 0
        // Ages are in whole seconds: one of 0 may be almost 1.
        if let maxAge = wanted.maxAge, age >= maxAge, !isImmutable { return (false, .notFreshEnough) }
        if let minFresh = wanted.minFresh, remaining < minFresh { return (false, .notFreshEnough) }
        if remaining > 0 { return (true, .fresh) }

        // What never was fresh is not stale by so many seconds (CACHE-7).
        guard !control.mustRevalidate, freshness.basis != .nothing else { return (false, .stale) }
        switch wanted.maxStale {
        case .any: return (true, .staleAllowed)
        case .atMost(let seconds) where remaining >= -seconds: return (true, .staleAllowed)
        default: return (false, .stale)
        }
    }

    /// The request cannot be answered from what is stored.
    private static func miss(_ request: CacheRequest, because reason: CacheReason) -> CacheDecision {
        if mustNotLoad(request) { return .fail(.resourceUnavailable, because: reason) }
        return .load(adding: reloadFields(of: request), because: reason)
    }

    /// CACHE-9, and RFC 9111 §5.2.1.7. What has to be sent in any case is not for a cache to refuse.
    private static func mustNotLoad(_ request: CacheRequest) -> Bool {
        request.policy == .returnCacheDataDontLoad
            || isRead(request) && CacheControl(request.fields).onlyIfCached
    }

    private static func isRead(_ request: CacheRequest) -> Bool { request.method == "GET" || request.method == "HEAD" }

    /// A conditional GET (CACHE-13), or a plain one if there is nothing to compare with (§4.3.1).
    private static func validate(
        _ index: Int, of stored: [StoredResponse], for request: CacheRequest, because reason: CacheReason
    ) -> CacheDecision {
        let tag = stored[index].tag
        let date = stored[index].lastModified
        if tag == nil, date == nil { return miss(request, because: reason) }
        if mustNotLoad(request) { return .fail(.resourceUnavailable, because: reason) }
        var fields = reloadFields(of: request)
        if let tag { fields.append("If-None-Match", tag) }
        if let date { fields.append("If-Modified-Since", date) }
        return .revalidate([index], adding: fields, because: reason)
    }

    /// The origin may know that one of the other variants is the answer too. A date does not tell them apart.
    private static func askForVariant(of stored: [StoredResponse], for request: CacheRequest) -> CacheDecision {
        var tagged: [Int] = []
        var tags: [String] = []
        for index in stored.indices {
            guard let tag = stored[index].tag, EntityTag(tag) != nil else { continue }
            tagged.append(index)
            if !tags.contains(tag) { tags.append(tag) }
        }
        if tags.isEmpty || mustNotLoad(request) { return miss(request, because: .otherVariant) }
        var fields = reloadFields(of: request)
        fields.append("If-None-Match", tags.joined(separator: ", "))
        return .revalidate(tagged, adding: fields, because: .otherVariant)
    }

    /// What a policy says to caches on the way, unless the caller speaks to them himself.
    private static func reloadFields(of request: CacheRequest) -> HTTPFields {
        var fields = HTTPFields()
        guard isRead(request) else { return fields }
        let isSilent = !request.fields.contains("Cache-Control")
        switch request.policy {
        // CACHE-10, CACHE-11
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData:
            if isSilent { fields.append("Cache-Control", "no-cache") }
            if !request.fields.contains("Pragma") { fields.append("Pragma", "no-cache") }
        // CACHE-12: the origin is to confirm it, not a cache.
        case .reloadRevalidatingCacheData:
            if isSilent { fields.append("Cache-Control", "max-age=0") }
        default:
            break
        }
        return fields
    }
}
