import LoadingConnections
import LoadingEvents
import LoadingTransport

/// A connection, or a place on one, that carries what a test has it carry. Confined to the load's loop.
final class FakeExchangeStream: HTTPExchangeStream {
    private let name: String
    let isTrusted = true
    let isShared: Bool
    let mayBeMisdirected: Bool
    private(set) var isClosed = false
    /// What `confirm` says.
    var isAlive = true
    /// Its calls, in order, with the name of the stream.
    private let record: (String) -> Void
    private(set) var request: ExchangeRequest?
    private(set) weak var observer: (any ExchangeObserver)?

    init(_ name: String, isShared: Bool = false, mayBeMisdirected: Bool = false, _ record: @escaping (String) -> Void) {
        self.name = name
        self.isShared = isShared
        self.mayBeMisdirected = mayBeMisdirected
        self.record = record
    }

    private func note(_ event: String) { record("\(name) \(event)") }

    func start(_ request: ExchangeRequest, observer: any ExchangeObserver) {
        self.request = request
        self.observer = observer
        note("starts")
    }

    func cancel() {
        isClosed = true
        note("cancelled")
    }

    func confirm() -> Bool {
        note("confirmed")
        return isAlive
    }

    func drain(then: (@Sendable () -> Void)?) {
        note("drained")
        then?()
    }

    func facts(isReused: Bool) -> ConnectionFacts {
        ConnectionFacts(
            protocolName: isShared ? "h2" : "http/1.1", isReused: isReused, isProxied: false, localAddress: name,
            localPort: nil, remoteAddress: nil, remotePort: nil, tlsVersion: nil, tlsCipherSuite: nil)
    }

    func disallowConnection() { note("avoided") }
    func setPriority(_ priority: Float) { note("priority \(priority)") }
    func setSuspended(_ suspended: Bool) { note(suspended ? "suspended" : "resumed") }
    func returnUnused() { note("put back") }
    func hold() { note("held") }
    func endHold() { note("end hold") }

    // What decides nothing here.
    var channelBinding: ChannelBinding? { nil }
    var receivedBodyWireBytes: Int64 { 0 }
    var acknowledgement: Acknowledgement? { nil }
    var lastArrival: Int64? { nil }
    func setPaused(_ paused: Bool) {}
    func startOfBody(most: Int) -> [UInt8]? { [] }
    func holdBody() {}
    func resumeBody() {}
    func detachConnection() -> DetachedConnection? { nil }
}
