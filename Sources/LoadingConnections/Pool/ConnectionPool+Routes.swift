internal import Glibc
internal import LoadingSemantics
internal import LoadingTransport

/// Connections that died with an interface are found before a request is lost on them.
extension ConnectionPool {
    /// Hears of changes of links, addresses and routes as long as there are connections.
    func watchRoutes() {
        guard routes == nil, !allConnections.isEmpty else { return }
        watchRoutes(since: RouteWatch.shared.mark(on: loop))
    }

    private func watchRoutes(since mark: RouteWatch.Mark) {
        routes = RouteWatch.shared.wait(since: mark, on: loop) { [weak self] in self?.routesChanged() }
    }

    private func routesChanged() {
        routes = nil
        let mark = RouteWatch.shared.mark(on: loop)
        if let addresses = LocalAddresses() {
            #if HTTP3
                http3Services.networkChanged(to: addresses)
            #endif
            for connection in allConnections where isCutOff(connection, addresses) { connection.wasCutOff() }
        }
        // Those that carry their last may need another way too.
        if !allConnections.isEmpty { watchRoutes(since: mark) }
    }

    /// Whether nothing comes back to the address that the connection has here. One that carries nothing is given up too when
    /// a new one would go another way.
    private func isCutOff(_ connection: any RoutedConnection, _ addresses: LocalAddresses) -> Bool {
        guard let local = connection.localAddress, let remote = connection.remoteAddress else { return false }
        if connection.isCutOff || !addresses.contains(local) { return true }
        if !connection.isIdle || local.isLoopback { return false }
        return remote.preferredSource?.with(port: local.port) != local
    }
}
