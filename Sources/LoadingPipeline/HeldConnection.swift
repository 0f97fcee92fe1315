internal import LoadingConnections
internal import LoadingSemantics

/// A connection that is kept for the next step of a conversation. What is said on it is for whom it leads to, whatever way would be
/// picked by now (PROXY-11).
struct HeldConnection {
    let carrier: any HTTPExchangeStream
    let way: ProxyRoute
    /// Whether nothing of the conversation has been said: another connection does as well.
    let isBeginning: Bool
}
