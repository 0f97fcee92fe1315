/// What the cache has a load do before anything is sent.
package enum CacheDecision: Sendable, Equatable {
    /// The stored response of that index is the answer, at that age; nil if the clock does not tell.
    case serve(Int, age: Int64?, because: CacheReason)
    /// The request is sent with these fields besides its own. They ask whether one of the stored responses of those
    /// indices still is what the server has; `CacheValidation` reads the answer.
    case revalidate([Int], adding: HTTPFields, because: CacheReason)
    /// The request is sent with these fields besides its own.
    case load(adding: HTTPFields, because: CacheReason)
    case fail(LoadError, because: CacheReason)

    /// What it is, for a log.
    package var name: String {
        switch self {
        case .serve: "serve"
        case .revalidate: "revalidate"
        case .load: "load"
        case .fail: "fail"
        }
    }

    package var reason: CacheReason {
        switch self {
        case .serve(_, _, let reason), .revalidate(_, _, let reason), .load(_, let reason), .fail(_, let reason): reason
        }
    }
}
