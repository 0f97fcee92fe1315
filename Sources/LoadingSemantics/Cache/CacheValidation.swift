/// The meaning of the response to a conditional request.
package enum CacheValidation: Sendable, Equatable {
    /// A validated stored response with its updated fields.
    package struct Confirmed: Sendable, Equatable {
        package enum Fate: Sendable, Equatable {
            /// Replaces the stored response.
            case stored
            /// The updated fields forbid storing.
            case removed
            /// `no-store` in the request: the stored response stays as it was.
            case untouched
        }

        package var index: Int
        package var response: StoredResponse
        package var fate: Fate
    }

    /// 304: the first is served, with its stored status and body (CACHE-14). The others have the same entity tag and
    /// are updated too.
    case confirmed(Confirmed, others: [Confirmed])
    /// Any other status: the response itself is served, including server errors (CACHE-32: a stale response does not
    /// replace them).
    case answered
    /// A 304 that matches no stored response. The request is repeated without conditional fields.
    case unusable
}
