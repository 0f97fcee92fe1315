/// Whether a response may be stored (RFC 9111 §3, as a private cache; CACHE-3).
///
/// Every policy allows it, and so does `Authorization` (CACHE-21). Results of downloads are not stored (CACHE-2), and
/// how much may be is the business of `CacheEntryLimits`: neither is asked here.
package enum CacheStorageRules {
    /// Asked when the head is there, to know whether the body is worth keeping, and when all of it has come.
    ///
    /// - Parameters:
    ///   - request: Without the fields that a `CacheDecision` has added.
    ///   - requestTime: When the request was sent; seconds since 1970.
    ///   - isComplete: False for a body that ended before its end.
    package static func decide(
        _ request: CacheRequest, status: Int, fields: HTTPFields, requestTime: Int64, responseTime: Int64,
        isComplete: Bool
    ) -> CacheStorageDecision {
        if let reason = obstacle(request, status: status, fields: fields, isComplete: isComplete) {
            return .discard(reason, removesOlder: removesOlder(status: status, reason))
        }
        let kept = CachedFields.stored(fields, responseTime: responseTime)
        let variant = CacheVariant(varyOf: kept, for: request)
        return .store(
            StoredResponse(
                status: status, fields: kept, requestTime: requestTime, responseTime: responseTime, variant: variant))
    }

    /// Whether a response of a status that is understood says that it may not be kept, or not be found again.
    static func isForbidden(_ fields: HTTPFields) -> Bool {
        forbidsStoring(CacheControl(fields)) || CacheVariant.names(fields) == nil
    }

    /// Who knows the rules of the status goes by these (RFC 9111 §5.2.2.3).
    private static func forbidsStoring(_ control: CacheControl) -> Bool { control.noStore && !control.mustUnderstand }

    private static func obstacle(
        _ request: CacheRequest, status: Int, fields: HTTPFields, isComplete: Bool
    ) -> CacheStorageDecision.Reason? {
        guard CacheKey(method: request.method, url: request.url) != nil else { return .notForCaches }
        if request.isForRange { return .range }
        if request.isConditional { return .callersConditions }
        guard CacheStatus.isKept(status) else { return .status }
        let control = CacheControl(fields)
        if control.mustUnderstand, !CacheStatus.isUnderstood(status) { return .notUnderstood }
        if forbidsStoring(control) { return .noStore }
        if CacheControl(request.fields).noStore { return .requestNoStore }
        if CacheVariant.names(fields) == nil { return .variesOnEverything }
        let isMarked =
            control.isPublic || control.isPrivate || control.maxAge != nil || fields.contains("Expires")
            || CacheStatus.isHeuristicallyCacheable(status)
        if !isMarked { return .notMarked }
        return isComplete ? nil : .incomplete
    }

    /// An answer about the whole resource that cannot be kept still tells that the one before is history. A server in
    /// trouble, or one that asks who is there, tells nothing.
    private static func removesOlder(status: Int, _ reason: CacheStorageDecision.Reason) -> Bool {
        switch reason {
        case .notForCaches, .range, .callersConditions, .requestNoStore, .incomplete: return false
        default: break
        }
        switch status {
        case 206: return false
        case 200...299, 404, 410: return true
        default: return false
        }
    }
}
