package import LoadingEvents

/// One load's request for a connection. Confined to the pool's loop.
package final class ConnectionRequest {
    package let key: ConnectionKey
    /// 0 to 1. The highest is served first, equal ones in their order of arrival (CONN-1).
    package internal(set) var priority: Float
    /// False after a request was lost on a reused connection: the idle connections may be stale as well.
    let acceptsReused: Bool
    /// Whether it may be sent a second time if the first connection is lost (CONN-10).
    let isRepeatable: Bool
    /// Whether HTTP/3 is tried although nothing advertises it for the origin (CONN-7).
    let assumesHTTP3: Bool
    /// The request, if it may be sent as early data (C-32).
    let early: ExchangeRequest?
    /// Retained until the request is answered or withdrawn.
    var delegate: (any ConnectionRequestDelegate)?
    /// The attempt that was started for this request, while it runs; or the upgrade that it waits for outside the
    /// queue.
    var attempt: ConnectionAttempt?
    /// The attempt of another request whose connection may carry this one too.
    var sharedAttempt: ConnectionAttempt?
    var isWaiting = false
    /// The origin in whose queue it waits; nil while it waits in none.
    var waitingOrigin: OriginConnections?
    /// The priority for which it has its place in the queue.
    var queuedPriority: Float = 0
    /// Its number in the order of arrival.
    var arrival: UInt64 = 0

    package init(
        key: ConnectionKey, priority: Float, acceptsReused: Bool, isRepeatable: Bool, assumesHTTP3: Bool = false,
        early: ExchangeRequest? = nil, delegate: any ConnectionRequestDelegate
    ) {
        self.key = key
        self.priority = priority
        self.acceptsReused = acceptsReused
        self.isRepeatable = isRepeatable
        self.assumesHTTP3 = assumesHTTP3
        self.early = early
        self.delegate = delegate
    }

    /// Whether this request waits for the network and not for other requests: a connection is being made, without an
    /// open challenge of another request, or the server must grant a stream.
    package var isBeingServed: Bool {
        attempt != nil || sharedAttempt?.isAsking == false || waitingOrigin?.hasNoStreamCredit == true
    }

    package var pendingPhase: PendingPhase? { (attempt ?? sharedAttempt)?.pendingPhase }

    /// The loop's time at which the connection that is being made last made progress by what its peer has sent.
    package var lastArrival: Int64 { (attempt ?? sharedAttempt)?.lastArrival ?? 0 }

    /// The events of an attempt in progress, for the metrics of a load that ends while it waits.
    package var eventsSoFar: [LoadEvent] { (attempt ?? sharedAttempt)?.events ?? [] }
}

/// The load that made the request. Called on the pool's loop. Exactly one of `connectionBecameAvailable` and
/// `connectionFailed` is called, once, and neither after `ConnectionPool.withdraw`.
package protocol ConnectionRequestDelegate: AnyObject {
    /// A connection is being made for this request, so its time counts as activity from now on (CONN-24).
    func connectionIsBeingMade()
    /// The connection that is being made needs an answer before it can continue. Returns false if the challenge is not
    /// handled. The time until the answer does not count as network activity.
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// The delegate owns the connection until it calls `start` and the exchange ends. `events` describe how the
    /// connection was made; they are empty if it is reused.
    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent])
    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent])
}
