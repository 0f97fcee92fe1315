/// What becomes of a published service.
package enum PublishEvent: Sendable, Equatable {
    /// It is known to the local network, by this name.
    case published(ServiceName)
    /// The last event.
    case failed(DiscoveryFailure)
}

/// Publishes a service until it is cancelled.
package final class PublishOperation: DiscoveryOperation, @unchecked Sendable {
    // Sendable as its superclass is.

    private var service: ServiceName
    private let subtypes: [String]
    private let port: UInt16
    private var text: [[UInt8]]
    private let mayRename: Bool
    private var event: ((PublishEvent) -> Void)?
    private var path: String?
    /// Whether the daemon has the service by its present name, or has been called to add it.
    private var isAdded = false
    private var renames = 0

    private static let interface = "EntryGroup"
    private static let any: Int32 = -1
    /// A count. Decision: more services with the same name are a fault.
    private static let mostRenames = 64

    init(
        _ discovery: ServiceDiscovery, _ service: ServiceName, subtypes: [String], port: UInt16, text: [[UInt8]],
        mayRename: Bool, event: @escaping @Sendable (PublishEvent) -> Void
    ) {
        self.service = service
        self.subtypes = subtypes
        self.port = port
        self.text = text
        self.mayRename = mayRename
        self.event = event
        super.init(discovery, timeout: nil)
    }

    /// Replaces the TXT record. A failure is the operation's.
    package func update(text: [[UInt8]]) {
        discovery.perform(for: self) { [weak self] in self?.change(text) }
    }

    override func start() {
        guard service.isValid, text.allSatisfy({ $0.count <= 255 }) else { return fail(.invalidArgument) }
        session?.makeObject("EntryGroupNew", []) { [weak self] in
            self?.received($0)
        } completion: { [weak self, session] result in
            switch result {
            case .success(let path):
                guard let self, !self.isEnded else { return session?.freeObject(Self.interface, path) ?? () }
                self.path = path
                self.addService()
            case .failure(let failure): self?.fail(failure)
            }
        }
    }

    override func failed(_ failure: DiscoveryFailure) { event?(.failed(failure)) }

    override func release() {
        if let path { session?.freeObject(Self.interface, path) }
        event = nil
    }

    /// Calls a method of the entry group, then `next`. A name that is taken is changed.
    private func call(_ method: String, _ arguments: [BusArgument] = [], next: @escaping () -> Void) {
        guard let path else { return }
        session?.callObject(Self.interface, path, method, arguments) { [weak self] result in
            guard let self, !self.isEnded else { return }
            switch result {
            case .success: next()
            case .failure(.collision): self.rename()
            case .failure(let failure): self.fail(failure)
            }
        }
    }

    private var identity: [BusArgument] {
        [
            .int32(Self.any), .int32(Self.any), .uint32(0), .text(service.instance), .text(service.type),
            .text(service.domain),
        ]
    }

    private func addService() {
        isAdded = true
        call("AddService", identity + [.text(""), .uint16(port), .byteArrays(text)]) { [weak self] in
            self?.addSubtypes(self?.subtypes[...] ?? [])
        }
    }

    private func addSubtypes(_ left: ArraySlice<String>) {
        guard let subtype = left.first else { return call("Commit") {} }
        call("AddServiceSubtype", identity + [.text("\(subtype)._sub.\(service.type)")]) { [weak self] in
            self?.addSubtypes(left.dropFirst())
        }
    }

    private func change(_ text: [[UInt8]]) {
        self.text = text
        // Before it is added, also again by another name, the record is sent with it.
        guard isAdded else { return }
        call("UpdateServiceTxt", identity + [.byteArrays(text)]) {}
    }

    private func received(_ signal: BusMessage) {
        guard signal.member == "StateChanged", case .int32(let state)? = signal.values.first else { return }
        // The states of AvahiEntryGroupState.
        switch state {
        case 2: if !isCancelled { event?(.published(service)) }
        case 3: rename()
        case 4:
            guard case .text(let name)? = signal.values.last else { return fail(.unexpectedReply) }
            fail(DiscoveryFailure(errorName: name))
        default: break
        }
    }

    private func rename() {
        guard mayRename, renames < Self.mostRenames else { return fail(.collision) }
        renames += 1
        isAdded = false
        session?.callServer("GetAlternativeServiceName", [.text(service.instance)]) { [weak self] result in
            guard let self, !self.isEnded else { return }
            switch result {
            case .success(let values):
                guard case .text(let name)? = values.first, name != self.service.instance else {
                    return self.fail(.unexpectedReply)
                }
                self.service.instance = name
                self.call("Reset") { [weak self] in self?.addService() }
            case .failure(let failure): self.fail(failure)
            }
        }
    }
}
