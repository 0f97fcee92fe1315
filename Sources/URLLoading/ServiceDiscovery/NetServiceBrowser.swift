public import Foundation
internal import LoadingEvents
package import LoadingTransport

/// Searches the local network for services, or for domains with services (Bonjour, DNS-SD).
///
/// One search runs at a time. If avahi-daemon ends, what was found is removed, and the search goes on when it is back.
/// What is needed on Linux, threads and lifetime are as with ``NetService``. At most 4096 services are found at a time.
open class NetServiceBrowser: NSObject {
    private enum Event {
        case willSearch
        case didStop
        case didNotSearch(NetService.ErrorCode)
        case service(ServiceName, NetService, isNew: Bool)
        case domain(String, isNew: Bool)

        /// Whether it is one of those that `moreComing` announces.
        var isResult: Bool {
            switch self {
            case .willSearch, .didStop, .didNotSearch: false
            case .service, .domain: true
            }
        }
    }

    private struct State {
        weak var delegate: (any NetServiceBrowserDelegate)?
        var includesPeerToPeer = false
        var isSearching = false
        /// Changes when a search begins or ends, so that late events do not count.
        var generation: UInt64 = 0
        var operation: DiscoveryOperation?
        /// What was found and not removed, for removals.
        var services: [ServiceName: NetService] = [:]
        /// Services whose references are released outside the lock, because that may stop them.
        var released: [NetService] = []
        /// Callbacks that are due.
        var events: [Event] = []
        var isDelivering = false
        var failureReason: String?

        /// Returns the operation, which the caller cancels.
        mutating func endSearch() -> DiscoveryOperation? {
            isSearching = false
            generation += 1
            released += services.values
            services = [:]
            defer { operation = nil }
            return operation
        }

        /// Removes results that are due.
        mutating func dropResults() {
            for case .service(_, let service, _) in events { released.append(service) }
            events.removeAll { $0.isResult }
        }

        mutating func fail(_ failure: DiscoveryFailure) {
            failureReason = failure.reason
            events.append(.didNotSearch(NetService.ErrorCode(failure)))
            _ = endSearch()
        }
    }

    private let lock = Lock()
    private var state = State()
    private let schedule = CallbackSchedule()
    private let discovery: ServiceDiscovery

    public override init() {
        discovery = .shared
        super.init()
    }

    package init(discovery: ServiceDiscovery) {
        self.discovery = discovery
        super.init()
    }

    deinit { state.operation?.cancel() }

    // MARK: Values

    /// Not retained.
    open var delegate: (any NetServiceBrowserDelegate)? {
        get { lock.withLock { state.delegate } }
        set { lock.withLock { state.delegate = newValue } }
    }

    /// No effect on Linux, where Avahi decides about interfaces.
    open var includesPeerToPeer: Bool {
        get { lock.withLock { state.includesPeerToPeer } }
        set { lock.withLock { state.includesPeerToPeer = newValue } }
    }

    /// Why the last search failed: what is missing, and what to do, in one sentence. Linux only.
    public var failureReason: String? { lock.withLock { state.failureReason } }

