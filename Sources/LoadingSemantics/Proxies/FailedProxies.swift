/// Which proxies have failed lately, for those who have others to go to. A value without a clock.
///
/// One that nobody reaches has failed for everybody. One that takes a connection and makes nothing of it has failed for that
/// one destination: it may be that which is silent. One that was silent has failed for those who bear no more silence than that.
package struct FailedProxies: Sendable, Equatable {
    private struct Key: Sendable, Hashable {
        let proxy: HostPort
        /// There may be servers of two kinds in one list at one place.
        let kind: ProxyServer.Kind
        /// Nil for all.
        let destination: HostPort?

        init(_ proxy: ProxyServer, _ destination: HostPort?) {
            self.proxy = proxy.hostPort
            kind = proxy.kind
            self.destination = destination
        }
    }

    package static let most = 256

    private struct Entry: Sendable, Equatable {
        /// Until when.
        let end: Int64
        /// For whom: who has no more patience than this.
        let patience: Int64
    }

    private var entries: [Key: Entry] = [:]

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    /// A failure of one that has failed already is mostly that of an attempt that began before, and counts with the first.
    ///
    /// - Parameters:
    ///   - destination: Nil if the proxy itself could not be reached.
    ///   - silence: What he has said nothing in, where it was that.
    package mutating func failed(
        _ proxy: ProxyServer, for destination: ProxyDestination?, after silence: Int64 = .max, at now: Int64
    ) {
        let key = Key(proxy, destination?.hostPort)
        if let entry = entries[key], entry.end > now, entry.patience >= silence { return }
        if entries.count >= Self.most, entries[key] == nil { makeRoom(at: now) }
        entries[key] = Entry(end: DeltaSeconds.sum(now, TimeLimits.standard.failedProxy), patience: silence)
    }

    /// The proxy leads there.
    package mutating func works(_ proxy: ProxyServer, for destination: ProxyDestination) {
        if isEmpty { return }
        entries[Key(proxy, nil)] = nil
        entries[Key(proxy, destination.hostPort)] = nil
    }

    /// The routes with those last that have failed; else as they were.
    package func inOrder(
        _ routes: [ProxyRoute], to destination: ProxyDestination, patience: Int64 = 0, at now: Int64
    ) -> [ProxyRoute] {
        if isEmpty { return routes }
        let hasFailed = { (route: ProxyRoute) -> Bool in
            guard case .through(let proxy) = route else { return false }
            return [nil, destination.hostPort].contains {
                entries[Key(proxy, $0)].map { $0.end > now && $0.patience >= patience } ?? false
            }
        }
        return routes.filter { !hasFailed($0) } + routes.filter(hasFailed)
    }

    private mutating func makeRoom(at now: Int64) {
        entries = entries.filter { $0.value.end > now }
        guard entries.count >= Self.most, let first = entries.min(by: { $0.value.end < $1.value.end })?.key else {
            return
        }
        entries[first] = nil
    }
}

extension ProxyDestination {
    fileprivate var hostPort: HostPort { HostPort(host, port) }
}
