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

/// The change that a response to HEAD makes to a stored response of GET (CACHE-20, RFC 9111 §4.3.5).
package enum CacheHeadUpdate: Sendable, Equatable {
    /// The stored response has updated fields, or must be validated before its next use.
    case changed(StoredResponse)
    /// The response to HEAD may not be stored, so the stored response is removed.
    case removed
}
