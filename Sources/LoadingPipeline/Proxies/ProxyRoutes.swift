package import LoadingConnections
package import LoadingSemantics
package import LoadingTransport

/// Determines the routes to the servers of a session. The source may be the settings, a PAC script, or the desktop's
/// settings. Confined to its loop.
package final class ProxyRoutes {
    /// Fetches a script from a URL, and reports its text or the failure on the loop, once.
    package typealias Fetch = (_ address: String, _ done: @escaping @Sendable (Result<String, ProxyFailure>) -> Void) ->
        Void

    package let rules: ProxyRules
    let loop: EventLoop
    private let makeResolver: () -> ProxyResolver
    /// Made for the first script or desktop that is asked.
    private(set) lazy var resolver = makeResolver()
    private let fetch: Fetch
    private var scripts: [String: Script] = [:]
    /// The desktop did not answer and is not asked again until this time.
    private var desktopPause: Int64 = 0
    private var failed = FailedProxies()
    /// The network epoch in which the failures were recorded.
    private var failedEpoch: NetworkEpoch?
    private var flushCount = 0
    /// The routes that the settings alone determine. They do not change.
    private var settled: [Place: ProxyRouteList] = .withRoom()
    /// The last of them that was asked for: most requests go where the one before went. Only assigned and read, so
    /// exclusive access is not checked.
    @exclusivity(unchecked) private var lastSettled: (place: Place, route: ProxyRouteList)?

    private static let mostSettled = 256

    /// Everything that a route depends on, unless a script selects it.
    private struct Place: Hashable {
        let traffic: ProxyDestination.Traffic
        let host: String
        let port: UInt16
    }

    /// A network epoch: a time in which neither the network changes nor the session is reset.
    struct NetworkEpoch: Equatable {
        fileprivate let network: RouteWatch.Mark
        fileprivate let flushCount: Int
    }

    private struct Script {
        var text: Result<PACScriptText, ProxyFailure>
        var expiry: Int64
        /// The network epoch in which it was fetched last: on another network it may be another one.
        var epoch: NetworkEpoch
        /// The callers that wait while the script is being fetched.
        var waiting: [(Result<PACScriptText, ProxyFailure>) -> Void]?
    }

    package init(
        _ rules: ProxyRules, on loop: EventLoop, resolver: @autoclosure @escaping () -> ProxyResolver = .shared,
        fetch: @escaping Fetch
    ) {
        self.rules = rules
        self.loop = loop
        makeResolver = resolver
        self.fetch = fetch
    }

    /// The routes to a URL, if the settings alone determine them. Called for each request.
    func settledRoute(to url: HTTPURL) -> ProxyRouteList? {
        let place = Place(traffic: ProxyDestination.Traffic(url.scheme), host: url.host, port: url.port)
        if let lastSettled, lastSettled.place == place { return lastSettled.route }
        if let route = settled[place] {
            lastSettled = (place, route)
            return route
        }
        let destination = ProxyDestination(url)
        guard rules.externalSource(for: destination) == nil else { return nil }
        let route = rules.route(for: destination)
        if settled.count >= Self.mostSettled { settled = [:] }
        settled[place] = route
        return route
    }

    /// Reports the routes to a destination: at once, returning nil, if no script or desktop is needed. Otherwise the
    /// returned search runs until it reports its result or is cancelled.
    func find(
        _ destination: ProxyDestination, asking query: @autoclosure () -> ProxyQuery,
        _ found: @escaping (ProxyRouteList) -> Void
    ) -> ProxySearch? {
        guard let source = rules.externalSource(for: destination), source != .desktop || loop.now >= desktopPause
        else {
            found(rules.route(for: destination))
            return nil
        }
        let search = ProxySearch(for: destination, query(), asking: source, in: self, found: found)
        search.start()
        return search
    }

    // MARK: Outcomes of routes

    /// The order in which to try the routes. Routes that failed recently come last.
    ///
    /// - Parameter timeout: The time limit for each proxy, in nanoseconds.
    func inOrder(
        _ routes: [ProxyRoute], to destination: ProxyDestination, timeout: Int64
    ) -> [ProxyRoute] {
        if failed.isEmpty { return routes }
        forgetIfOver()
        return failed.inOrder(routes, to: destination, timeout: timeout, at: loop.now)
    }

    /// - Parameters:
    ///   - destination: Nil if the proxy itself could not be reached.
    ///   - time: How long the proxy has not answered, in nanoseconds.
    func failed(_ proxy: ProxyServer, for destination: ProxyDestination?, after time: Int64) {
        forgetIfOver()
        failed.failed(proxy, for: destination, after: time, at: loop.now)
    }

    func succeeded(_ proxy: ProxyServer, for destination: ProxyDestination) {
        failed.succeeded(proxy, for: destination)
    }

    func forgetFailures() { flushCount += 1 }

    var epoch: NetworkEpoch {
        NetworkEpoch(network: RouteWatch.watch(for: loop).mark(on: loop), flushCount: flushCount)
    }

    /// Drops the recorded failures if links, addresses or routes have changed, because the obstacle may be gone.
    private func forgetIfOver() {
        let now = epoch
        if now != failedEpoch { failed = FailedProxies() }
        failedEpoch = now
    }

    // MARK: Scripts and the desktop

    func desktopTimedOut() { desktopPause = loop.now + loop.limits.proxySourcePause }

    /// The text of the script at a URL, or the failure; reported now or later.
    func script(at address: String, _ done: @escaping (Result<PACScriptText, ProxyFailure>) -> Void) {
        let now = epoch
        var script = scripts[address] ?? Script(text: .failure(.scriptFailed), expiry: 0, epoch: now)
        if script.waiting != nil {
            script.waiting?.append(done)
            scripts[address] = script
            return
        }
        if script.expiry > loop.now, script.epoch == now { return done(script.text) }
        script.waiting = [done]
        script.epoch = now
        scripts[address] = script
        let took = LoopBox({ [weak self] (text: Result<String, ProxyFailure>) -> Void in
            self?.fetched(text, from: address)
        })
        fetch(address) { took.value($0) }
    }

    private func fetched(_ text: Result<String, ProxyFailure>, from address: String) {
        guard var script = scripts[address], let waiting = script.waiting else { return }
        switch text {
        case .success(let text):
            script.text = .success(PACScriptText(text))
            script.expiry = loop.now + loop.limits.proxyScriptLifetime
        case .failure(let failure):
            // An earlier text of the script is better than none.
            if case .failure = script.text { script.text = .failure(failure) }
            script.expiry = loop.now + loop.limits.proxySourcePause
        }
        script.waiting = nil
        scripts[address] = script
        for done in waiting { done(script.text) }
    }
}
