package import LoadingEvents
package import LoadingTransport

/// Carries the exchange of a load: an HTTP/1.1 connection, or a stream of an HTTP/2 or HTTP/3 connection. Confined to
/// its loop.
package protocol HTTPExchangeStream: AnyObject {
    /// Whether the stream can carry nothing any more.
    var isClosed: Bool { get }
    /// Whether the default evaluation trusts the server, and not only a delegate.
    var isTrusted: Bool { get }
    /// Binds an authentication to the TLS session with the server, or with the proxy that loads the request. Nil
    /// without TLS, and for some certificates. Computed anew at each call.
    var channelBinding: ChannelBinding? { get }
    /// Whether the stream is one of several on a connection. Each counts against the server's limit of concurrent
    /// streams.
    var isShared: Bool { get }
    /// Whether the server was reached by another name or port than the origin's, so that it may respond 421
    /// (Misdirected Request).
    var mayBeMisdirected: Bool { get }
    /// Whether the server's settings allow extended CONNECT (RFC 8441, RFC 9220). Otherwise, or before they are known,
    /// such a request fails and has not been sent.
    var allowsExtendedConnect: Bool { get }
    /// Makes the origin's next requests use the origin's own host and port.
    func disallowConnection()
    /// The bytes of the body that were received so far, including framing.
    var receivedBodyWireBytes: Int64 { get }
    /// The sent bytes that the server has acknowledged; nil if unknown. Costs system calls.
    var acknowledgement: Acknowledgement? { get }
    /// The loop's time at which bytes last arrived that can only belong to this exchange, even if nothing was made of
    /// them yet, such as a part of a head or of a TLS record. Nil if the connection is shared.
    var lastArrival: Int64? { get }
    func facts(isReused: Bool) -> ConnectionFacts

    /// Sends a request. No other exchange may be in progress. Every outcome is reported to `observer`.
    func start(_ request: ExchangeRequest, observer: any ExchangeObserver)
    /// Stops or resumes reading. Resuming takes effect in this turn or the next.
    func setPaused(_ paused: Bool)
    /// Stops or resumes sending too.
    func setSuspended(_ suspended: Bool)
    /// Sets the priority, from 0 to 1, where the protocol can signal it to the server (T-19).
    func setPriority(_ priority: Float)
    /// Cancels the exchange. The observer is not notified any more.
    func cancel()
    /// Reads the rest of a response that is not needed, if that is cheap. `then` is called in a turn after the
    /// end.
    func drain(then: (@Sendable () -> Void)?)
    /// Whether the connection was closed because the rest of a response was too long to drain. The server had not
    /// closed it.
    var hasGivenUpDraining: Bool { get }
    /// Returns a stream that was handed out and is not used.
    func returnUnused()
    /// Whether the stream can and may carry a request after it was handed out and has been idle. Connections from
    /// before a flush carry none (CONN-18). If not, the stream is returned. May cost a system call.
    func confirm() -> Bool

    /// The first bytes of the response body that were read together with its head, before content decoding. They are
    /// also delivered in the usual manner. Nil if the stream may still deliver them in this turn of the loop:
    /// `exchangeTurnEnded` then follows, unless the exchange ends before. Over HTTP/1.1 only what was read with the
    /// head is known, and only while the rest is not read.
    func startOfBody(most: Int) -> [UInt8]?
    /// Holds the bytes after the response head, where possible, until `resumeBody` or `detachConnection`. Only has an
    /// effect while the head is delivered.
    func holdBody()
    func resumeBody()
    /// Detaches the connection from the end of the head on. The observer is not notified any more. Nil if that is not
    /// possible.
    func detachConnection() -> DetachedConnection?

    /// Keeps the connection for another exchange after this one. The caller starts that exchange or calls `endHold`.
    func hold()
    func endHold()
}

extension HTTPExchangeStream {
    package var allowsExtendedConnect: Bool { false }
    package var hasGivenUpDraining: Bool { false }
}

extension ConnectionFacts {
    /// - Parameter protocolName: The ALPN name of the protocol in use.
    init(of stream: ByteStream, to key: ConnectionKey, protocolName: String, isReused: Bool) {
        let local = stream.localAddress
        let remote = stream.remoteAddress
        // TLS that ends at a proxy is not TLS with the server.
        let isForwarded = if case .forwarding = key.proxyMode { true } else { false }
        let tls = key.isSecure && !isForwarded ? stream.tls : nil
        self.init(
            protocolName: protocolName, isReused: isReused, isProxied: key.proxyMode != nil,
            localAddress: local?.description, localPort: local.map { Int($0.port) },
            remoteAddress: remote?.description, remotePort: remote.map { Int($0.port) },
            tlsVersion: tls?.version.rawValue, tlsCipherSuite: tls?.cipherSuite)
        if key.service.isMultipath { isMultipath = stream.isMultipath }
    }
}
