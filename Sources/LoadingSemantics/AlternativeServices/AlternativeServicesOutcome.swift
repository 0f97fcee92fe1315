/// The change that an update made, for a copy on disk to follow.
package enum AlternativeServicesOutcome: Sendable, Equatable {
    /// The record replaces that of its origin. The `evicted` origins were removed to make room.
    case stored(AlternativeServicesRecord, evicted: [HostPort])
    /// Only the expiry changed, by too little to be worth a write.
    case refreshed(AlternativeServicesRecord)
    /// The origin has no record any more.
    case removed(HostPort)
    /// Nothing changed.
    case nothing
}
