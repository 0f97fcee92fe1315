internal import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The connections of one session: who may have one, who waits, and which are kept for later. Confined to its loop.
///
/// The policy, in order:
/// 1. The connection that all share, where the server speaks HTTP/2 (CONN-3) or HTTP/3, while it takes more. Where the server
///    is known to speak HTTP/3, and none of its connections does, one request waits for that for a moment.
/// 2. An idle connection to the origin, the one used last first: the others then grow old and expire.
/// 3. A new connection, while the origin has fewer than `maximumPerHost` (C-24). As long as nobody knows what the server
///    speaks there is one, and all wait for it: they may all fit on it.
/// 4. Waiting, by priority and then first come first served (CONN-1). A connection that becomes free goes to whoever
///    waits first at that moment, a new one to whom it was made for, if he still waits. Only who lost a request on a
///    reused connection of HTTP/1.1 gets no other than a new one.
///
/// A server may close an idle connection at any time, and a request that is on its way then is lost. So a connection is
/// looked at before it carries a request that cannot be repeated, and after a second of idleness before it carries any
/// (CONN-10).
///
/// No access to what each request needs here lasts while a taker, a connection or an attempt is called, so exclusive access
/// to that is not checked.
package final class ConnectionPool {
    package let loop: EventLoop
    let security: ConnectionSecurity
    package let resolver: NameResolver
    package var maximumPerHost: Int
    /// The only version of HTTP that may be spoken; nil for all.
    package var requiredVersion: HTTPVersion?
    /// Whether no origin is reached through a proxy.
    let isAlwaysDirect: Bool
    @exclusivity(unchecked) private(set) var origins: [ConnectionKey: OriginConnections] = [:]
    let http3Services: HTTP3Services
    /// Servers that speak HTTP/1.1 though HTTP/2 was offered.
    @exclusivity(unchecked) var serversOfHTTP1: Set<ConnectionKey> = []
    /// Connections from before a flush carry an older number and are not kept.
    @exclusivity(unchecked) private(set) var generation = 0
    /// While changes of the machine's routes are waited for.
    var routes: RouteWait?
    /// The request head being encoded; one buffer for all, since encoding and the first write are one step.
    var encodeBuffer: [UInt8] = []

    /// Origins that share no connection of another: a server answered 421 (CONN-3).
    var coalescingDisallowed: Set<ConnectionKey> = []
    /// Servers that answered a request over HTTP/2 with HTTP_1_1_REQUIRED.
    @exclusivity(unchecked) private var serversWithoutHTTP2: Set<ConnectionKey> = []
    /// How many requests servers of HTTP/2 took on a connection before they ended it.
    @exclusivity(unchecked) var requestLimits: [ConnectionKey: RequestLimit] = [:]
    static let mostServers = 256

    /// - Parameter alternatives: What origins have said about HTTP/3.
    package init(
        loop: EventLoop, security: ConnectionSecurity, maximumPerHost: Int, isAlwaysDirect: Bool = true,
        alternatives: any AlternativeServicesStore = TransientAlternatives(), resolver: NameResolver = NameResolver()
    ) {
        http3Services = HTTP3Services(alternatives)
        self.isAlwaysDirect = isAlwaysDirect
        self.loop = loop
        self.security = security
        self.resolver = resolver
        self.maximumPerHost = max(1, maximumPerHost)
    }

    // MARK: For loads

    /// The origin as its connections are to be asked for.
    package func usable(_ origin: ConnectionKey) -> ConnectionKey {
        let isRefused = !serversWithoutHTTP2.isEmpty && serversWithoutHTTP2.contains(origin)
        guard isRefused || requiredVersion == .http11 else { return origin }
        var origin = origin
        origin.needsHTTP1 = true
        return origin
    }

    /// Why no connection to an origin can speak the version that is required; nil if one may.
    package func obstacle(to origin: ConnectionKey) -> LoadError? {
        guard let requiredVersion, requiredVersion != .http11 else { return nil }
        let name = requiredVersion == .http2 ? "HTTP/2" : "HTTP/3"
        if !origin.isSecure { return .cannotSpeak("\(name) is spoken with https only") }
        guard requiredVersion == .http3 else { return nil }
        if !HTTP3Session.isAvailable { return .cannotSpeak("HTTP/3 is not part of this build") }
        return maySpeakHTTP3(origin) ? nil : .cannotSpeak("HTTP/3 needs TLS 1.3 and a way without a proxy")
    }

    /// A server wants its requests over HTTP/1.1.
    package func requireHTTP1(of origin: inout ConnectionKey) {
        if serversWithoutHTTP2.count >= Self.mostServers { serversWithoutHTTP2 = [] }
        serversWithoutHTTP2.insert(origin)
        origin.needsHTTP1 = true
    }

    /// An idle connection to the origin, the common case, without asking for one.
    package func takeIdle(
        _ origin: ConnectionKey, isRepeatable: Bool, assumesHTTP3: Bool = false
    ) -> (any HTTPExchangeStream)? {
        loop.checkConfinement(of: "A connection pool")
        guard let known = origins[origin], !known.hasLine else { return nil }
        if mayUpgrade(known, isAssumed: assumesHTTP3) { return nil }
        if let shared = known.shared {
            if let stream = shared.openStream(isRepeatable: isRepeatable, for: known) { return stream }
            // It may have turned out to be closed, and its origin with it.
            if origins[origin] !== known { return nil }
        }
        if let connection = takeIdle(of: known, isRepeatable: isRepeatable) { return connection }
        discardIfUnused(known)
        return nil
    }

    package func request(_ request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        if !request.acceptsReused, let known = origins[request.origin] {
            // Idle connections that are as old as the one that died make room for a new one. With the last of them
            // the origin may be forgotten, so it is looked up after that.
            for connection in known.idleConnections { discard(connection) }
        }
        var origin = connections(to: request.origin)
        if mayUpgrade(origin, isAssumed: request.assumesHTTP3), upgrade(origin, for: request) { return }
        if !origin.hasLine {
            if let shared = origin.shared {
                if let stream = shared.openStream(isRepeatable: request.isRepeatable, for: origin) {
                    return hand(stream, of: origin, to: request, isReused: true, events: [])
                }
                // It may have turned out to be closed, and its origin was forgotten with it.
                origin = connections(to: request.origin)
            }
            if let connection = takeIdle(of: origin, isRepeatable: request.isRepeatable) {
                return hand(connection, of: origin, to: request, isReused: true, events: [])
            }
        }
        origin.waiting.append(request)
        request.line = origin
        if mayStartAttempt(at: origin) {
            startAttempt(for: request, at: origin)
        } else {
            if isUnknown(origin.key) { origin.share(with: request) }
            if origin.hasNoStreamCredit { request.delegate?.connectionIsBeingMade() } else { origin.noteStreamCredit() }
        }
    }

    /// Withdraws a request. An attempt that no request waits for is cancelled.
    package func withdraw(_ request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        request.delegate = nil
        request.sharedAttempt = nil
        guard let origin = origins[request.origin] else { return }
        origin.waiting.remove(request)
        passOnAttempt(of: request, at: origin)
        if let upgrade = request.upgrade { leave(upgrade) }
        discardIfUnused(origin)
    }

    /// A waiting request moves to the place of its new priority (T-19).
    package func setPriority(_ priority: Float, of request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        guard let origin = origins[request.origin] else { return request.priority = priority }
        origin.waiting.setPriority(priority, of: request)
    }

    /// From now on every request goes over a new connection (CONN-18).
    package func retireAll() {
        loop.checkConfinement(of: "A connection pool")
        generation += 1
        security.forgetResumptions()
        for connection in origins.values.flatMap(\.idleConnections) { discard(connection) }
        for connection in origins.values.compactMap(\.shared) { connection.retire() }
        dropUpgrades { $0.request == nil }
    }

    var allConnections: [any RoutedConnection] { origins.values.flatMap(\.all) }

    package var connectionCount: Int { origins.values.reduce(0) { $0 + $1.liveCount } }

    /// Closes everything. Nothing waits any more and nothing is asked for afterwards.
    package func shutDown() {
        loop.checkConfinement(of: "A connection pool")
        for origin in Array(origins.values) { origin.closeAll() }
        origins = [:]
        routes?.end()
        routes = nil
    }

    // MARK: Inside

    func connections(to origin: ConnectionKey) -> OriginConnections {
        if let known = origins[origin] { return known }
        let new = OriginConnections(origin)
        origins[origin] = new
        return new
    }

    func hand(
        _ carrier: any HTTPExchangeStream, of origin: OriginConnections, to request: ConnectionRequest, isReused: Bool,
        events: [LoadEvent]
    ) {
        passOnAttempt(of: request, at: origin)
        request.sharedAttempt = nil
        guard let delegate = request.delegate else { return carrier.returnUnused() }
        request.delegate = nil
        delegate.connectionBecameAvailable(carrier, isReused: isReused, events: events)
    }

    func discardIfUnused(_ origin: OriginConnections) {
        guard origin.isUnused, origins[origin.key] === origin else { return }
        // It may still hold connections that closed while they were idle, and they hold it.
        origin.closeAll()
        origins[origin.key] = nil
    }
}
