internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// The ways to a server, of which a load has several, and the time that it has for each but the last (PROXY-7): one that
/// swallows packets, or takes a connection and says nothing, would use up what the load has. Confined to its loop.
final class RouteSelector: LoopTimerTarget {
    private let routes: ProxyRoutes
    private let destination: ProxyDestination
    private let patience: Int64
    /// The one that is being gone, and those that follow; never empty.
    private var left: ArraySlice<ProxyRoute>
    private let timer = LoopTimer()
    /// When the way was begun, and whether it has had any time since.
    private var stretch: ProxyRoutes.Stretch
    private var mayTell = false
    /// The time for the way is over, if it is this that is waited for.
    var onSilence: (() -> Void)?

    /// Nil where there is nothing to choose.
    ///
    /// - Parameter idleTimeout: For how many seconds the load bears silence.
    init?(
        _ ways: [ProxyRoute], to destination: @autoclosure () -> ProxyDestination, in routes: ProxyRoutes?,
        idleTimeout: Double
    ) {
        guard ways.count > 1, let routes else { return nil }
        self.routes = routes
        self.destination = destination()
        // A load that bears none at all must not have the loop do nothing else.
        let limits = routes.loop.limits
        patience = min(
            limits.proxySilence,
            Int64(0).addingSeconds(max(idleTimeout / limits.routesPerTimeout, limits.shortestTimerPeriod)))
        left = routes.inOrder(ways, to: self.destination, patience: patience)[...]
        stretch = routes.stretch
    }

    var current: ProxyRoute? { left.first }

    // MARK: Time

    /// The way is gone from now on. Of what others have found out while this one stood in a line, nothing has to be found
    /// out again.
    func begins() {
        guard left.count > 1 else { return }
        let isFirst = routes.inOrder(Array(left), to: destination, patience: patience).first == left.first
        mayTell = isFirst
        stretch = routes.stretch
        arm(isFirst ? patience : 0)
    }

    /// It is something else that is waited for.
    func goesOn() { if left.count > 1 { arm(patience) } }

    private func arm(_ time: Int64) { routes.loop.arm(timer, at: routes.loop.now + time, for: self) }

    /// Nothing is waited for.
    func rest() { routes.loop.disarm(timer) }

    func timerFired(_ timer: LoopTimer) { onSilence?() }

    // MARK: Outcomes

    /// The way has led to the server.
    func succeeded() {
        rest()
        if case .through(let proxy) = current { routes.works(proxy, for: destination) }
    }

    /// The way is at its end; false if there is no other that may be gone.
    func failed(_ failure: ConnectionFailure) -> Bool {
        rest()
        guard failure.permitsNextRoute, left.count > 1 else { return false }
        if Self.isOfProxy(failure) { blame(failure.step, after: .max) }
        left.removeFirst()
        return true
    }

    /// The time for the route has passed without an answer. False if there is no other route.
    func wasSilent(at awaited: AwaitedStep) -> Bool {
        rest()
        guard left.count > 1 else { return false }
        if mayTell {
            // Some of the time may have gone with earlier steps; where that was little the next one need not find it out again.
            let silence = routes.loop.now &- awaited.since
            blame(awaited.step, after: silence >= patience / 4 * 3 ? patience : silence)
        }
        left.removeFirst()
        return true
    }

    /// Whether others would fare the same. Not where this machine has no network, or cannot ask for the proxy's name just now;
    /// nor where it is about whom somebody trusts, or about names that he wants proved.
    private static func isOfProxy(_ failure: ConnectionFailure) -> Bool {
        let reason = failure.reason
        if failure.isPersonal || reason.isNoRoute || reason.code == LoadError.notConnectedToInternet.code {
            return false
        }
        switch reason.cause {
        case .dns(let code): return code != EAI_AGAIN && code != EAI_SYSTEM
        case nil: return reason != .cannotFindHost
        default: return true
        }
    }

    /// What was found in another network, or before a flush, says nothing any more.
    ///
    /// - Parameter silence: How long the proxy has not answered.
    private func blame(_ step: ProxyStep, after silence: Int64) {
        guard case .through(let proxy) = current, stretch == routes.stretch else { return }
        switch step {
        case .resolution: break
        case .connection: routes.failed(proxy, for: nil, after: silence)
        case .tunnel: routes.failed(proxy, for: destination, after: silence)
        }
    }
}
