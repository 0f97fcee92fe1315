/// For whom a connection is made. Called on its loop.
protocol SecurityAsker: AnyObject {
    /// False when nobody wants to be asked, and then the default applies. Not answered before it returns.
    func handshakeAsks(_ question: SecurityQuestion) -> Bool
    /// An answer has come; the network has its turn again.
    func handshakeGoesOn()
    /// Who says to proxies who the user is.
    var tunnelSpeaker: (any TunnelSpeaker)? { get }
}
