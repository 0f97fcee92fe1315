package import LoadingEvents
internal import LoadingSemantics

/// One load's wish for a connection, from asking to having. Confined to the pool's loop.
package final class ConnectionRequest {
    package let origin: Origin
    /// 0 to 1; among the waiting the highest goes first, then who came first (CONN-1).
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
    var taker: (any ConnectionTaker)?
    /// The attempt that was started for this request, while it runs.
    var attempt: ConnectionAttempt?
    /// The attempt of somebody else whose connection may carry this request too.
    var sharedAttempt: ConnectionAttempt?
    /// The attempt at another version that it waits for, out of the line.
    var upgrade: HTTP3Upgrade?
    var isWaiting = false
    /// Where it waits.
    weak var line: OriginConnections?
    /// Its number in the order in which those who wait have come.
    var arrival: UInt64 = 0

    package init(
        origin: Origin, priority: Float, acceptsReused: Bool, isRepeatable: Bool, assumesHTTP3: Bool = false,
        early: ExchangeRequest? = nil, taker: any ConnectionTaker
    ) {
        self.origin = origin
        self.priority = priority
        self.acceptsReused = acceptsReused
        self.isRepeatable = isRepeatable
        self.assumesHTTP3 = assumesHTTP3
        self.early = early
        self.taker = taker
    }

    /// Whether a connection is being made for this request, and nobody else is asked about it; or its server is to let it go.
    package var isBeingServed: Bool {
        attempt != nil || upgrade != nil || sharedAttempt?.isAsking == false || isWaiting && line?.standsStill == true
    }

    /// What is awaited of whoever the way leads to first; nil if that is not what the request waits for.
    package var awaits: AwaitedStep? { (attempt ?? sharedAttempt)?.awaits }

    /// What an attempt in progress has done so far, for the metrics of a load that ends while it waits.
    package var eventsSoFar: [LoadEvent] {
        if let upgrade { return upgrade.events }
        return (attempt ?? sharedAttempt)?.events ?? []
    }
}
