package import LoadingEvents
internal import LoadingSemantics

/// The load that asked. Called on the pool's loop, exactly one of `took` and `failed` once, and neither after
/// `ConnectionPool.withdraw`.
package protocol ConnectionTaker: AnyObject {
    /// A connection is being made for this request, so its time counts as activity from now on (CONN-24).
    func connectionIsBeingMade()
    /// The connection that is being made needs an answer before it can go on. False when nobody wants to be asked.
    /// What the question awaits is no activity of the network's.
    func connectionAsks(_ question: SecurityQuestion) -> Bool
    /// Who says to proxies who the user is.
    var tunnelSpeaker: (any TunnelSpeaker)? { get }
    /// The connection is the taker's until it calls `start` and the exchange ends. `events` tell how it was made; none
    /// when it is reused.
    func took(_ connection: any ExchangeCarrier, isReused: Bool, events: [LoadEvent])
    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent])
}
