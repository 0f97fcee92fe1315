internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// A search for the routes to a server, until it has a result or times out. Confined to its loop. Reports the result
/// once, never within `start` and not after `cancel`.
final class ProxySearch: LoopTimerTarget {
    private let destination: ProxyDestination
    private let query: ProxyQuery
    private let source: ExternalProxySource
    private let routes: ProxyRoutes
    /// Nil when the search has ended.
    private var found: ((ProxyRouteList) -> Void)?
    private var ticket: QueryTicket?
    private let timer = LoopTimer()

    init(
        for destination: ProxyDestination, _ query: ProxyQuery, asking source: ExternalProxySource,
        in routes: ProxyRoutes, found: @escaping (ProxyRouteList) -> Void
    ) {
        self.destination = destination
        self.query = query
        self.source = source
        self.routes = routes
        self.found = found
    }

    func start() {
        routes.loop.arm(timer, at: routes.loop.now + routes.loop.limits.routeSearch, for: self)
        switch source {
        case .desktop: ask(nil)
        case .script(.source(let text)): ask(text)
        case .script(.url(let address)):
            // The result may be available already, and must not be reported within `start`.
            routes.loop.runLater { [weak self] in self?.fetch(address) }
        }
    }

    func cancel() {
        found = nil
        routes.loop.disarm(timer)
        ticket?.withdraw()
        ticket = nil
    }

    func timerFired(_ timer: LoopTimer) {
        if source == .desktop { routes.desktopTimedOut() }
        end(nil)
    }

    private func fetch(_ address: String) {
        guard found != nil else { return }
        routes.script(at: address) { [weak self] script in
            guard let self, found != nil else { return }
            switch script {
            case .success(let text): ask(text)
            case .failure(.scriptNeedsCredentials): end(.route(.scriptNeedsCredentials))
            case .failure: end(nil)
            }
        }
    }

    private func ask(_ script: PACScriptText?) {
        let took = LoopBox({ [weak self] (resolution: ProxyResolution) -> Void in self?.end(resolution) })
        ticket = routes.resolver.ask(script: script, query, on: routes.loop) { took.value($0) }
    }

    private func end(_ resolution: ProxyResolution?) {
        guard let found else { return }
        cancel()
        let answer: ProxyRouteList? = if case .route(let route) = resolution { route } else { nil }
        found(routes.rules.route(for: destination, answer: answer))
    }
}
