internal import Glibc
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Connections that died with an interface are found before a request is lost on them.
extension ConnectionPool {
    /// Hears of changes of links, addresses and routes as long as there are connections.
    func watchRoutes() {
        guard routes == nil, !allConnections.isEmpty else { return }
        watchRoutes(since: RouteWatch.watch(for: loop).mark(on: loop))
    }

    private func watchRoutes(since mark: RouteWatch.Mark) {
        routes = RouteWatch.watch(for: loop).wait(since: mark, on: loop) { [weak self] in self?.routesChanged() }
    }

    private func routesChanged() {
        routes = nil
        let mark = RouteWatch.watch(for: loop).mark(on: loop)
        if let addresses = LocalAddresses() {
            if HTTP3Session.isAvailable { http3Services.networkChanged(to: addresses) }
            for connection in allConnections where isCutOff(connection, addresses) { connection.wasCutOff() }
        }
        // Those that carry their last may need another way too.
        if !allConnections.isEmpty { watchRoutes(since: mark) }
    }

    /// Whether nothing comes back to the address that the connection has here. One that carries nothing is given up too when
    /// a new one would go another way.
    private func isCutOff(_ connection: any RoutedConnection, _ addresses: LocalAddresses) -> Bool {
        let own = connection.localAddresses
        guard !own.isEmpty, let remote = connection.remoteAddress else { return false }
        if connection.isCutOff || !own.contains(where: addresses.contains) { return true }
        if !connection.isIdle || own.contains(where: \.isLoopback) { return false }
        // Nothing tells whether an interface without a carrier gets it back.
        if !connection.canMigrate, !own.contains(where: addresses.mayCarry) { return true }
        // Which of several ways is taken is the kernel's choice.
        guard own.count == 1, let local = own.first else { return false }
        return remote.preferredSource?.with(port: local.port) != local
    }
}
