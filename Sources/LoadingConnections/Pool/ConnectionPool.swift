internal import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The connections of one session: which request gets one, which requests wait, and which connections are kept for
/// later. Confined to its loop.
///
/// The policy, in order:
/// 1. The shared connection, if the server supports HTTP/2 (CONN-3) or HTTP/3, while it takes more requests. If the
///    server is known to support HTTP/3, and the origin has no HTTP/3 connection, one request waits a short time for
///    HTTP/3.
/// 2. An idle connection to the origin, the most recently used one first: the others then reach their idle limit and
///    expire.
/// 3. A new connection, while the origin has fewer than `maximumPerHost` (C-24). Until the server's version is known,
///    only one is made, and all requests wait for it, because one connection may be able to carry them all.
/// 4. Waiting, by priority and then first come, first served (CONN-1). A released connection goes to the first waiting
///    request. A new connection goes to the request that it was made for, if that still waits. A request that was lost
///    on a reused HTTP/1.1 connection gets only a new connection, for which a released one is closed if none is being
///    made. Origins that share a connection take turns.
///
/// A server may close an idle connection at any time, and a request in transit is then lost. It may also send bytes
/// that are no response to the next request. So a connection's socket is checked before it carries a request that
/// cannot be repeated, and after a millisecond of idleness before it carries any request (CONN-10).
///
/// Every request uses the properties with unchecked exclusivity. The check is not needed, because no access to them
/// lasts during a call of a delegate, a connection or an attempt. Every request also retains the pool and its
/// origin. So there are no weak references to these: the first one to an object makes each later retain of it three
/// times as expensive.
package final class ConnectionPool {
    package let loop: EventLoop
    let security: ConnectionSecurity
    package let resolver: NameResolver
    /// `httpMaximumConnectionsPerHost`; `ConnectionLimits` applies it.
    package var maximumPerHost: Int
    /// The only version of HTTP that may be used; nil for all.
    @exclusivity(unchecked) package var requiredVersion: HTTPVersion?
    /// Where connections go instead of where DNS leads. Proxies must not be used together with other hosts.
    @exclusivity(unchecked) package var destinations = ConnectionDestinations()
    @exclusivity(unchecked) private(set) var origins: [ConnectionKey: OriginConnections] = .withRoom()
    /// The one of the last request, since most requests go to the same server as the one before them.
    @exclusivity(unchecked) private var lastOrigin: OriginConnections?
    let http3Services: HTTP3Services
    /// Addresses that accepted a connection, and then sent nothing for the time of a TLS handshake. They are tried
    /// last.
    var silentAddresses = BrokenServices<SocketAddress>()
    /// Servers that negotiate HTTP/1.1 although HTTP/2 was offered. Bounded.
    @exclusivity(unchecked) var serversOfHTTP1: Set<ConnectionKey> = []
    /// The number of flushes. Connections from before a flush have a smaller number and are not kept.
    @exclusivity(unchecked) private(set) var generation = 0
    let descriptorQueue = DescriptorQueue()
    /// The pending wait for changes of the machine's routes.
    var routes: RouteWait?
    /// The number of requests that were served from shared connections after they had waited.
    @exclusivity(unchecked) var turnCount: UInt64 = 0
    /// The request head being encoded; one buffer for all, because encoding and the first write are one step.
    @exclusivity(unchecked) var encodeBuffer: [UInt8] = []

    /// Origins that do not coalesce with another origin's connection: a server answered 421 (CONN-3).
    var coalescingDisallowed: Set<ConnectionKey> = []
    /// Servers that answered a request over HTTP/2 with HTTP_1_1_REQUIRED.
    @exclusivity(unchecked) private var serversWithoutHTTP2: Set<ConnectionKey> = []
    /// The number of requests that HTTP/2 servers accepted on a connection before they ended it.
    @exclusivity(unchecked) var requestLimits = RequestLimits<HTTP2RequestLimit>()
    /// The same for HTTP/3 servers, which refuse the requests above it without a loss (RFC 9114 §5.2).
    @exclusivity(unchecked) var http3RequestLimits = RequestLimits<Int>()
    static let mostServers = 256

    /// - Parameters:
    ///   - isAlwaysDirect: Whether no origin is reached through a proxy.
    ///   - alternatives: The alternative services that origins have advertised.
    package init(
        loop: EventLoop, security: ConnectionSecurity, maximumPerHost: Int, isAlwaysDirect: Bool = true,
        alternatives: any AlternativeServicesStore = TransientAlternatives(), resolver: NameResolver = NameResolver()
    ) {
        http3Services = HTTP3Services(alternatives, mayBeElsewhere: isAlwaysDirect, clock: loop.clock)
        self.loop = loop
        self.security = security
        self.resolver = resolver
        self.maximumPerHost = max(1, maximumPerHost)
    }

    // MARK: For loads

    /// The key with which connections to the origin must be requested.
    package func usable(_ key: ConnectionKey) -> ConnectionKey {
        let isRefused = !serversWithoutHTTP2.isEmpty && serversWithoutHTTP2.contains(key)
        guard isRefused || requiredVersion == .http11 else { return key }
        var key = key
        key.needsHTTP1 = true
        return key
    }

    /// Whether there may be an obstacle. A call, because other modules would check exclusive access to the version.
    package var requiresVersion: Bool { requiredVersion != nil }

    /// Why no connection to an origin can use the required version; nil if one may.
    package func obstacle(to key: ConnectionKey) -> LoadError? {
        guard let requiredVersion, requiredVersion != .http11 else { return nil }
        let name = requiredVersion == .http2 ? "HTTP/2" : "HTTP/3"
        if !key.isSecure { return .versionUnavailable("\(name) is supported with https only") }
        guard requiredVersion == .http3 else { return nil }
        if !HTTP3Session.isAvailable { return .versionUnavailable("HTTP/3 is not part of this build") }
        return mayUseHTTP3(key) ? nil : .versionUnavailable("HTTP/3 needs TLS 1.3 and a direct connection")
    }

    package func requireHTTP1(of key: inout ConnectionKey) {
        if serversWithoutHTTP2.count >= Self.mostServers { serversWithoutHTTP2 = [] }
        serversWithoutHTTP2.insert(key)
        key.needsHTTP1 = true
    }

    /// An idle connection to the origin, or a stream of the shared one: the common case, without a `ConnectionRequest`.
    package func takeIdle(
        _ key: ConnectionKey, isRepeatable: Bool, assumesHTTP3: Bool = false
    ) -> (any HTTPExchangeStream)? {
        loop.checkConfinement(of: "A connection pool")
        guard let known = origin(of: key), !known.hasWaitingRequests else { return nil }
        if mayUpgrade(known, isAssumed: assumesHTTP3) { return nil }
        if let shared = known.shared {
            if let stream = shared.openStream(isRepeatable: isRepeatable, for: known) { return stream }
            // The connection may have turned out to be closed; its origin is then forgotten.
            if origins[key] !== known { return nil }
        }
        if let connection = takeIdle(of: known) { return connection }
        discardIfUnused(known)
        return nil
    }

    /// A stream for an extended CONNECT (RFC 8441, RFC 9220), of the shared connection to the origin. Nil if there is
    /// none, or if its server does not allow it: the protocol is then requested over a connection of HTTP/1.1.
    package func takeTunnelStream(to key: ConnectionKey) -> (any HTTPExchangeStream)? {
        loop.checkConfinement(of: "A connection pool")
        guard let known = origins[key], !known.hasWaitingRequests, let shared = known.shared,
            shared.allowsExtendedConnect
        else { return nil }
        return shared.openStream(isRepeatable: false, for: known)
    }

    package func request(_ request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        if !request.acceptsReused, let known = origins[request.key] {
            // Idle connections that are as old as the lost one make room for a new one. Closing the last of them may
            // discard the origin, so the origin is looked up afterwards.
            for connection in known.idleConnections { discard(connection) }
        }
        var origin = connections(to: request.key)
        if mayUpgrade(origin, isAssumed: request.assumesHTTP3), upgrade(origin, for: request) { return }
        if !origin.hasWaitingRequests {
            if let shared = origin.shared {
                if let stream = shared.openStream(isRepeatable: request.isRepeatable, for: origin) {
                    return hand(stream, of: origin, to: request, isReused: true, events: [])
                }
                // The connection may have turned out to be closed; its origin is then forgotten.
                origin = connections(to: request.key)
            }
            if let connection = takeIdle(of: origin) {
                return hand(connection, of: origin, to: request, isReused: true, events: [])
            }
        }
        // All requests in the queue may wait for new connections that are being made.
        if request.acceptsReused, origin.hasWaitingRequests, origin.hasIdle, origin.waiting.firstForReleased() == nil,
            let connection = takeIdle(of: origin)
        {
            return hand(connection, of: origin, to: request, isReused: true, events: [])
        }
        origin.waiting.append(request)
        request.waitingOrigin = origin
        if mayStartAttempt(at: origin) {
            startAttempt(for: request, at: origin)
        } else {
            if isVersionUnknown(origin) { origin.share(with: request) }
            if origin.hasNoStreamCredit { request.delegate?.connectionIsBeingMade() } else { origin.noteStreamCredit() }
        }
    }

    /// Withdraws a request. An attempt that no request waits for is cancelled.
    package func withdraw(_ request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        request.delegate = nil
        request.sharedAttempt = nil
        guard let origin = origins[request.key] else { return }
        origin.waiting.remove(request)
        passOnAttempt(of: request, at: origin)
        discardIfUnused(origin)
    }

    /// A waiting request moves to the place of its new priority (T-19).
    package func setPriority(_ priority: Float, of request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        guard let origin = origins[request.key] else { return request.priority = priority }
        origin.waiting.setPriority(priority, of: request)
    }

    /// From now on every request uses a new connection (CONN-18).
    package func retireAll() {
        loop.checkConfinement(of: "A connection pool")
        generation += 1
        security.forgetResumptions()
        for connection in origins.values.flatMap(\.idleConnections) { discard(connection) }
        for connection in origins.values.compactMap(\.shared) { connection.retire() }
        dropUnusedUpgrades()
    }

    var allConnections: [any RoutedConnection] { origins.values.flatMap(\.all) }

    package var connectionCount: Int { origins.values.reduce(0) { $0 + $1.liveCount } }

    /// Closes all connections. No request waits or is made after this.
    package func shutDown() {
        loop.checkConfinement(of: "A connection pool")
        for origin in Array(origins.values) { origin.closeAll() }
        origins = [:]
        lastOrigin = nil
        stopWatchingRoutes()
    }

    // MARK: Inside

    private func origin(of key: ConnectionKey) -> OriginConnections? {
        if let lastOrigin, lastOrigin.key == key { return lastOrigin }
        lastOrigin = origins[key]
        return lastOrigin
    }

    func connections(to key: ConnectionKey) -> OriginConnections {
        if let known = origins[key] { return known }
        let new = OriginConnections(key)
        origins[key] = new
        return new
    }

    func hand(
        _ stream: any HTTPExchangeStream, of origin: OriginConnections, to request: ConnectionRequest, isReused: Bool,
        events: [LoadEvent]
    ) {
        passOnAttempt(of: request, at: origin)
        request.sharedAttempt = nil
        guard let delegate = request.delegate else { return stream.returnUnused() }
        request.delegate = nil
        delegate.connectionBecameAvailable(stream, isReused: isReused, events: events)
    }

    func discardIfUnused(_ origin: OriginConnections) {
        guard origin.isUnused, origins[origin.key] === origin else { return }
        // It may still have connections that closed while they were idle, and these retain it.
        origin.closeAll()
        origins[origin.key] = nil
        if lastOrigin === origin { lastOrigin = nil }
        // What is known of silent addresses is outdated by a change of the network.
        if origins.isEmpty, silentAddresses.count == 0 { stopWatchingRoutes() }
    }
}
