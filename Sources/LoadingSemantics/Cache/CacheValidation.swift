/// What the answer to a conditional request means for what is stored.
package enum CacheValidation: Sendable, Equatable {
    /// A stored response that was confirmed, with the fields that it has now.
    package struct Confirmed: Sendable, Equatable {
        package enum Fate: Sendable, Equatable {
            /// Stored in place of the old one.
            case stored
            /// It says now that it may not be stored.
            case removed
            /// The request says that nothing of its answer may be stored.
            case untouched
        }

        package var index: Int
        package var response: StoredResponse
        package var fate: Fate
    }

    /// The first is the answer, with its own status and body (CACHE-14); the others are the same by their tags.
    case confirmed(Confirmed, others: [Confirmed])
    /// The response is the answer. Server errors too: a stale response does not stand in for them (CACHE-32).
    case answered
    /// A 304 about something else than was asked: the request is sent again, without conditions.
    case unusable
}
