package import FoundationEssentials
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics

/// Told what comes of an `FTPConnection`, on its loop.
package protocol FTPConnectionObserver: AnyObject {
    func ftpRecorded(_ event: LoadEvent.Kind)
    /// The server has said something, whatever it is.
    func ftpIsAlive()
    /// There is no connection to the server, and has been none. The last message.
    func ftpFoundNoWay(_ failure: ConnectionFailure)
    /// What comes next is what was asked for.
    func ftpBegins(_ transfer: FTPTransfer)
    func ftpReceived(_ data: Data)
    /// The server does not let the user in. The last message.
    func ftpRefusedLogin(_ reply: FTPReply)
    /// The last message.
    func ftpEnded(_ error: LoadError?)
}
