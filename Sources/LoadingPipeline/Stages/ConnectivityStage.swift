internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// Decides whether a load that found no way to its server waits for one, and waits (CONN-11 to CONN-14). Confined to
/// the load's loop.
struct ConnectivityStage {
    private var hasToldClient = false
    private var mark: RouteWatch.Mark?
    private var wait: RouteWait?

    /// The load is about to look for a way: what changes from now on is worth another try.
    mutating func begin(on loop: EventLoop) { mark = RouteWatch.watch(for: loop).mark(on: loop) }

    /// What a failed connect or question for a name means: while this machine has no way out, nothing is wrong with the
    /// server (CONN-12, CONN-14, ERR-5).
    static func meaning(of failure: ConnectionFailure) -> ConnectionFailure {
        let mayBeOurs =
            switch failure.reason.cause {
            // Without any address the kernel misses one of its own before it misses a route.
            case .posix(let code)?: code == EADDRNOTAVAIL
            case .dns(let code)?: code == EAI_AGAIN || code == EAI_SYSTEM
            default: false
            }
        guard mayBeOurs, !RouteWatch.hasRoute else { return failure }
        var failure = failure
        failure.error = LoadError(code: LoadError.notConnectedToInternet.code, cause: failure.error.cause)
        return failure
    }

    /// Only what a new route may cure: a server that refuses while there is a route fails at once.
    func shouldWait(after failure: ConnectionFailure) -> Bool {
        if case .posix(EHOSTUNREACH)? = failure.reason.cause { return true }
        return failure.error.code == LoadError.notConnectedToInternet.code
    }

    /// Whether the client has still to be told that the load waits: once is enough (T-41).
    mutating func tellsClient() -> Bool {
        defer { hasToldClient = true }
        return !hasToldClient
    }

    /// Calls `body` in a later turn, once the routes have changed since `begin`.
    mutating func waitForRoute(on loop: EventLoop, _ body: @escaping () -> Void) {
        end()
        guard let mark else { return }
        wait = RouteWatch.watch(for: loop).wait(since: mark, on: loop, body)
    }

    /// The load does not wait any more.
    mutating func end() {
        wait?.end()
        wait = nil
    }
}
