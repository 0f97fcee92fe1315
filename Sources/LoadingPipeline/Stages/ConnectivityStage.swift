internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// Decides whether a load that found no route to its server waits for one, and waits (CONN-11 to CONN-14). Confined to
/// the load's loop.
struct ConnectivityStage {
    private var hasNotifiedClient = false
    private var mark: RouteWatch.Mark?
    private var wait: RouteWait?

    /// Called before the load looks for a route. Any later change of the routes justifies another attempt.
    mutating func begin(on loop: EventLoop) { mark = RouteWatch.watch(for: loop).mark(on: loop) }

    /// The meaning of a failed connect or DNS lookup. While this machine has no route, the failure is not the server's
    /// (CONN-12, CONN-14, ERR-5).
    static func meaning(of failure: ConnectionFailure) -> ConnectionFailure {
        let mayBeOurs =
            switch failure.reason.cause {
            // A machine without any address reports a missing local address before a missing route.
            case .posix(let code)?: code == EADDRNOTAVAIL
            case .dns(let code)?: code == EAI_AGAIN || code == EAI_SYSTEM
            default: false
            }
        guard mayBeOurs, !RouteWatch.hasRoute else { return failure }
        var failure = failure
        failure.error = LoadError(code: LoadError.notConnectedToInternet.code, cause: failure.error.cause)
        return failure
    }

    /// True only for failures that a new route may resolve. A refusal by a server to which a route exists fails at
    /// once.
    func shouldWait(after failure: ConnectionFailure) -> Bool {
        if case .posix(EHOSTUNREACH)? = failure.reason.cause { return true }
        return failure.error.code == LoadError.notConnectedToInternet.code
    }

    /// The same for a client that tries again later. A server that is switched off does not come back with a change of
    /// the routes.
    func shouldWait(after failure: ConnectionFailure, clientTriesAgain: Bool) -> Bool {
        guard shouldWait(after: failure) else { return false }
        return !clientTriesAgain
            || failure.error.code == LoadError.notConnectedToInternet.code && !RouteWatch.hasRoute
    }

    /// Whether the client still has to be notified that the load waits. It is notified once (T-41).
    mutating func notifiesClient() -> Bool {
        defer { hasNotifiedClient = true }
        return !hasNotifiedClient
    }

    /// Calls `body` in a later turn, once the routes have changed since `begin`.
    mutating func waitForRoute(on loop: EventLoop, _ body: @escaping () -> Void) {
        end()
        guard let mark else { return }
        wait = RouteWatch.watch(for: loop).wait(since: mark, on: loop, body)
    }

    mutating func end() {
        wait?.end()
        wait = nil
    }
}
