import Foundation
import LoadingConnections
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport

@testable import LoadingPipeline

/// A load whose exchanges go over what the test gives it: its pool waits for an address that never comes. All but `run`
/// is for the loop.
final class ExchangeBench: @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    let stepped: SteppedLoop
    let client = RecordingClient()
    let log = EventLog()
    let load: HTTPLoad
    private let pool: ConnectionPool
    /// The calls of the streams, in order.
    private(set) var carried: [String] = []
    private(set) var carrier: FakeExchangeStream
    private let end: Signal

    init(_ request: LoadRequest) throws {
        let end = Signal("the end of a test")
        self.end = end
        stepped = try SteppedLoop()
        let resolver = NameResolver(mostThreads: 1, idleSeconds: 0) { _ in
            try? end.wait()
            return .failure(NameFailure(code: -2))
        }
        pool = ConnectionPool(
            loop: stepped.loop, security: ConnectionSecurity(TLSConfiguration(), clock: stepped.loop.clock),
            maximumPerHost: 6, resolver: resolver)
        let environment = LoadingEnvironment(
            loop: stepped.loop, pool: pool,
            transportSecurity: TransportSecurityStage(hosts: HSTSStore(suffixes: .topLevelDomains), rules: nil),
            proxies: nil, clearDefaults: HTTPFields(), secureDefaults: HTTPFields())
        load = HTTPLoad(request, in: environment, destination: .pieces, log: log, client: client)
        carrier = FakeExchangeStream("none") { _ in }
    }

    static func request(
        _ method: String = "GET", _ url: String = "http://a.example/x", _ fields: [(String, String)] = [],
        body: LoadBody = .none
    ) throws -> LoadRequest {
        LoadRequest(
            url: try HTTPURL(url), urlText: url, method: method, fields: HTTPFields(fields), body: body,
            idleTimeout: 60,
            totalTimeout: .infinity, waitsForConnectivity: false, priority: 0.5)
    }

    /// Runs `body` on the loop, lets the loop rest, and returns what the load has come to by then.
    func run(_ body: @escaping @Sendable (ExchangeBench) -> Void) async throws {
        try await stepped.run { body(self) }
        try await stepped.settle()
    }

    /// What `value` is on the loop.
    func get<Value: Sendable>(_ value: @escaping @Sendable (ExchangeBench) -> Value) async throws -> Value {
        try await stepped.run { value(self) }
    }

    /// Ends the load and all that it waits for.
    func close() async throws {
        try await run { bench in
            bench.load.cancel(.cancelled)
            bench.pool.shutDown()
        }
        end.fire()
    }

    // MARK: Connections

    private func make(_ name: String, isShared: Bool, mayBeMisdirected: Bool) -> FakeExchangeStream {
        carrier = FakeExchangeStream(name, isShared: isShared, mayBeMisdirected: mayBeMisdirected) {
            [weak self] event in
            self?.carried.append(event)
        }
        return carrier
    }

    /// Gives the exchange that waits a connection.
    func give(_ name: String, isReused: Bool = false, isShared: Bool = false, mayBeMisdirected: Bool = false) {
        let carrier = make(name, isShared: isShared, mayBeMisdirected: mayBeMisdirected)
        load.exchange?.connectionBecameAvailable(carrier, isReused: isReused, events: [])
    }

    /// Starts the load with a connection that is held for it.
    func start(holding name: String, by route: ProxyRoute = .direct, isBeginning: Bool) {
        let carrier = make(name, isShared: false, mayBeMisdirected: false)
        load.heldConnection = HeldConnection(stream: carrier, route: route, isBeginning: isBeginning)
        load.start(.first)
    }

    // MARK: What comes

    func head(_ status: Int, _ fields: [(String, String)] = [], body: BodyLength = .known(0)) {
        let head = ResponseHead(status: status, version: .http11, fields: HTTPFields(fields), byteCount: 10)
        guard status >= 200 else { return carrier.observer?.exchangeReceived(informational: head) ?? () }
        carrier.observer?.exchangeReceived(head: head, body: body)
    }

    func body(_ text: String) {
        Array(text.utf8).withUnsafeBytes { carrier.observer?.exchangeReceived(body: $0) }
    }

    func ends() { carrier.observer?.exchangeEnded(bodyBytes: 0) }

    func loses(
        _ progress: LostExchange.Progress, _ error: LoadError = .networkConnectionLost, requiresHTTP1: Bool = false,
        mayWorkOverOtherTransport: Bool = false, wasAlone: Bool = true, lastAnswer: Int64 = 0
    ) {
        carrier.observer?.exchangeFailed(
            ExchangeFailure(
                error: error, progress: progress, requiresHTTP1: requiresHTTP1,
                mayWorkOverOtherTransport: mayWorkOverOtherTransport,
                wasAlone: wasAlone, lastAnswer: lastAnswer))
    }

    /// How often the request was begun again after a loss.
    var retries: Int { log.events.count { $0.kind == .fetchStarted(.retry) } }

    /// "again", "waits" or how the load failed.
    func outcome(after before: Int) -> String {
        if retries > before { return "again" }
        return client.events.last { $0.hasPrefix("failed") } ?? "waits"
    }
}
