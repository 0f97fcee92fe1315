/// Decides whether a response may be stored (RFC 9111 §3, as a private cache; CACHE-3).
///
/// All cache policies and `Authorization` allow storing (CACHE-21). The caller excludes downloads (CACHE-2), and
/// `CacheEntryLimits` bounds the size.
package enum CacheStorageRules {
    /// Called after the head, to decide whether to collect the body, and again after the body.
    ///
    /// - Parameters:
    ///   - request: Without the fields that a `CacheDecision` has added.
    ///   - requestTime: When the request was sent, in seconds since 1970.
    ///   - isComplete: False if the body ended prematurely.
    ///   - fits: False if the announced length exceeds the limit of the cache (CACHE-31).
    package static func decide(
        _ request: CacheRequest, status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64,
        isComplete: Bool, fits: Bool = true
    ) -> CacheStorageDecision {
        if let reason = obstacle(request, status: status, fields: fields, isComplete: isComplete) {
            return .discard(reason, removesOlder: removesOlder(status: status, reason))
        }
        // Such a body is not collected, so the fields to store are not prepared either.
        guard fits else { return .discard(.tooLarge, removesOlder: true) }
        let kept = CachedFields.stored(fields, responseTime: responseTime)
        let variant = CacheVariant(varyOf: kept, for: request)
        return .store(
            StoredResponse(
                status: status, fields: kept, requestTime: requestTime, responseTime: responseTime, variant: variant))
    }

    /// Whether the fields forbid storing, or match no request (`Vary: *`). For a status whose requirements are
    /// implemented.
    static func isForbidden(_ fields: HTTPFields) -> Bool {
        forbidsStoring(CacheControl(fields)) || CacheVariant.names(fields) == nil
    }

    /// `must-understand` overrides `no-store` for such a status (RFC 9111 §5.2.2.3).
    private static func forbidsStoring(_ control: CacheControl) -> Bool { control.noStore && !control.mustUnderstand }

    private static func obstacle(
        _ request: CacheRequest, status: Int, fields: HTTPFields, isComplete: Bool
    ) -> CacheStorageDecision.Reason? {
        guard CacheKey.exists(method: request.method, url: request.url) else { return .notCacheable }
        if request.isForRange { return .range }
        if request.isConditional { return .conditionalRequest }
        guard CacheStatus.isKept(status) else { return .status }
        let control = CacheControl(fields)
        if control.mustUnderstand, !CacheStatus.isUnderstood(status) { return .notUnderstood }
        if forbidsStoring(control) { return .noStore }
        if request.control.noStore { return .requestNoStore }
        if CacheVariant.names(fields) == nil { return .variesOnEverything }
        let isMarked =
            control.isPublic || control.isPrivate || control.maxAge != nil || fields.contains("Expires")
            || CacheStatus.isHeuristicallyCacheable(status)
        if !isMarked { return .notMarked }
        return isComplete ? nil : .incomplete
    }

    /// A complete response that cannot be stored still replaces the older one, also a permanent redirect. Temporary
    /// redirects, server errors and authentication challenges do not, since they say nothing about the resource.
    private static func removesOlder(status: Int, _ reason: CacheStorageDecision.Reason) -> Bool {
        switch reason {
        case .notCacheable, .range, .conditionalRequest, .requestNoStore, .incomplete: return false
        default: break
        }
        switch status {
        case 206: return false
        case 200...299, 301, 308, 404, 410: return true
        default: return false
        }
    }
}
