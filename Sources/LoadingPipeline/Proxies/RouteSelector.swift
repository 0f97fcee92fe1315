internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// Selects among the several routes of a load and limits the time for each but the last (PROXY-7). A proxy that drops
/// packets, or accepts a connection and does not answer, would otherwise use up the load's time. Confined to its loop.
final class RouteSelector: LoopTimerTarget {
    private let routes: ProxyRoutes
    private let destination: ProxyDestination
    private let timeout: Int64
    /// The current route and those that follow; never empty.
    private var remaining: ArraySlice<ProxyRoute>
    private let timer = LoopTimer()
    /// The network epoch in which the current route was started, and whether its silence counts against the proxy.
    private var epoch: ProxyRoutes.NetworkEpoch
    private var countsTimeout = false
    weak var owner: (any RouteSelectorOwner)?

    /// Nil if there is only one route.
    ///
    /// - Parameter idleTimeout: The load's idle timeout, in seconds.
    init?(
        _ candidates: [ProxyRoute], to destination: @autoclosure () -> ProxyDestination, in routes: ProxyRoutes?,
        idleTimeout: Double
    ) {
        guard candidates.count > 1, let routes else { return nil }
        self.routes = routes
        self.destination = destination()
        // The minimum prevents a busy loop for a load with an idle timeout of almost zero.
        let limits = routes.loop.limits
        timeout = min(
            limits.proxyTimeout,
            Int64(0).addingSeconds(max(idleTimeout / limits.routesPerTimeout, limits.shortestTimerPeriod)))
        remaining = routes.inOrder(candidates, to: self.destination, timeout: timeout)[...]
        epoch = routes.epoch
    }

    var current: ProxyRoute? { remaining.first }

    // MARK: Time

    /// Starts the time of the current route. If other loads have found a failure of its proxy while this one was
    /// queued, the route gets no time.
    func startTimer() {
        guard remaining.count > 1 else { return }
        let isFirst = routes.inOrder(Array(remaining), to: destination, timeout: timeout).first == remaining.first
        countsTimeout = isFirst
        epoch = routes.epoch
        arm(isFirst ? timeout : 0)
    }

    private func arm(_ time: Int64) { routes.loop.arm(timer, at: routes.loop.now + time, for: self) }

    func stopTimer() { routes.loop.disarm(timer) }

    func timerFired(_ timer: LoopTimer) {
        guard let owner, remaining.count > 1 else { return }
        guard let pending = owner.pendingPhase else { return arm(timeout) }
        if countsTimeout {
            // Earlier steps may have used some of the time. If that was little, the full time counts, so that the next
            // load need not find it out again.
            let time = routes.loop.now &- pending.since
            recordFailure(pending.phase, after: time >= timeout / 4 * 3 ? timeout : time)
        }
        remaining.removeFirst()
        owner.useNextRoute()
    }

    // MARK: Outcomes

    /// The route has reached the server.
    func succeeded() {
        stopTimer()
        if case .through(let proxy) = current { routes.succeeded(proxy, for: destination) }
    }

    /// The route has failed. False if there is no other route to try.
    func failed(_ failure: ConnectionFailure) -> Bool {
        stopTimer()
        guard failure.permitsNextRoute, remaining.count > 1 else { return false }
        if Self.isOfProxy(failure) { recordFailure(failure.phase, after: .max) }
        remaining.removeFirst()
        return true
    }

    /// Whether the failure would affect other loads too. Not so if this machine has no network or local DNS fails, and
    /// not for trust decisions and DNSSEC requirements of one user.
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

    /// Records the failure, unless the network has changed or the session was reset since the route was started.
    ///
    /// - Parameter time: How long the proxy has not answered.
    private func recordFailure(_ phase: ConnectPhase, after time: Int64) {
        guard case .through(let proxy) = current, epoch == routes.epoch else { return }
        switch phase {
        case .resolution: break
        case .connection: routes.failed(proxy, for: nil, after: time)
        case .tunnel: routes.failed(proxy, for: destination, after: time)
        }
    }
}

/// The owner of a `RouteSelector`, which connects through the current route. Called on its loop.
protocol RouteSelectorOwner: AnyObject {
    /// Nil while the owner does not wait for the proxy: in the queue, while a challenge is open, and once the proxy has
    /// done its part.
    var pendingPhase: PendingPhase? { get }
    /// The time for the route before has passed without an answer.
    func useNextRoute()
}
