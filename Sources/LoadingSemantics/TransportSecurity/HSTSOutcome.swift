/// What became of a response's wish, and what a copy of the hosts on disk has to follow.
package enum HSTSOutcome: Sendable, Equatable {
    /// The host is known now, in place of what was known of it. Others had to go.
    case stored(HSTSRecord, evicted: [String])
    /// Only its end has moved, and so little that a copy need not follow: hosts say the same with every response.
    case refreshed(HSTSRecord)
    /// The host wants to be forgotten, and is.
    case removed(String)
    /// There was no wish, or it was to be forgotten and the host was not known.
    case nothing
    case refused(HSTSRefusal)
}
