/// Endpoints that have failed, each with the time until which they are avoided: where HTTP/3 has failed (CONN-8), or
/// where a connection was accepted and nothing was sent (CONN-9). A change of network clears the list, because the
/// network may have been the cause.
///
/// A value without a clock. Times are nanoseconds of a monotonic clock. The list is bounded; the entry that expires
/// first is evicted.
package struct BrokenServices<Server: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var failures: Int
        var end: Int64
    }

    package static var maximumCount: Int { 256 }

    private var entries: [Server: Entry] = [:]

    package init() {}

    package var count: Int { entries.count }

    /// Whether it is avoided now.
    package func contains(_ server: Server, at now: Int64) -> Bool {
        if entries.isEmpty { return false }
        guard let entry = entries[server] else { return false }
        return entry.end > now
    }

    /// All that are avoided now.
    package func listed(at now: Int64) -> Set<Server> {
        entries.isEmpty ? [] : Set(entries.lazy.filter { $0.value.end > now }.map { $0.key })
    }

    /// Records a failure. While the server is listed, further failures come from attempts that began earlier, and are
    /// ignored.
    package mutating func failed(_ server: Server, at now: Int64) {
        var entry = entries[server] ?? Entry(failures: 0, end: now)
        if entry.end > now { return }
        if entries.count >= Self.maximumCount, entries[server] == nil { evict() }
        // The shift is bounded. Ten doublings exceed the longest time.
        let limits = TimeLimits.standard
        let time = min(limits.firstBrokenService << Int64(min(entry.failures, 10)), limits.longestBrokenService)
        entry.failures += 1
        entry.end = DeltaSeconds.sum(now, time)
        entries[server] = entry
    }

    package mutating func succeeded(_ server: Server) {
        if !entries.isEmpty { entries[server] = nil }
    }

    /// For a change of routes.
    package mutating func removeAll() { entries = [:] }

    private mutating func evict() {
        if let first = entries.min(by: { $0.value.end < $1.value.end })?.key { entries[first] = nil }
    }
}
