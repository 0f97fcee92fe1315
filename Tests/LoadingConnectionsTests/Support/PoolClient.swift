import FoundationEssentials
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import TestSupport

@testable import LoadingConnections

/// A pool on a loop, and the events of its clients, in order.
final class PoolOnLoop: @unchecked Sendable {
    // Sendable because pool and clients are touched on the loop only.

    let loop: EventLoop
    let origin: ConnectionKey
    let recorded = EventRecorder<String>()
    private(set) var pool: ConnectionPool

    init(
        to port: Int, host: String = "127.0.0.1", isSecure: Bool = false, limit: Int = 6,
        proxyMode: ProxyMode? = nil, isAlwaysDirect: Bool = true,
        configuration: TLSConfiguration = TLSConfiguration(),
        resolver: NameResolver = NameResolver(), on loop: EventLoop = EventLoops.assign()
    ) {
        self.loop = loop
        origin = ConnectionKey(isSecure: isSecure, host: host, port: UInt16(port), proxyMode: proxyMode)
        pool = ConnectionPool(
            loop: loop, security: ConnectionSecurity(configuration, clock: loop.clock), maximumPerHost: limit,
            isAlwaysDirect: isAlwaysDirect, resolver: resolver)
    }

    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (ConnectionPool) -> Result) async -> Result {
        await loop.run { body(self.pool) }
    }

    /// A client that has requested a connection, and releases it unless it `keeps` it.
    ///
    /// - Parameter host: Another host than the pool's, on the same port.
    func client(
        _ name: String, of host: String? = nil, priority: Float = 0.5, acceptsReused: Bool = true,
        isRepeatable: Bool = true, assumesHTTP3: Bool = false, keeps: Bool = false, sends method: String? = nil,
        body: Int = 0, pauses: Bool = false
    ) async -> PoolClient {
        await loop.run {
            let client = PoolClient(name, of: self, keeps: keeps, sends: method, body: body)
            client.pauses = pauses
            client.host = host
            client.ask(
                priority: priority, acceptsReused: acceptsReused, isRepeatable: isRepeatable, assumesHTTP3: assumesHTTP3
            )
            return client
        }
    }

    func close() async { await onLoop { $0.shutDown() } }
}

/// A user of a connection of a pool, which notes what it gets. Confined to the pool's loop.
final class PoolClient: ConnectionRequestDelegate, ExchangeObserver, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    private let name: String
    private let connectionPool: PoolOnLoop
    private let keeps: Bool
    private let method: String?
    private(set) var request: ConnectionRequest?
    private(set) var connection: HTTP1Connection?
    /// Whatever the connection is.
    private var carrier: (any HTTPExchangeStream)?
    private let bodyLength: Int
    private var sent = 0
    /// How much that was when it was looked at last, and since when.
    private var sentBefore = (count: 0, time: ContinuousClock.now)

    init(_ name: String, of connectionPool: PoolOnLoop, keeps: Bool, sends method: String?, body: Int = 0) {
        self.name = name
        self.connectionPool = connectionPool
        self.keeps = keeps
        self.method = method
        bodyLength = body
    }

    /// Looks whether the connection has taken some of the body, and then nothing for half a second: more than what is
    /// on its way takes to be acknowledged.
    func looksStalled() -> Bool {
        if sent != sentBefore.count { sentBefore = (sent, .now) }
        return sent > 0 && ContinuousClock.now - sentBefore.time > .milliseconds(500)
    }

    func cancel() { carrier?.cancel() }

    /// Whether it stops reading when the response begins.
    var pauses = false
    /// Another host than the pool's.
    var host: String?

    func goOn() { carrier?.setPaused(false) }

    func ask(
        priority: Float = 0.5, acceptsReused: Bool = true, isRepeatable: Bool = true, assumesHTTP3: Bool = false
    ) {
        let own = connectionPool.origin
        let key = host.map { ConnectionKey(isSecure: own.isSecure, host: $0, port: own.port) } ?? own
        let request = ConnectionRequest(
            key: key, priority: priority, acceptsReused: acceptsReused, isRepeatable: isRepeatable,
            assumesHTTP3: assumesHTTP3, delegate: self)
        self.request = request
        connectionPool.pool.request(request)
    }

    func withdraw() {
        guard let request else { return }
        connectionPool.pool.withdraw(request)
    }

    func returnUnused() {
        guard let connection else { return }
        self.connection = nil
        connection.returnUnused()
    }

    /// Sends a request over the connection that was kept.
    func send(_ method: String) { carrier?.start(request(method), observer: self) }

    /// How the exchange failed.
    private(set) var failure: ExchangeFailure?

    private func note(_ event: String) { connectionPool.recorded.record("\(name) \(event)") }

    func connectionIsBeingMade() { note("is served") }

    func connectionReceived(challenge question: ConnectionChallenge) -> Bool { false }

    var proxyAuthorizer: (any ProxyAuthorizer)? { nil }

    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {
        note(isReused ? "took a used one" : "took a new one")
        self.connection = connection as? HTTP1Connection
        carrier = connection
        if let method { return connection.start(request(method), observer: self) }
        if !keeps { returnUnused() }
    }

    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {
        note("failed \(failure.error.code)")
    }

    private func request(_ method: String) -> ExchangeRequest {
        ExchangeRequest(
            method: method, target: .origin("/"), fields: HTTPFields([("Host", "localhost")]),
            defaults: HTTPFields(), body: bodyLength == 0 ? .none : .bytes(Data(count: bodyLength)),
            expectsContinue: false)
    }

    // MARK: The exchange

    func exchangeSentHead(bytes: Int) {}
    func exchangeSentBody(bytes: Int, onWire: Int) { sent += bytes }
    func exchangeSentRequest() {}
    func exchangeStartedResponse() {}
    func exchangeReceived(informational head: ResponseHead) {}
    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        if pauses { carrier?.setPaused(true) }
        note("received \(head.status)")
    }
    func exchangeReceived(body: UnsafeRawBufferPointer) {}
    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { nil }
    func exchangeFilled(_ count: Int) {}
    func exchangePipe() -> Int32? { nil }
    func exchangeFilledPipe(_ count: Int) {}
    func exchangeEnded(bodyBytes: Int64) {
        carrier = nil
        note("is done")
    }
    func exchangeFailed(_ failure: ExchangeFailure) {
        self.failure = failure
        note("lost \(failure.error.code)")
    }
}
