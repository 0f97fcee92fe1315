internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics

/// Decides whether a load that found no way to its server waits for one (CONN-11 to CONN-14).
struct ConnectivityStage {
    private var hasToldClient = false

    /// Only what a new route may cure: a server that refuses while there is a route fails at once.
    func shouldWait(after error: LoadError) -> Bool {
        switch error.cause {
        case .posix(let code)?: [ENETUNREACH, EHOSTUNREACH, ENETDOWN].contains(code)
        case .dns(let code)?: (code == EAI_AGAIN || code == EAI_SYSTEM) && !RouteWatch.hasRoute
        default: error.code == -1009
        }
    }

    /// Whether the client has still to be told that the load waits: once is enough (T-41).
    mutating func tellsClient() -> Bool {
        defer { hasToldClient = true }
        return !hasToldClient
    }
}
