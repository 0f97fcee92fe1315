/// How many connections a session has to one server (`httpMaximumConnectionsPerHost`, C-24).
///
/// - HTTP/1.1: at most `maximumPerHost` for each `ConnectionKey`, attempts included. Requests beyond that wait in the
///   `ConnectionRequestQueue`, and no connection to another host is affected.
/// - A proxy that loads requests itself: more, because its connections carry the requests for all hosts.
/// - HTTP/2 and HTTP/3: one shared connection takes all requests. Another is made when it is retired, and when its
///   server grants no more streams. Retired ones count as long as they carry requests.
/// - Until the server's version is known: one attempt, because its connection may be able to carry all requests
///   (CONN-3). Another one when nothing has arrived on it for the time of a TLS handshake.
///
/// There is no other limit for all hosts together. How many requests one HTTP/2 connection carries is another subject:
/// `HTTP2RequestLimit`.
extension ConnectionPool {
    /// The default of `httpMaximumConnectionsPerHost`. A program that sets less wants few connections.
    private static let standardPerHost = 6
    /// As many as browsers make to one proxy.
    private static let maximumPerProxy = 32

    private func maximum(at origin: OriginConnections) -> Int {
        guard case .forwarding? = origin.key.proxyMode, maximumPerHost >= Self.standardPerHost else {
            return maximumPerHost
        }
        return max(maximumPerHost, Self.maximumPerProxy)
    }

    /// Whether one more attempt may be started for the waiting requests.
    func mayStartAttempt(at origin: OriginConnections) -> Bool {
        origin.shared == nil && origin.liveCount < maximum(at: origin) && mayReplaceRetired(of: origin)
            && (origin.areAttemptsSilent || !isVersionUnknown(origin))
    }

    /// Whether one more connection may be made beside retired ones: a server that retires each with its first request,
    /// and responds slowly, would otherwise have as many as there are requests. One may always be replaced.
    func mayReplaceRetired(of origin: OriginConnections) -> Bool {
        origin.busyMultiplexedCount + origin.attemptCount < max(maximum(at: origin), 2)
    }

    /// Whether the first connection will show which version of HTTP the server negotiates. While there are connections
    /// of HTTP/1.1, it is known, even if the pool does not remember the server any more.
    func isVersionUnknown(_ origin: OriginConnections) -> Bool {
        origin.key.mayShare && !origin.hasHTTP1 && !serversOfHTTP1.contains(origin.key)
    }

    /// Whether one more shared connection may be made beside those that are or were shared. A connection without free
    /// streams buffers data that many requests have not read.
    func mayHaveAnother(to origin: OriginConnections) -> Bool { origin.multiplexedCount < maximumPerHost }
}