    /// Has callbacks come on a run loop, while it runs in this mode. The run loop replaces another one.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        schedule.add(aRunLoop, mode)
    }

    /// Removes a mode. Without a mode, callbacks come on the shared queue.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        schedule.remove(aRunLoop, mode)
    }

    // MARK: Searching

    /// Searches for services.
    ///
    /// - Parameters:
    ///   - type: Such as `_http._tcp.`, or with a subtype, `_http._tcp,_printer`.
    ///   - domainString: Such as `local.`; empty for the default domain.
    open func searchForServices(ofType type: String, inDomain domainString: String) {
        search { browser, generation in
            let reference = WeakReference(browser)
            return browser.discovery.browse(type: type, domain: domainString) { event in
                reference.object?.received(event, in: generation)
            }
        }
    }

    /// Searches for domains in which services can be searched. `local.` is always one.
    open func searchForBrowsableDomains() { searchForDomains(forRegistration: false) }

    /// Searches for domains in which services can be published. `local.` is always one.
    open func searchForRegistrationDomains() { searchForDomains(forRegistration: true) }

    private func searchForDomains(forRegistration: Bool) {
        search { browser, generation in
            let reference = WeakReference(browser)
            return browser.discovery.browseDomains(forRegistration: forRegistration) { event in
                reference.object?.received(event, in: generation)
            }
        }
    }

    /// Ends the search. The delegate gets `netServiceBrowserDidStopSearch`. No effect without a search.
    open func stop() {
        let operation = change { state -> DiscoveryOperation? in
            guard state.isSearching else { return nil }
            let operation = state.endSearch()
            state.dropResults()
            state.events.append(.didStop)
            return operation
        }
        operation?.cancel()
    }

    private func search(_ begin: (NetServiceBrowser, UInt64) -> DiscoveryOperation) {
        let generation = change { state -> UInt64? in
            guard !state.isSearching else {
                state.events.append(.didNotSearch(.activityInProgress))
                return nil
            }
            state.isSearching = true
            state.failureReason = nil
            state.generation += 1
            state.events.append(.willSearch)
            return state.generation
        }
        guard let generation else { return }
        let operation = begin(self, generation)
        let isCurrent = lock.withLock {
            guard state.isSearching, state.generation == generation else { return false }
            state.operation = operation
            return true
        }
        if !isCurrent { operation.cancel() }
    }

    private func received(_ event: BrowseEvent<ServiceName>, in generation: UInt64) {
        append(in: generation) { state in
            switch event {
            case .found(let name):
                let service = NetService(
                    domain: name.domain + ".", type: name.type + ".", name: name.instance, port: -1,
                    discovery: discovery)
                state.services[name] = service
                state.events.append(.service(name, service, isNew: true))
            case .removed(let name):
                guard let service = state.services.removeValue(forKey: name) else { return }
                // What was not delivered yet need not be. So there are no more events than services.
                let known = state.events.firstIndex {
                    if case .service(name, _, isNew: true) = $0 { true } else { false }
                }
                if let known {
                    state.events.remove(at: known)
                    state.released.append(service)
                } else {
                    state.events.append(.service(name, service, isNew: false))
                }
            case .failed(let failure): state.fail(failure)
            case .began, .completeForNow: break
            }
        }
    }

    private func received(_ event: BrowseEvent<String>, in generation: UInt64) {
        append(in: generation) { state in
            switch event {
            // Avahi does not name it.
            case .began: state.events.append(.domain("local.", isNew: true))
            case .found("local"), .removed("local"): break
            case .found(let domain): state.events.append(.domain(domain + ".", isNew: true))
            case .removed(let domain):
                let known = state.events.firstIndex {
                    if case .domain(domain + ".", isNew: true) = $0 { true } else { false }
                }
                if let known {
                    state.events.remove(at: known)
                } else {
                    state.events.append(.domain(domain + ".", isNew: false))
                }
            case .failed(let failure): state.fail(failure)
            case .completeForNow: break
            }
        }
    }

    private func append(in generation: UInt64, _ body: (inout State) -> Void) {
        change { state in if state.isSearching, state.generation == generation { body(&state) } }
    }

    /// Changes the state, and has callbacks come for new events.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, released) = lock.withLock {
            defer { state.released = [] }
            let result = body(&state)
            return (result, state.released)
        }
        withExtendedLifetime(released) { scheduleDelivery() }
        return result
    }

    // MARK: Callbacks

    private func scheduleDelivery() {
        let isNeeded = lock.withLock {
            guard !state.events.isEmpty, !state.isDelivering else { return false }
            state.isDelivering = true
            return true
        }
        guard isNeeded else { return }
        let reference = WeakReference(self)
        schedule.perform { reference.object?.deliver() }
    }

    /// Delivers one event. The next one is due before, for a run loop that the callback runs.
    private func deliver() {
        let next = lock.withLock { () -> (event: Event, moreComing: Bool)? in
            state.isDelivering = false
            guard !state.events.isEmpty else { return nil }
            let event = state.events.removeFirst()
            return (event, state.events.first?.isResult ?? false)
        }
        scheduleDelivery()
        if let next, let delegate { deliver(next.event, moreComing: next.moreComing, to: delegate) }
    }

    private func deliver(_ event: Event, moreComing: Bool, to delegate: any NetServiceBrowserDelegate) {
        switch event {
        case .willSearch: delegate.netServiceBrowserWillSearch(self)
        case .didStop: delegate.netServiceBrowserDidStopSearch(self)
        case .didNotSearch(let code): delegate.netServiceBrowser(self, didNotSearch: code.dictionary)
        case .service(_, let service, isNew: true):
            delegate.netServiceBrowser(self, didFind: service, moreComing: moreComing)
        case .service(_, let service, isNew: false):
            delegate.netServiceBrowser(self, didRemove: service, moreComing: moreComing)
        case .domain(let domain, isNew: true):
            delegate.netServiceBrowser(self, didFindDomain: domain, moreComing: moreComing)
        case .domain(let domain, isNew: false):
            delegate.netServiceBrowser(self, didRemoveDomain: domain, moreComing: moreComing)
        }
    }
}
