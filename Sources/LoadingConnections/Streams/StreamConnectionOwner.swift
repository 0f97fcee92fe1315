internal import LoadingSemantics

/// Who drives a connection of plain bytes. Called on its loop.
package protocol StreamConnectionOwner: AnyObject {
    func connectionOpened()
    func connectionSecured()
    /// It could not be made, or not be made secure.
    func connectionFailed(_ failure: ConnectionFailure)
    /// A handshake needs an answer. False to have the default apply.
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool
    /// Who says to proxies who the user is.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// An answer has come; the network has its turn again.
    func connectionIsActive()
    /// It may be read or written again.
    func connectionIsReady()
}
