/// The change that a response made to the hosts, for a copy on disk to follow.
package enum HSTSOutcome: Sendable, Equatable {
    /// The record is stored, and replaces that of its host. The `evicted` hosts were removed to make room.
    case stored(HSTSRecord, evicted: [String])
    /// Only the expiry changed, by too little to be worth a write. Hosts repeat the field in every response.
    case refreshed(HSTSRecord)
    /// `max-age=0`: the host was removed.
    case removed(String)
    /// There was no field, or `max-age=0` of an unknown host.
    case nothing
    case refused(HSTSRefusal)
}
