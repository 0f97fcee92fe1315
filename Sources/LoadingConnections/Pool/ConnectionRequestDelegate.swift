package import LoadingEvents
internal import LoadingSemantics

/// The load that asked. Called on the pool's loop, exactly one of `connectionBecameAvailable` and `failed` once, and neither after
/// `ConnectionPool.withdraw`.
package protocol ConnectionRequestDelegate: AnyObject {
    /// A connection is being made for this request, so its time counts as activity from now on (CONN-24).
    func connectionIsBeingMade()
    /// The connection that is being made needs an answer before it can go on. False when nobody wants to be asked.
    /// What the question awaits is no activity of the network's.
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool
    /// Who says to proxies who the user is.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// The connection is the delegate's until it calls `start` and the exchange ends. `events` tell how it was made; none
    /// when it is reused.
    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent])
    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent])
}
