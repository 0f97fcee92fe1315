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
    /// Whether all origins are gone to without a proxy.
    private let isAlwaysDirect: Bool
    @exclusivity(unchecked) private(set) var origins: [Origin: OriginConnections] = [:]
    let http3Services: HTTP3Services
    /// Servers that speak HTTP/1.1 though HTTP/2 was offered.
    private var serversOfHTTP1: Set<Origin> = []
    /// Connections from before a flush carry an older number and are not kept.
    @exclusivity(unchecked) private(set) var generation = 0
    /// While changes of the machine's routes are waited for.
    var routes: RouteWait?
    /// The request head being encoded; one buffer for all, since encoding and the first write are one step.
    var encodeBuffer: [UInt8] = []

    /// Origins that are asked at no other place than their own, since a server elsewhere has sent them away (CONN-3).
    private var homebodies: Set<Origin> = []
    /// Servers that have refused a request over HTTP/2 because it was that.
    @exclusivity(unchecked) private var serversWithoutHTTP2: Set<Origin> = []
    /// How many requests servers of HTTP/2 took on a connection before they ended it.
    @exclusivity(unchecked) private var requestLimits: [Origin: RequestLimit] = [:]
    private static let mostServers = 256

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
    package func usable(_ origin: Origin) -> Origin {
        let isRefused = !serversWithoutHTTP2.isEmpty && serversWithoutHTTP2.contains(origin)
        guard isRefused || requiredVersion == .http11 else { return origin }
        var origin = origin
        origin.needsHTTP1 = true
        return origin
    }

    /// Why no connection to an origin can speak the version that is required; nil if one may.
    package func obstacle(to origin: Origin) -> LoadError? {
        guard let requiredVersion, requiredVersion != .http11 else { return nil }
        let name = requiredVersion == .http2 ? "HTTP/2" : "HTTP/3"
        if !origin.isSecure { return .cannotSpeak("\(name) is spoken with https only") }
        guard requiredVersion == .http3 else { return nil }
        if !HTTP3Session.isAvailable { return .cannotSpeak("HTTP/3 is not part of this build") }
        return maySpeakHTTP3(origin) ? nil : .cannotSpeak("HTTP/3 needs TLS 1.3 and a way without a proxy")
    }

    /// A server wants its requests over HTTP/1.1.
    package func requireHTTP1(of origin: inout Origin) {
        if serversWithoutHTTP2.count >= Self.mostServers { serversWithoutHTTP2 = [] }
        serversWithoutHTTP2.insert(origin)
        origin.needsHTTP1 = true
    }

    /// An idle connection to the origin, the common case, without asking for one.
    package func takeIdle(
        _ origin: Origin, isRepeatable: Bool, assumesHTTP3: Bool = false
    ) -> (any ExchangeCarrier)? {
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
            if isUnknown(origin.origin) { origin.share(with: request) }
            if origin.standsStill { request.taker?.connectionIsBeingMade() } else { origin.noteStandstill() }
        }
    }

    /// Takes a wish back. An attempt that nobody is left to wait for is given up.
    package func withdraw(_ request: ConnectionRequest) {
        loop.checkConfinement(of: "A connection pool")
        request.taker = nil
        request.sharedAttempt = nil
        guard let origin = origins[request.origin] else { return }
        origin.waiting.remove(request)
        passOnAttempt(of: request, at: origin)
        if let upgrade = request.upgrade { leave(upgrade) }
        discardIfUnused(origin)
    }

    /// Who waits moves to the place that the new priority gives him (T-19).
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

    // MARK: For connections

    /// The exchange ended in order and the connection may carry another.
    func release(_ connection: HTTP1Connection) {
        loop.checkConfinement(of: "A connection pool")
        guard connection.generation == generation else { return discard(connection) }
        let origin = connection.home
        if let first = origin.waiting.first(),
            !first.acceptsReused || !first.isRepeatable && !connection.isSilent
        {
            // Who lost a request on a reused connection is promised a new one, for which this one makes room. And who
            // has one try gets no connection that the server closed behind its last response.
            discard(connection)
        } else if let next = origin.waiting.popFirst() {
            hand(connection, of: origin, to: next, isReused: true, events: [])
        } else {
            keepIdle(connection, at: origin)
        }
    }

    /// Gives streams to who waits.
    func serve(from connection: any MultiplexedConnection) {
        serve(connection.home, from: connection)
        for guest in connection.guests { serve(guest, from: connection) }
    }

    private func serve(_ origin: OriginConnections, from connection: any MultiplexedConnection) {
        while origin.shared === connection, let next = origin.waiting.first(),
            let stream = connection.openStream(isRepeatable: next.isRepeatable, for: origin)
        {
            origin.waiting.remove(next)
            hand(stream, of: origin, to: next, isReused: true, events: [])
        }
        origin.noteStandstill()
    }

    /// Serves from the connection that all share, if there is one.
    func serveFromShared(_ origin: OriginConnections) {
        if let shared = origin.shared { serve(origin, from: shared) }
    }

    /// Whether there may be one more beside those that all share, or have shared (C-24): each full one holds what many have
    /// not read.
    func mayHaveAnother(to origin: OriginConnections) -> Bool { origin.multiplexedCount < maximumPerHost }

    /// How many requests an origin's server is expected to take on a connection; nil if nothing is known.
    func requestLimit(of origin: Origin) -> RequestLimit? { requestLimits.isEmpty ? nil : requestLimits[origin] }

    /// - Parameter limit: Nil if the server takes more than it was expected to.
    func noteRequestLimit(_ limit: RequestLimit?, of origin: Origin) {
        if limit != nil, requestLimits.count >= Self.mostServers { requestLimits = [:] }
        requestLimits[origin] = limit
    }

    /// A connection was lost with requests under way, after the server had answered others.
    func noteLoss(after answers: Int, of origin: Origin) {
        var limit = requestLimit(of: origin) ?? RequestLimit()
        limit.lostConnection(after: answers)
        noteRequestLimit(limit, of: origin)
    }

    /// All requests of a connection were answered that was given up at the expected number.
    func noteGoodEnd(of origin: Origin) {
        guard var limit = requestLimit(of: origin) else { return }
        limit.connectionEndedWell()
        noteRequestLimit(limit == RequestLimit() ? nil : limit, of: origin)
    }

    /// The connection takes no new requests any more.
    func retire(_ connection: any MultiplexedConnection) {
        connection.isRetired = true
        for origin in [connection.home] + connection.guests { origin.retire(connection) }
        for origin in [connection.home] + connection.guests { startAttempts(at: origin) }
    }

    func letGo(_ connection: any MultiplexedConnection) {
        connection.isRetired = true
        let all = [connection.home] + connection.guests
        connection.guests = []
        for origin in all { origin.forget(connection) }
        for origin in all {
            startAttempts(at: origin)
            discardIfUnused(origin)
        }
    }

    /// The server at the other end says that it is not that origin.
    func avoid(_ connection: any MultiplexedConnection, for origin: OriginConnections) {
        if origin === connection.home {
            if let connection = connection as? HTTP3Connection {
                http3Services.isMisdirected(connection.service, of: origin.origin.place, at: loop.now)
            }
            return connection.retire()
        }
        connection.guests.removeAll { $0 === origin }
        origin.retire(connection)
        if homebodies.count >= Self.mostServers { homebodies = [] }
        homebodies.insert(origin.origin)
        startAttempts(at: origin)
    }

    /// The connection is closed or must be.
    func discard(_ connection: HTTP1Connection) {
        connection.close()
        letGo(connection)
    }

    /// The connection is none of the pool's any more.
    func letGo(_ connection: HTTP1Connection) {
        connection.home.forget(connection)
        startAttempts(at: connection.home)
        discardIfUnused(connection.home)
    }

    // MARK: For attempts

    func succeeded(_ attempt: ConnectionAttempt, with stream: ByteStream) {
        let origin = attempt.home
        let first = attempt.request
        if stream.tls?.session.applicationProtocol == "h2" {
            guard origin.origin.mayShare else {
                // It was not offered.
                stream.close()
                return failed(attempt, with: ConnectionFailure(LoadError(code: TLSError.secureConnectionFailed)))
            }
            origin.finish(attempt)
            serversOfHTTP1.remove(origin.origin)
            return adopt(stream, of: attempt, first: first)
        }
        if requiredVersion == .http2 {
            stream.close()
            return failed(attempt, with: ConnectionFailure(.cannotSpeak("the server did not agree to HTTP/2")))
        }
        origin.finish(attempt)
        if origin.origin.mayShare {
            if serversOfHTTP1.count >= Self.mostServers { serversOfHTTP1 = [] }
            serversOfHTTP1.insert(origin.origin)
        }
        let connection = HTTP1Connection(stream: stream, home: origin, pool: self, generation: attempt.generation)
        origin.adopt(connection)
        watchRoutes()
        if let first, first.isWaiting {
            origin.waiting.remove(first)
            hand(connection, of: origin, to: first, isReused: false, events: attempt.events)
        } else if let next = origin.waiting.popFirst() {
            hand(connection, of: origin, to: next, isReused: false, events: attempt.events)
        } else {
            keepIdle(connection, at: origin)
        }
        // Those who waited to see what the server speaks.
        startAttempts(at: origin)
    }

    /// A connection that all can share. One is enough.
    private func adopt(_ stream: ByteStream, of attempt: ConnectionAttempt, first: ConnectionRequest?) {
        let origin = attempt.home
        if let shared = origin.shared {
            stream.close()
            return serve(from: shared)
        }
        let connection = HTTP2Connection(stream: stream, home: origin, pool: self)
        connection.start()
        adopt(connection, at: origin, of: attempt.generation, first: first, events: attempt.events)
    }

    /// - Parameter isReused: Whether it was not made for who gets it first.
    func adopt(
        _ connection: any MultiplexedConnection, at origin: OriginConnections, of itsGeneration: Int,
        first: ConnectionRequest?, isReused: Bool = false, events: [LoadEvent]
    ) {
        origin.adopt(connection)
        watchRoutes()
        if let next = first?.isWaiting == true ? first : origin.waiting.first(),
            let opened = connection.openStream(isRepeatable: true, for: origin)
        {
            origin.waiting.remove(next)
            hand(opened, of: origin, to: next, isReused: isReused, events: events)
        }
        // One from before a flush is for whom it was made for (CONN-18).
        if itsGeneration == generation { serve(from: connection) } else { connection.retire() }
    }

    /// A connection for another origin whose server may be that of this one too: its name leads to the same address
    /// (RFC 9113 §9.1.1). Whether the certificate covers it is still to be seen.
    func candidate(for origin: Origin, at addresses: [SocketAddress]) -> (any MultiplexedConnection)? {
        guard origin.mayShare, origin.passage == nil, !homebodies.contains(origin) else { return nil }
        return origins.values.lazy.compactMap(\.shared).first { connection in
            guard !connection.isRetired, !connection.isClosed, connection.isTrusted,
                connection.home.origin.passage == nil,
                connection.home.origin.port == origin.port, connection.home.origin.service == origin.service,
                let peer = connection.peer
            else { return false }
            return addresses.contains { $0.with(port: origin.port) == peer.address }
        }
    }

    /// The server of that connection has proved to be that of the attempt's origin too.
    func succeeded(_ attempt: ConnectionAttempt, sharing connection: any MultiplexedConnection) {
        let origin = attempt.home
        origin.finish(attempt)
        origin.lodge(with: connection)
        serve(origin, from: connection)
    }

    func succeeded(_ attempt: ConnectionAttempt, with connection: HTTP3Connection, events: [LoadEvent]) {
        let origin = attempt.home
        let first = attempt.request
        origin.finish(attempt)
        dropUpgrade(of: origin)
        adopt(connection, of: attempt.generation, first: first, events: events)
    }

    /// There is a connection for who waits.
    func isNotNeeded(_ attempt: ConnectionAttempt) {
        let origin = attempt.home
        origin.finish(attempt)
        serveFromShared(origin)
        startAttempts(at: origin)
    }

    /// Where to try HTTP/3 for such an origin; nil if nowhere.
    func http3Service(of origin: Origin, isAssumed: Bool) -> AlternativeService? {
        guard maySpeakHTTP3(origin) else { return nil }
        return http3Services.service(
            of: origin.place, isAssumed: isAssumed, mayBeElsewhere: isAlwaysDirect, isWatched: routes != nil,
            at: loop.now)
    }

    /// The same by what name servers say.
    func http3Service(of origin: Origin, among found: FoundServices) -> AlternativeService? {
        guard maySpeakHTTP3(origin) else { return nil }
        return http3Services.service(
            of: origin.place, among: found.records, mayBeElsewhere: isAlwaysDirect, at: loop.now)
    }

    /// Whether name servers are worth asking where such an origin speaks HTTP/3. Where QUIC does not get through to the
    /// origin itself, it hardly does to another place of the same.
    func mayFindHTTP3(of origin: Origin) -> Bool {
        maySpeakHTTP3(origin) && !http3Services.isBroken(origin.place, at: loop.now)
    }

    private func maySpeakHTTP3(_ origin: Origin) -> Bool {
        origin.mayShare && origin.passage == nil && security.allowsHTTP3 && requiredVersion != .http2
    }

    /// What a response says about where else its origin is (CONN-6).
    package func noteAlternatives(in fields: HTTPFields, from url: HTTPURL) {
        if fields.contains("Alt-Svc"), HTTP3Session.isAvailable { http3Services.note(fields, from: url) }
    }

    func failed(_ attempt: ConnectionAttempt, with failure: ConnectionFailure) {
        let origin = attempt.home
        let request = attempt.request
        // The one it was made for, else who would have been served next; and who has waited for it too.
        var victims = isAbout(attempt, failure) ? [] : origin.sharing(attempt)
        origin.finish(attempt)
        if let request, request.isWaiting { victims.insert(request, at: 0) }
        if victims.isEmpty, let next = origin.waiting.popFirst() { victims.append(next) }
        let takers = victims.compactMap { victim in
            origin.waiting.remove(victim)
            defer { victim.taker = nil }
            return victim.taker
        }
        for taker in takers { taker.connectionFailed(failure, events: attempt.events) }
        serveFromShared(origin)
        startAttempts(at: origin)
        discardIfUnused(origin)
    }

    /// Whether a failure is that of whom the attempt was made for, whose delegate was asked, or would have been asked had
    /// there been another.
    private func isAbout(_ attempt: ConnectionAttempt, _ failure: ConnectionFailure) -> Bool {
        attempt.hasAsked || failure.isPersonal
    }

    /// Frees a descriptor for an attempt that got none: closes the idle connection that is unused longest. False when
    /// nothing is idle.
    func closeOneIdle() -> Bool {
        if dropUpgrades(where: { $0.request == nil }) { return true }
        let oldestOfEach = origins.values.lazy.compactMap(\.oldestIdle)
        if let oldest = oldestOfEach.min(by: { $0.idleSince < $1.idleSince }) {
            discard(oldest)
            return true
        }
        let unused = origins.values.lazy.compactMap(\.shared).filter(\.isIdle)
        guard let oldest = unused.min(by: { $0.idleSince < $1.idleSince }) else { return false }
        oldest.closeAtOnce()
        return true
    }

    // MARK: Inside

    func connections(to origin: Origin) -> OriginConnections {
        if let known = origins[origin] { return known }
        let new = OriginConnections(origin)
        origins[origin] = new
        return new
    }

    func hand(
        _ carrier: any ExchangeCarrier, of origin: OriginConnections, to request: ConnectionRequest, isReused: Bool,
        events: [LoadEvent]
    ) {
        passOnAttempt(of: request, at: origin)
        request.sharedAttempt = nil
        guard let taker = request.taker else { return carrier.putBack() }
        request.taker = nil
        taker.took(carrier, isReused: isReused, events: events)
    }

    /// An attempt whose request was served otherwise goes on for somebody else who waits, and whose time counts from
    /// now on; without one it is given up, since nobody would see to its end.
    private func passOnAttempt(of request: ConnectionRequest, at origin: OriginConnections) {
        guard let attempt = request.attempt else { return }
        request.attempt = nil
        attempt.setRequest(nil)
        let isStale =
            attempt.generation != generation
            || loop.now - attempt.beginning > loop.limits.attemptReuse && !attempt.isAsking
        if !isStale, let next = origin.waiting.firstWithoutAttempt() {
            next.attempt = attempt
            // Who has waited for it already has had his time.
            if next.sharedAttempt == nil { next.taker?.connectionIsBeingMade() }
            next.sharedAttempt = nil
            attempt.setRequest(next)
        } else {
            origin.finish(attempt)
            attempt.cancel()
            serveFromShared(origin)
            startAttempts(at: origin)
        }
    }

    func startAttempts(at origin: OriginConnections) {
        while mayStartAttempt(at: origin), origin.attemptCount < origin.waiting.count,
            let request = origin.waiting.firstWithoutAttempt()
        {
            startAttempt(for: request, at: origin)
        }
        guard isUnknown(origin.origin), origin.attemptCount > 0 else { return }
        for request in origin.waiting.requests where request.sharedAttempt == nil { origin.share(with: request) }
    }

    func mayStartAttempt(at origin: OriginConnections) -> Bool {
        origin.shared == nil && origin.liveCount < maximumPerHost
            && (origin.attemptCount == 0 || !isUnknown(origin.origin))
    }

    /// Whether it will show with the first connection what the server speaks.
    private func isUnknown(_ origin: Origin) -> Bool { origin.mayShare && !serversOfHTTP1.contains(origin) }

    @discardableResult
    private func startAttempt(for request: ConnectionRequest, at origin: OriginConnections) -> ConnectionAttempt {
        let attempt = ConnectionAttempt(for: request, at: origin, pool: self)
        request.attempt = attempt
        origin.begin(attempt)
        request.taker?.connectionIsBeingMade()
        attempt.start()
        return attempt
    }

    /// An idle connection, looked at where it matters: the server may have closed it without the loop's having heard of
    /// that, and then a request that may go out only once is lost with it. It matters too where closing is likely.
    func takeIdle(of origin: OriginConnections, isRepeatable: Bool) -> HTTP1Connection? {
        while let connection = origin.takeIdle() {
            let isTrusted = isRepeatable && loop.now - connection.idleSince <= loop.limits.unverifiedReuse
            if isTrusted || connection.isSilent { return connection }
            connection.close()
            origin.forget(connection)
        }
        return nil
    }

    private func keepIdle(_ connection: HTTP1Connection, at origin: OriginConnections) {
        connection.idleSince = loop.now
        connection.idleDeadline = loop.now + min(loop.limits.http1Idle, connection.announcedIdleLifetime)
        origin.keepIdle(connection)
        let timer = connection.expiryTimer
        if !timer.isArmed || connection.idleDeadline < timer.deadline {
            loop.arm(timer, at: connection.idleDeadline, for: connection)
        }
    }

    /// The connection may have been used since its timer was armed, or be in use; then its time is yet to come.
    func expiryTimerFired(of connection: HTTP1Connection) {
        guard connection.isIdle else { return }
        if connection.idleDeadline <= loop.now { return discard(connection) }
        loop.arm(connection.expiryTimer, at: connection.idleDeadline, for: connection)
    }

    func discardIfUnused(_ origin: OriginConnections) {
        guard origin.isUnused, origins[origin.origin] === origin else { return }
        // It may still hold connections that closed while they were idle, and they hold it.
        origin.closeAll()
        origins[origin.origin] = nil
    }
}
