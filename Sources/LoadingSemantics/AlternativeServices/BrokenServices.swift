/// Servers with which HTTP/3 has failed, and how long each is left alone (CONN-8). What is in the way may be the network, so
/// a change of it forgets all.
///
/// A value without a clock; times are nanoseconds of a clock that never goes back. Bounded: who is left alone for the
/// shortest time goes first.
package struct BrokenServices<Server: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var failures: Int
        var end: Int64
    }

    package static var most: Int { 256 }

    private var entries: [Server: Entry] = [:]

    package init() {}

    package var count: Int { entries.count }

    /// Whether QUIC is not to be tried there now. Costs next to nothing when nothing is broken.
    package func contains(_ server: Server, at now: Int64) -> Bool {
        if entries.isEmpty { return false }
        guard let entry = entries[server] else { return false }
        return entry.end > now
    }

    /// A failure while the server is left alone already is one of an attempt that began before, and counts with the one
    /// that was first.
    package mutating func failed(_ server: Server, at now: Int64) {
        var entry = entries[server] ?? Entry(failures: 0, end: now)
        if entry.end > now { return }
        if entries.count >= Self.most, entries[server] == nil { makeRoom() }
        // Ten times doubled is longer than the longest.
        let limits = TimeLimits.standard
        let time = min(limits.firstBrokenService << Int64(min(entry.failures, 10)), limits.longestBrokenService)
        entry.failures += 1
        entry.end = DeltaSeconds.sum(now, time)
        entries[server] = entry
    }

    package mutating func succeeded(_ server: Server) {
        if !entries.isEmpty { entries[server] = nil }
    }

    /// The routes have changed.
    package mutating func forgetAll() { entries = [:] }

    private mutating func makeRoom() {
        if let first = entries.min(by: { $0.value.end < $1.value.end })?.key { entries[first] = nil }
    }
}
