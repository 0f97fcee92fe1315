/// What browsing for services or domains finds.
package enum BrowseEvent<Item: Hashable & Sendable>: Sendable, Equatable {
    /// The daemon has begun to search.
    case began
    case found(Item)
    case removed(Item)
    /// What was known has been found; the search goes on.
    case completeForNow
    /// The last event.
    case failed(DiscoveryFailure)
}

/// Browses for services or domains. Ends by a failure, or when it is cancelled.
///
/// If the daemon ends, what was found is removed. The search begins anew when the daemon is back, without another
/// `began`.
final class BrowseOperation<Item: Hashable & Sendable>: DiscoveryOperation, @unchecked Sendable {
    // Sendable as its superclass is.

    /// An interface and a protocol on which an item was found.
    private struct Place: Hashable {
        let interface: Int32
        let family: Int32
    }

    private let interface: String
    private let method: String
    private let arguments: [BusArgument]
    private let item: ([BusValue]) -> Item?
    private var event: ((BrowseEvent<Item>) -> Void)?
    private var path: String?
    private var hasBegun = false
    private var places: [Item: Set<Place>] = [:]

    /// Decision: others in the local network choose how many there are.
    static var mostItems: Int { 4096 }
    static var mostPlaces: Int { 256 }

    /// - Parameters:
    ///   - interface: Of the browser, such as `ServiceBrowser`.
    ///   - method: Of the server, which makes a browser.
    ///   - item: Reads what follows interface and protocol in a signal; nil for what is not valid.
    init(
        _ discovery: ServiceDiscovery, interface: String, method: String, arguments: [BusArgument],
        item: @escaping ([BusValue]) -> Item?, event: @escaping @Sendable (BrowseEvent<Item>) -> Void
    ) {
        self.interface = interface
        self.method = method
        self.arguments = arguments
        self.item = item
        self.event = event
        super.init(discovery, timeout: nil)
    }

    override func start() {
        session?.makeObject(method, arguments) { [weak self] in
            self?.received($0)
        } completion: { [weak self, session, interface] result in
            switch result {
            case .success(let path):
                guard let self, !self.isEnded else { return session?.freeObject(interface, path) ?? () }
                self.path = path
                if !self.hasBegun {
                    self.hasBegun = true
                    self.emit(.began)
                }
            case .failure(let failure): self?.fail(failure)
            }
        }
    }

    override func daemonEnded() {
        path = nil
        let lost = places.keys
        places = [:]
        for item in lost { emit(.removed(item)) }
        session?.whenReady { [weak self] in
            guard let self, !self.isEnded else { return }
            self.start()
        }
    }

    override var awaitsDaemon: Bool { hasBegun }

    override func failed(_ failure: DiscoveryFailure) { event?(.failed(failure)) }

    override func release() {
        if let path { session?.freeObject(interface, path) }
        event = nil
        places = [:]
    }

    private func emit(_ event: BrowseEvent<Item>) {
        if !isCancelled { self.event?(event) }
    }

    private func received(_ signal: BusMessage) {
        switch signal.member {
        case "ItemNew": change(signal.values, isNew: true)
        case "ItemRemove": change(signal.values, isNew: false)
        case "AllForNow": emit(.completeForNow)
        case "Failure":
            guard case .text(let name)? = signal.values.first else { return fail(.unexpectedReply) }
            fail(DiscoveryFailure(errorName: name))
        default: break
        }
    }

    private func change(_ values: [BusValue], isNew: Bool) {
        guard values.count >= 3, case .int32(let interface) = values[0], case .int32(let family) = values[1],
            let item = item(Array(values[2...]))
        else { return }
        let place = Place(interface: interface, family: family)
        if isNew {
            guard let known = places[item] else {
                guard places.count < Self.mostItems else { return }
                places[item] = [place]
                return emit(.found(item))
            }
            if known.count < Self.mostPlaces { places[item]?.insert(place) }
        } else if places[item]?.remove(place) != nil, places[item]?.isEmpty == true {
            places[item] = nil
            emit(.removed(item))
        }
    }
}
