/// Proxies that have failed recently, so that other routes are preferred. A value without a clock.
///
/// An unreachable proxy counts as failed for all destinations. A proxy that accepts the connection but then fails
/// counts as failed for that destination only, because the destination may be the cause. A proxy that was silent counts
/// as failed only for loads that would not wait longer.
package struct FailedProxies: Sendable, Equatable {
    private struct Key: Sendable, Hashable {
        let proxy: HostPort
        /// One list may contain servers of two kinds at one host and port.
        let kind: ProxyServer.Kind
        /// Nil means all destinations.
        let destination: HostPort?

        init(_ proxy: ProxyServer, _ destination: HostPort?) {
            self.proxy = proxy.hostPort
            kind = proxy.kind
            self.destination = destination
        }
    }

    package static let maximumCount = 256

    private struct Entry: Sendable, Equatable {
        /// When the entry expires.
        let end: Int64
        /// The entry applies to loads that would not wait longer than this.
        let timeout: Int64
    }

    private var entries: [Key: Entry] = [:]

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    /// Records a failure. Further failures of a listed proxy mostly come from attempts that began earlier, and are
    /// ignored.
    ///
    /// - Parameters:
    ///   - destination: Nil if the proxy itself is unreachable.
    ///   - silence: How long the proxy sent nothing, in nanoseconds, if that was the failure.
    package mutating func failed(
        _ proxy: ProxyServer, for destination: ProxyDestination?, after silence: Int64 = .max, at now: Int64
    ) {
        let key = Key(proxy, destination?.hostPort)
        if let entry = entries[key], entry.end > now, entry.timeout >= silence { return }
        if entries.count >= Self.maximumCount, entries[key] == nil { evict(at: now) }
        entries[key] = Entry(end: DeltaSeconds.sum(now, TimeLimits.standard.failedProxy), timeout: silence)
    }

    /// The proxy has connected to the destination, so its entries are removed.
    package mutating func succeeded(_ proxy: ProxyServer, for destination: ProxyDestination) {
        if isEmpty { return }
        entries[Key(proxy, nil)] = nil
        entries[Key(proxy, destination.hostPort)] = nil
    }

    /// The routes with failed proxies moved to the end. Otherwise the order is unchanged.
    package func inOrder(
        _ routes: [ProxyRoute], to destination: ProxyDestination, timeout: Int64 = 0, at now: Int64
    ) -> [ProxyRoute] {
        if isEmpty { return routes }
        let hasFailed = { (route: ProxyRoute) -> Bool in
            guard case .through(let proxy) = route else { return false }
            return [nil, destination.hostPort].contains {
                entries[Key(proxy, $0)].map { $0.end > now && $0.timeout >= timeout } ?? false
            }
        }
        return routes.filter { !hasFailed($0) } + routes.filter(hasFailed)
    }

    private mutating func evict(at now: Int64) {
        entries = entries.filter { $0.value.end > now }
        guard entries.count >= Self.maximumCount, let first = entries.min(by: { $0.value.end < $1.value.end })?.key
        else {
            return
        }
        entries[first] = nil
    }
}

extension ProxyDestination {
    fileprivate var hostPort: HostPort { HostPort(host, port) }
}
