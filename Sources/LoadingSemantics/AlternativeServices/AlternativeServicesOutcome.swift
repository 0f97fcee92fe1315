/// What became of a response's `Alt-Svc` fields, and what a copy on disk has to follow.
package enum AlternativeServicesOutcome: Sendable, Equatable {
    /// The record is known now, in position of what was known of its origin. Others had to go.
    case stored(AlternativeServicesRecord, evicted: [HostPort])
    /// Only its end has moved, and so little that a copy need not follow.
    case refreshed(AlternativeServicesRecord)
    /// Nothing is known of that origin any more.
    case removed(HostPort)
    /// There was nothing to learn, or to forget.
    case nothing
}
