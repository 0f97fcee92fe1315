public import Foundation
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport

/// A service in the local network (Bonjour, DNS-SD), to resolve or to publish.
///
/// On Linux, Avahi does the work: `avahi-daemon` has to run and is asked over the D-Bus system bus, through libdbus,
/// which is loaded at the first use. Without one of them the delegate gets
/// ``ErrorCode/missingRequiredConfigurationError``, and ``failureReason`` says what is missing.
///
/// **Threads.** All members are thread-safe, and none blocks. Callbacks come on a serial queue that all services and
/// browsers of the process share, because on Linux the current run loop often does not run. After
/// `schedule(in:forMode:)` they come on that run loop, while it runs in that mode. They never come before the method
/// that causes them has returned, except on another thread.
///
/// **Lifetime.** The service is not retained while it works: when its last reference is released it stops, without a
/// callback. The delegate is a weak reference.
open class NetService: NSObject {
    /// How a service is published.
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// A name that is in use is a failure. Without this it is changed.
        public static let noAutoRename = Options(rawValue: 1 << 0)
        /// Not available on Linux: publishing fails with ``ErrorCode/badArgumentError``. Publish the port of a socket
        /// that listens already.
        public static let listenForConnections = Options(rawValue: 1 << 1)
    }

    private enum Activity {
        case resolving, publishing
    }

    private struct State {
        weak var delegate: (any NetServiceDelegate)?
        var name: String
        var port: Int
        var includesPeerToPeer = false
        var activity: Activity?
        /// Changes when an activity begins or ends, so that late events do not count.
        var generation: UInt64 = 0
        var operation: DiscoveryOperation?
        var found: ResolvedService?
        /// Whether a callback for `found` is due.
        var hasChanges = false
        var text: Data?
        var monitor: DiscoveryOperation?
        var monitorGeneration: UInt64 = 0
        /// The monitored TXT record for which a callback is due.
        var newText: Data?
        var failureReason: String?
    }

    private let lock = Lock()
    private var state: State
    private let schedule = CallbackSchedule()
    private let givenDomain: String
    private let givenType: String
    private let discovery: ServiceDiscovery

    /// A service to publish.
    ///
    /// - Parameters:
    ///   - domain: Such as `local.`; empty for the default domain.
    ///   - type: Such as `_http._tcp.`. To publish, subtypes may follow: `_http._tcp,_printer`.
    ///   - name: Up to 63 bytes. Empty for the host's name, when it is published.
    ///   - port: The port on which the service listens; -1 for a service that is only resolved.
    public init(domain: String, type: String, name: String, port: Int32) {
        givenDomain = domain
        givenType = type
        discovery = .shared
        state = State(name: name, port: Int(port))
        super.init()
    }

    /// A service to resolve.
    public convenience init(domain: String, type: String, name: String) {
        self.init(domain: domain, type: type, name: name, port: -1)
    }

    package init(domain: String, type: String, name: String, port: Int32, discovery: ServiceDiscovery) {
        givenDomain = domain
        givenType = type
        self.discovery = discovery
        state = State(name: name, port: Int(port))
        super.init()
    }

    deinit {
        state.operation?.cancel()
        state.monitor?.cancel()
    }

    // MARK: Values

    /// Not retained.
    open var delegate: (any NetServiceDelegate)? {
        get { lock.withLock { state.delegate } }
        set { lock.withLock { state.delegate = newValue } }
    }

    /// No effect on Linux, where Avahi decides about interfaces.
    open var includesPeerToPeer: Bool {
        get { lock.withLock { state.includesPeerToPeer } }
        set { lock.withLock { state.includesPeerToPeer = newValue } }
    }

    /// The name. Publishing may change it.
    open var name: String { lock.withLock { state.name } }
    /// The type, such as `_http._tcp.`.
    open var type: String { givenType }
    /// The domain, such as `local.`; an empty string for the default domain.
    open var domain: String { givenDomain }

    /// The host, after the service was resolved, such as `name.local.`.
    open var hostName: String? { lock.withLock { state.found.map { $0.host + "." } } }

    /// The addresses, after the service was resolved: each a `sockaddr_in` or `sockaddr_in6`, with the port.
    open var addresses: [Data]? {
        lock.withLock { state.found }.map { found in
            found.addresses.map { address in address.withSockaddr { Data(bytes: $0, count: Int($1)) } }
        }
    }

    /// The port, as given or as resolved. -1 if it is not known.
    open var port: Int { lock.withLock { state.port } }

    /// Why the last operation failed: what is missing, and what to do, in one sentence. Linux only.
    public var failureReason: String? { lock.withLock { state.failureReason } }

    open override var description: String { "\(domain) \(type) \(name) \(port)" }

    // MARK: Run loops

    /// Has callbacks come on a run loop, while it runs in this mode. The run loop replaces another one.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        schedule.add(aRunLoop, mode)
    }

    /// Removes a mode. Without a mode, callbacks come on the shared queue.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        schedule.remove(aRunLoop, mode)
    }

    /// Has a callback come, unless a generation is given and is not the current one any more.
    private func deliver(
        in generation: UInt64?, _ body: @escaping @Sendable (NetService, any NetServiceDelegate) -> Void
    ) {
        let reference = WeakReference(self)
        schedule.perform {
            guard let service = reference.object else { return }
            let delegate = service.lock.withLock {
                generation == nil || generation == service.state.generation ? service.state.delegate : nil
            }
            if let delegate { body(service, delegate) }
        }
    }

    /// Has a callback come for what `take` takes out of the state then, if it is not nil. It is taken without a
    /// delegate too, so that a later delegate gets later changes.
    private func deliver<News: Sendable>(
        _ take: @escaping @Sendable (inout State) -> News?,
        to body: @escaping @Sendable (NetService, any NetServiceDelegate, News) -> Void
    ) {
        let reference = WeakReference(self)
        schedule.perform {
            guard let service = reference.object else { return }
            let (changes, delegate) = service.lock.withLock { (take(&service.state), service.state.delegate) }
            if let changes, let delegate { body(service, delegate, changes) }
        }
    }

    // MARK: Activities

    /// Begins one. Returns its generation; nil if another one runs.
    private func begin(_ activity: Activity) -> UInt64? {
        lock.withLock {
            guard state.activity == nil else { return nil }
            state.activity = activity
            state.generation += 1
            state.failureReason = nil
            return state.generation
        }
    }

    /// Keeps the operation, unless the activity has ended.
    private func keep(_ operation: DiscoveryOperation, in generation: UInt64) {
        let isCurrent = lock.withLock {
            guard state.activity != nil, state.generation == generation else { return false }
            state.operation = operation
            return true
        }
        if !isCurrent { operation.cancel() }
    }

    /// Ends an activity. Returns false if it has ended before. Callbacks that are due still come.
    private func end(_ generation: UInt64, reason: String? = nil) -> Bool {
        lock.withLock {
            guard state.activity != nil, state.generation == generation else { return false }
            state.activity = nil
            state.operation = nil
            state.failureReason = reason
            return true
        }
    }

    /// Ends resolving or publishing. The delegate gets `netServiceDidStop`. No effect if neither runs.
    open func stop() {
        let stopped = lock.withLock { () -> (DiscoveryOperation?, Bool) in
            let isRunning = state.activity != nil
            defer {
                if isRunning { state.generation += 1 }
                state.activity = nil
                state.operation = nil
                state.hasChanges = false
            }
            return (state.operation, isRunning)
        }
        stopped.0?.cancel()
        if stopped.1 { deliver(in: nil) { $1.netServiceDidStop($0) } }
    }

    // MARK: Resolving

    /// Resolves with a timeout of five seconds.
    @available(*, deprecated, message: "use resolve(withTimeout:)")
    open func resolve() {
        resolve(withTimeout: TimeInterval(TimeLimits.standard.serviceResolution) / 1_000_000_000)
    }

    /// Looks up host, port, addresses and TXT record, and follows their changes until the timeout.
    ///
    /// - Parameter timeout: Seconds; 0 for no limit.
    open func resolve(withTimeout timeout: TimeInterval) {
        guard let generation = begin(.resolving) else {
            return deliver(in: nil) {
                $1.netService($0, didNotResolve: ErrorCode.activityInProgress.dictionary)
            }
        }
        lock.withLock { state.hasChanges = false }
        deliver(in: nil) { $1.netServiceWillResolve($0) }
        let reference = WeakReference(self)
        let operation = discovery.resolve(serviceName, timeout: Self.nanoseconds(timeout)) { event in
            reference.object?.received(event, in: generation)
        }
        keep(operation, in: generation)
    }

    /// Nil for no limit.
    private static func nanoseconds(_ timeout: TimeInterval) -> Int64? {
        guard timeout > 0, timeout < 1_000_000_000 else { return nil }
        return Int64(timeout * 1_000_000_000)
    }

    /// The service, as it is looked up.
    package var serviceName: ServiceName { ServiceName(instance: name, type: plainType, domain: domain) }

    /// The type without subtypes.
    private var plainType: String { String(type.split(separator: ",").first ?? "") }

    private func received(_ event: ResolveEvent, in generation: UInt64) {
        switch event {
        case .resolved(let found):
            let mustNotify = lock.withLock {
                guard state.generation == generation, state.activity != nil else { return false }
                state.found = found
                state.port = Int(found.port)
                state.text = TXTRecord.data(of: found.text).map { Data($0) }
                // A delegate that is slow gets one callback for several changes.
                defer { if !found.addresses.isEmpty { state.hasChanges = true } }
                return !found.addresses.isEmpty && !state.hasChanges
            }
            guard mustNotify else { return }
            deliver { state -> Void? in
                guard state.generation == generation, state.hasChanges else { return nil }
                state.hasChanges = false
                return ()
            } to: { service, delegate, _ in
                delegate.netServiceDidResolveAddress(service)
            }
        case .finished:
            if end(generation) { deliver(in: nil) { $1.netServiceDidStop($0) } }
        case .failed(let failure):
            guard end(generation, reason: failure.reason) else { return }
            deliver(in: nil) { $1.netService($0, didNotResolve: ErrorCode(failure).dictionary) }
        }
    }

    // MARK: Publishing

    /// Publishes the service, with any free name like its own.
    open func publish() { publish(options: []) }

    /// Publishes the service until `stop()`, or until its last reference is released.
    open func publish(options: NetService.Options) {
        guard let generation = begin(.publishing) else {
            return deliver(in: nil) {
                $1.netService($0, didNotPublish: ErrorCode.activityInProgress.dictionary)
            }
        }
        deliver(in: nil) { $1.netServiceWillPublish($0) }
        guard let port = UInt16(exactly: port), !options.contains(.listenForConnections) else {
            return received(PublishEvent.failed(.invalidArgument), in: generation)
        }
        var service = serviceName
        if service.instance.isEmpty { service.instance = Self.hostName }
        let text = lock.withLock { state.text }.map { TXTRecord.strings(in: $0) } ?? []
        let reference = WeakReference(self)
        let subtypes = type.split(separator: ",").dropFirst().map(String.init)
        let operation = discovery.publish(
            service, subtypes: subtypes, port: port, text: text, mayRename: !options.contains(.noAutoRename)
        ) { event in
            reference.object?.received(event, in: generation)
        }
        keep(operation, in: generation)
    }

    /// The first label of the host's name.
    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(text.prefix { $0 != "." })
    }

    private func received(_ event: PublishEvent, in generation: UInt64) {
        switch event {
        case .published(let service):
            lock.withLock { if state.generation == generation { state.name = service.instance } }
            deliver(in: generation) { $1.netServiceDidPublish($0) }
        case .failed(let failure):
            guard end(generation, reason: failure.reason) else { return }
            deliver(in: nil) { $1.netService($0, didNotPublish: ErrorCode(failure).dictionary) }
        }
    }

    // MARK: The TXT record

    /// The TXT record: as set, or as resolved or monitored.
    open func txtRecordData() -> Data? { lock.withLock { state.text } }

    /// Sets the TXT record of a service that is or will be published. Returns false if it is not a TXT record.
    @discardableResult open func setTXTRecord(_ recordData: Data?) -> Bool {
        let strings = recordData.map { TXTRecord.strings(in: $0) } ?? []
        // Complete records only. A record of empty strings is the empty record.
        let length = strings.reduce(0) { $0 + $1.count + 1 }
        if let recordData, length != recordData.count, recordData.contains(where: { $0 != 0 }) { return false }
        let operation = lock.withLock {
            state.text = recordData
            return state.operation as? PublishOperation
        }
        operation?.update(text: strings)
        return true
    }

    /// Follows the TXT record until ``stopMonitoring()``. The delegate gets each change. If Avahi or the bus is missing
    /// or ends, ``failureReason`` says so and monitoring has ended: there is no callback for that.
    open func startMonitoring() {
        let generation = lock.withLock { () -> UInt64? in
            guard state.monitor == nil else { return nil }
            state.monitorGeneration += 1
            state.newText = nil
            return state.monitorGeneration
        }
        guard let generation else { return }
        let reference = WeakReference(self)
        let monitor = discovery.resolve(serviceName, findsAddresses: false, timeout: nil) { event in
            reference.object?.monitored(event, in: generation)
        }
        let isCurrent = lock.withLock {
            guard state.monitor == nil, state.monitorGeneration == generation else { return false }
            state.monitor = monitor
            return true
        }
        if !isCurrent { monitor.cancel() }
    }

    /// Ends ``startMonitoring()``. A callback that is running is finished.
    open func stopMonitoring() {
        let monitor = lock.withLock {
            state.monitorGeneration += 1
            state.newText = nil
            defer { state.monitor = nil }
            return state.monitor
        }
        monitor?.cancel()
    }

    private func monitored(_ event: ResolveEvent, in generation: UInt64) {
        switch event {
        case .resolved(let found):
            guard let text = TXTRecord.data(of: found.text).map({ Data($0) }) else { return }
            let isFirst = lock.withLock {
                guard state.monitorGeneration == generation else { return false }
                state.text = text
                // A delegate that is slow gets one callback for several changes: others in the network make them.
                defer { state.newText = text }
                return state.newText == nil
            }
            guard isFirst else { return }
            deliver { state in
                state.monitorGeneration == generation ? state.newText.take() : nil
            } to: { service, delegate, text in
                delegate.netService(service, didUpdateTXTRecord: text)
            }
        case .finished: break
        case .failed(let failure):
            lock.withLock {
                guard state.monitorGeneration == generation else { return }
                // Also if it fails before the operation is known.
                state.monitorGeneration += 1
                state.newText = nil
                state.monitor = nil
                state.failureReason = failure.reason
            }
        }
    }

    // MARK: For stream tasks

    /// What a stream task needs to connect to the service, as it is known now.
    package var lookup: ServiceLookup {
        ServiceLookup(serviceName, known: lock.withLock { state.found }, in: discovery)
    }
}

/// A reference for closures that run on other threads. The classes of services are thread-safe, and are not `Sendable`
/// because subclasses on Apple platforms need not be.
struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Sendable because the object is a service or a browser, all of whose members are thread-safe.
    private(set) weak var object: Object?
    init(_ object: Object) { self.object = object }
}
