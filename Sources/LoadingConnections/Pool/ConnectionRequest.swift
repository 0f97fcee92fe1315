package import LoadingEvents
internal import LoadingSemantics

/// One load's request for a connection. Confined to the pool's loop.
package final class ConnectionRequest {
    package let origin: ConnectionKey
    /// 0 to 1; the highest is served first, equals in their order of arrival (CONN-1).
    package internal(set) var priority: Float
    /// False after a reused connection turned out dead: the idle ones may be as stale.
    let acceptsReused: Bool
    /// Whether it may go out a second time when the first connection turns out dead (CONN-10).
    let isRepeatable: Bool
    /// Whether HTTP/3 is tried though nothing says that the origin speaks it (CONN-7).
    let assumesHTTP3: Bool
    /// What is to be sent, if that may be before the server has answered (C-32).
    let early: ExchangeRequest?
    /// Held until the request is answered or withdrawn.
    var delegate: (any ConnectionRequestDelegate)?
    /// The attempt that was started for this request, while it runs.
    var attempt: ConnectionAttempt?
    /// The attempt for another request whose connection may carry this one too.
    var sharedAttempt: ConnectionAttempt?
    /// The attempt at another version that it waits for, out of the line.
    var upgrade: HTTP3Upgrade?
    var isWaiting = false
    /// Where it waits.
    weak var line: OriginConnections?
    /// Its number in the order of arrival.
    var arrival: UInt64 = 0

    package init(
        origin: ConnectionKey, priority: Float, acceptsReused: Bool, isRepeatable: Bool, assumesHTTP3: Bool = false,
        early: ExchangeRequest? = nil, delegate: any ConnectionRequestDelegate
    ) {
        self.origin = origin
        self.priority = priority
        self.acceptsReused = acceptsReused
        self.isRepeatable = isRepeatable
        self.assumesHTTP3 = assumesHTTP3
        self.early = early
        self.delegate = delegate
    }

    /// Whether a connection is being made for this request without a challenge to another, or the server is to grant a stream.
    package var isBeingServed: Bool {
        attempt != nil || upgrade != nil || sharedAttempt?.isAsking == false
            || isWaiting && line?.hasNoStreamCredit == true
    }

    /// The step that the first hop has not completed, and since when; nil if something else is awaited.
    package var awaits: PendingPhase? { (attempt ?? sharedAttempt)?.awaits }

    /// What an attempt in progress has done so far, for the metrics of a load that ends while it waits.
    package var eventsSoFar: [LoadEvent] {
        if let upgrade { return upgrade.events }
        return (attempt ?? sharedAttempt)?.events ?? []
    }
}

/// The load that asked. Called on the pool's loop, exactly one of `connectionBecameAvailable` and `failed` once, and neither after
/// `ConnectionPool.withdraw`.
package protocol ConnectionRequestDelegate: AnyObject {
    /// A connection is being made for this request, so its time counts as activity from now on (CONN-24).
    func connectionIsBeingMade()
    /// The connection that is being made needs an answer before it can go on. False if the challenge is not handled.
    /// What the question awaits is no activity of the network's.
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// The connection is the delegate's until it calls `start` and the exchange ends. `events` tell how it was made; none
    /// when it is reused.
    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent])
    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent])
}
