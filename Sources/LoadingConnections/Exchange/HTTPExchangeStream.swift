package import LoadingEvents
package import LoadingTransport

/// What carries a load's exchange: an HTTP/1.1 connection, or a stream of an HTTP/2 connection. Confined to its loop.
package protocol HTTPExchangeStream: AnyObject {
    /// Whether it can carry nothing any more.
    var isClosed: Bool { get }
    /// Whether the default evaluation trusts the server, and not only a delegate.
    var isTrusted: Bool { get }
    /// Whether it is one of several on a connection, each of which counts against what the server takes at once.
    var isShared: Bool { get }
    /// Whether it leads to a server that was not asked for by this origin's name and port, which may say that it is another
    /// (421).
    var mayBeMisdirected: Bool { get }
    /// Has the origin's next requests go where the origin is.
    func disallowConnection()
    /// What has come of the body so far, with all that frames it.
    var receivedBodyWireBytes: Int64 { get }
    /// What the server has acknowledged of what was sent; nil if that is not known. Costs system calls.
    var acknowledgement: Acknowledgement? { get }
    func facts(isReused: Bool) -> ConnectionFacts

    /// Sends a request; nothing else is being carried. Every outcome goes to `observer`.
    func start(_ request: ExchangeRequest, observer: any ExchangeObserver)
    /// Stops or goes on reading. Going on takes effect in this turn or the next.
    func setPaused(_ paused: Bool)
    /// Stops or goes on sending too.
    func setSuspended(_ suspended: Bool)
    /// 0 to 1, for whoever can say it to the server (T-19).
    func setPriority(_ priority: Float)
    /// Gives the exchange up: the observer hears nothing more.
    func cancel()
    /// Goes on with a response that nobody wants, if that is cheap. `then` is called in a turn after the end.
    func drain(then: (@Sendable () -> Void)?)
    /// Returns a stream that was handed out and is not used.
    func returnUnused()
    /// Whether it can still carry a request after it was given out and has been idle, and may: connections from before a flush
    /// carry none (CONN-18). If not, it is given back. May cost a system call.
    func confirm() -> Bool

    /// The first bytes of the response's body, still coded, that were read together with its head. They are delivered as well.
    /// Nil if the carrier delivers them later in the same turn of the loop. To be called while the head is told.
    func startOfBody(most: Int) -> [UInt8]?
    /// Has what follows the head of the response wait, as far as may be, for `resumeBody` or `detachConnection`. Has no effect but
    /// while the head is told.
    func holdBody()
    func resumeBody()
    /// Gives the connection away from the end of the head on; the observer hears nothing more. Nil when that cannot be.
    func detachConnection() -> DetachedConnection?

    /// Keeps the connection for another exchange after this one. Who calls this starts that or lets the connection go.
    func hold()
    func letGo()
}

extension ConnectionFacts {
    /// - Parameter protocolName: The ALPN name of what is spoken.
    init(of stream: ByteStream, to origin: ConnectionKey, speaking protocolName: String, isReused: Bool) {
        let local = stream.localAddress
        let remote = stream.remoteAddress
        // TLS that ends at a proxy is none with the server.
        let isForwarded = if case .forwarding = origin.proxyMode { true } else { false }
        let secure = origin.isSecure && !isForwarded ? stream.tls?.session : nil
        self.init(
            protocolName: protocolName, isReused: isReused, isProxied: origin.proxyMode != nil,
            localAddress: local?.description, localPort: local.map { Int($0.port) },
            remoteAddress: remote?.description, remotePort: remote.map { Int($0.port) },
            tlsVersion: secure?.version.rawValue, tlsCipherSuite: secure?.cipherSuite)
        if origin.service.isMultipath { isMultipath = stream.isMultipath }
    }
}
