package import LoadingSemantics

/// Keeps what origins have said about where else they are, longer than a session. Called on the loop of the session's pool.
package protocol HTTP3ServiceKeeper: AnyObject {
    /// What was kept; nil while a disk has to be waited for, which has begun then.
    func recordsIfAtHand() -> [AlternativeServicesRecord]?
    func keep(_ outcome: AlternativeServicesOutcome)
}
