/// For whom a connection is made. Called on its loop.
protocol ConnectionChallengeDelegate: AnyObject {
    /// False when nobody wants to be asked, and then the default applies. Not answered before it returns.
    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool
    /// An answer has come; the network has its turn again.
    func handshakeContinues()
    /// Who says to proxies who the user is.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
}
