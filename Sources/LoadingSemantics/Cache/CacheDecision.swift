/// What a load does after a cache lookup, before anything is sent.
package enum CacheDecision: Sendable, Equatable {
    /// Serve the stored response with that index. `age` is nil if the clock moved back since it was stored.
    case serve(Int, age: Int64?, because: CacheReason)
    /// Serve those bytes of the stored response with that index as 206, because the request has `Range` (CACHE-20).
    case servePart(Int, ClosedRange<Int64>, age: Int64?, because: CacheReason)
    /// Send the request with additional conditional fields, which validate the stored responses with these indices.
    /// `CacheValidation` interprets the response.
    case revalidate([Int], adding: HTTPFields, because: CacheReason)
    /// Send the request with these additional fields.
    case load(adding: HTTPFields, because: CacheReason)
    case fail(LoadError, because: CacheReason)

    /// The name in traces.
    package var name: String {
        switch self {
        case .serve, .servePart: "serve"
        case .revalidate: "revalidate"
        case .load: "load"
        case .fail: "fail"
        }
    }

    package var reason: CacheReason {
        switch self {
        case .serve(_, _, let reason), .servePart(_, _, _, let reason), .revalidate(_, _, let reason),
            .load(_, let reason), .fail(_, let reason):
            reason
        }
    }
}
