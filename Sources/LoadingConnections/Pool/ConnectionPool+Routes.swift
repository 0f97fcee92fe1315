internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Finds connections whose interface or local address is gone before a request is lost on them.
extension ConnectionPool {
    /// Subscribes to changes of links, addresses and routes while the pool has connections. The subscription retains
    /// the pool. It ends with the last connection, unless addresses are known as silent; with a change, when there are
    /// no connections; and with `shutDown`.
    func watchRoutes() {
        guard routes == nil, !allConnections.isEmpty else { return }
        watchRoutes(since: RouteWatch.watch(for: loop).mark(on: loop))
    }

    private func watchRoutes(since mark: RouteWatch.Mark) {
        routes = RouteWatch.watch(for: loop).wait(since: mark, on: loop) { self.routesChanged() }
    }

    func stopWatchingRoutes() {
        routes?.end()
        routes = nil
    }

    private func routesChanged() {
        silentAddresses.removeAll()
        routes = nil
        let mark = RouteWatch.watch(for: loop).mark(on: loop)
        if let addresses = LocalAddresses() {
            if HTTP3Session.isAvailable { http3Services.networkChanged(to: addresses) }
            for connection in allConnections where hasLostLocalAddress(connection, addresses) {
                connection.localAddressWasLost()
            }
        }
        // Retired connections that still carry requests may need another route too.
        if routes == nil, !allConnections.isEmpty { watchRoutes(since: mark) }
    }

    /// Whether no packets reach the connection's local address any more. An idle connection also counts as lost if a
    /// new one would take another route.
    private func hasLostLocalAddress(_ connection: any RoutedConnection, _ addresses: LocalAddresses) -> Bool {
        let own = connection.localAddresses
        guard !own.isEmpty, let remote = connection.remoteAddress else { return false }
        if connection.hasLostLocalAddress || !own.contains(where: addresses.contains) { return true }
        if !connection.isIdle || own.contains(where: \.isLoopback) { return false }
        // Whether the interface gets its carrier back is unknown.
        if !connection.canMigrate, !own.contains(where: addresses.mayCarry) { return true }
        // Among several addresses, the kernel selects the route.
        guard own.count == 1, let local = own.first else { return false }
        return remote.preferredSource?.with(port: local.port) != local
    }
}

/// A connection whose local address can be lost.
protocol RoutedConnection: AnyObject {
    var isIdle: Bool { get }
    /// Its local addresses; several for MPTCP.
    var localAddresses: [SocketAddress] { get }
    var remoteAddress: SocketAddress? { get }
    /// Whether it has no route now and waits for one.
    var hasLostLocalAddress: Bool { get }
    /// Whether it can migrate to another address (RFC 9000 §9).
    var canMigrate: Bool { get }
    /// Its local address is gone, so it receives nothing more.
    func localAddressWasLost()
}

extension RoutedConnection {
    var hasLostLocalAddress: Bool { false }
    var canMigrate: Bool { false }
}

extension HTTP1Connection: RoutedConnection {
    var localAddresses: [SocketAddress] { stream.localAddresses }
    var remoteAddress: SocketAddress? { stream.remoteAddress }
}
