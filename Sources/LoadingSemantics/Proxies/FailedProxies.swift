/// Which proxies have failed lately, for those who have others to go to. A value without a clock.
///
/// One that nobody reaches has failed for everybody. One that takes a connection and makes nothing of it has failed for that
/// one destination: it may be that which is silent.
package struct FailedProxies: Sendable, Equatable {
    private struct Key: Sendable, Hashable {
        let proxy: ServerPlace
        /// Nil for all.
        let destination: ServerPlace?
    }

    /// A proxy that is back is found again without anybody's help, and one that is not costs somebody a few seconds so often.
    package static let lifetime: Int64 = 300_000_000_000
    package static let most = 256

    /// Until when.
    private var entries: [Key: Int64] = [:]

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    /// A failure of one that has failed already is mostly that of an attempt that began before, and counts with the first.
    ///
    /// - Parameter destination: Nil if the proxy itself could not be reached.
    package mutating func failed(_ proxy: ProxyServer, for destination: ProxyDestination?, at now: Int64) {
        let key = Key(proxy: proxy.place, destination: destination?.place)
        if let end = entries[key], end > now { return }
        if entries.count >= Self.most, entries[key] == nil { makeRoom(at: now) }
        entries[key] = DeltaSeconds.sum(now, Self.lifetime)
    }

    /// The proxy leads there.
    package mutating func works(_ proxy: ProxyServer, for destination: ProxyDestination) {
        if isEmpty { return }
        entries[Key(proxy: proxy.place, destination: nil)] = nil
        entries[Key(proxy: proxy.place, destination: destination.place)] = nil
    }

    /// The ways with those last that have failed; else as they were.
    package func inOrder(
        _ ways: [ProxyRoute.Way], to destination: ProxyDestination, at now: Int64
    ) -> [ProxyRoute.Way] {
        if isEmpty { return ways }
        let hasFailed = { (way: ProxyRoute.Way) -> Bool in
            guard case .through(let proxy) = way else { return false }
            return [nil, destination.place].contains {
                (entries[Key(proxy: proxy.place, destination: $0)] ?? now) > now
            }
        }
        return ways.filter { !hasFailed($0) } + ways.filter(hasFailed)
    }

    private mutating func makeRoom(at now: Int64) {
        entries = entries.filter { $0.value > now }
        guard entries.count >= Self.most, let first = entries.min(by: { $0.value < $1.value })?.key else { return }
        entries[first] = nil
    }
}

extension ProxyDestination {
    fileprivate var place: ServerPlace { ServerPlace(host, port) }
}
