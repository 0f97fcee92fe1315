internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics

/// Finds and publishes services in the local network (DNS-SD, RFC 6763), through Avahi on the D-Bus system bus.
///
/// Nothing exists until the first operation: then a thread serves all operations over a connection to the bus. It ends,
/// with the connection, after the last of them. Another thread opens the connection, because the socket of a bus that
/// hangs may have no room for another client; timeouts go on meanwhile. Methods never block. Events come on the first
/// thread, except for the failure of an operation that cannot begin (invalid names, or no thread): it comes on the
/// caller's, before the method returns.
package final class ServiceDiscovery: @unchecked Sendable {
    // Sendable because what is not constant is guarded by `lock`.

    package static let shared = ServiceDiscovery(busAddress: nil)

    private enum Command {
        case begin(DiscoveryOperation)
        case cancel(DiscoveryOperation)
        case perform(DiscoveryOperation, () -> Void)
    }

    /// Nil for the system bus, as the environment has it when the thread connects.
    private let busAddress: String?
    private let lock = Lock()
    private var commands: [Command] = []
    /// An eventfd that wakes the thread; -1 without one.
    private var wakeup: Int32 = -1
    /// The connection that was opened, until the thread of the operations takes it.
    private var opened: OpenedBus?

    package init(busAddress: String?) {
        self.busAddress = busAddress
        ForkedProcess.watch()
    }

    // MARK: Operations

    /// Browses for services of a type such as `_http._tcp`, in the default domain if it is empty.
    package func browse(
        type: String, domain: String, event: @escaping @Sendable (BrowseEvent<ServiceName>) -> Void
    ) -> DiscoveryOperation {
        let type = ServiceName.browsedType(type)
        let domain = ServiceName.withoutFinalDot(domain)
        let isValid = ServiceName.isType(type) && ServiceName.isDomain(domain)
        let operation = BrowseOperation(
            self, interface: "ServiceBrowser", method: "ServiceBrowserNew",
            arguments: [.int32(-1), .int32(-1), .text(type), .text(domain), .uint32(0)],
            item: { values in
                guard values.count >= 3, case .text(let name) = values[0], case .text(let type) = values[1],
                    case .text(let domain) = values[2]
                else { return nil }
                let service = ServiceName(instance: name, type: type, domain: domain)
                return service.isValid ? service : nil
            }, event: event)
        begin(operation, if: isValid)
        return operation
    }

    /// Browses for the domains that are recommended for browsing, or for registration.
    package func browseDomains(
        forRegistration: Bool, event: @escaping @Sendable (BrowseEvent<String>) -> Void
    ) -> DiscoveryOperation {
        let operation = BrowseOperation<String>(
            self, interface: "DomainBrowser", method: "DomainBrowserNew",
            arguments: [.int32(-1), .int32(-1), .text(""), .int32(forRegistration ? 2 : 0), .uint32(0)],
            item: { values in
                guard case .text(let domain)? = values.first, ServiceName.isDomain(domain) else { return nil }
                return ServiceName.withoutFinalDot(domain)
            }, event: event)
        begin(operation, if: true)
        return operation
    }

    /// Resolves a service, and follows its changes until it is cancelled or the time is over.
    ///
    /// - Parameters:
    ///   - findsAddresses: Whether addresses are looked up too. Otherwise `addresses` is empty.
    ///   - timeout: Nanoseconds; nil for no limit.
    package func resolve(
        _ service: ServiceName, findsAddresses: Bool = true, timeout: Int64?,
        event: @escaping @Sendable (ResolveEvent) -> Void
    ) -> DiscoveryOperation {
        let operation = ResolveOperation(
            self, service, findsAddresses: findsAddresses, timeout: timeout, event: event)
        begin(operation, if: service.isValid)
        return operation
    }

    /// Resolves a service once, for a connection.
    ///
    /// - Parameters:
    ///   - timeout: Nanoseconds; nil for no limit.
    ///   - completion: Called once, unless the operation is cancelled before. The addresses are at least one. After the
    ///     first, those of the other family have 50 ms.
    package func endpoint(
        of service: ServiceName, timeout: Int64?,
        completion: @escaping @Sendable (Result<ResolvedService, DiscoveryFailure>) -> Void
    ) -> DiscoveryOperation {
        let operation = ResolveOperation(
            self, service, findsAddresses: true, familyDelay: TimeLimits.standard.serviceFamilyDelay, timeout: timeout
        ) { event in
            switch event {
            case .resolved: break
            case .finished(let found): completion(found.addresses.isEmpty ? .failure(.notFound) : .success(found))
            case .failed(let failure): completion(.failure(failure))
            }
        }
        begin(operation, if: service.isValid)
        return operation
    }

    /// Publishes a service of this machine until it is cancelled.
    ///
    /// - Parameters:
    ///   - text: The strings of the TXT record.
    ///   - mayRename: Whether a name that is taken is changed.
    package func publish(
        _ service: ServiceName, subtypes: [String] = [], port: UInt16, text: [[UInt8]], mayRename: Bool,
        event: @escaping @Sendable (PublishEvent) -> Void
    ) -> PublishOperation {
        let operation = PublishOperation(
            self, service, subtypes: subtypes, port: port, text: text, mayRename: mayRename, event: event)
        begin(operation, if: service.isValid && text.allSatisfy { $0.count <= 255 })
        return operation
    }

    /// Finds the addresses of a host name such as `name.local`, with port 0.
    ///
    /// - Parameter timeout: Nanoseconds.
    package func addresses(
        ofHost host: String, _ family: SocketAddress.Family, timeout: Int64,
        completion: @escaping @Sendable (Result<[SocketAddress], DiscoveryFailure>) -> Void
    ) -> DiscoveryOperation {
        let operation = HostOperation(self, host: host, family: family, timeout: timeout, completion: completion)
        begin(operation, if: true)
        return operation
    }

    // MARK: Any thread

    private func begin(_ operation: DiscoveryOperation, if isValid: Bool) {
        // The thread is the parent's.
        if ForkedProcess.isCurrent { return operation.fail(.noResources) }
        guard isValid else { return operation.fail(.invalidArgument) }
        let isPosted = lock.withLock {
            if wakeup < 0 {
                let descriptor = cll_eventfd()
                guard descriptor >= 0 else { return false }
                guard DetachedThread.startIfPossible(named: "url-discovery", { self.run(descriptor) }) else {
                    Glibc.close(descriptor)
                    return false
                }
                wakeup = descriptor
            }
            post(.begin(operation))
            return true
        }
        if !isPosted { operation.fail(.noResources) }
    }

    func cancel(_ operation: DiscoveryOperation) { postIfRunning(.cancel(operation)) }

    /// Runs `body` on the thread, unless the operation has ended.
    func perform(for operation: DiscoveryOperation, _ body: @escaping @Sendable () -> Void) {
        postIfRunning(.perform(operation, body))
    }

    /// Without a thread no operation runs.
    private func postIfRunning(_ command: Command) {
        if ForkedProcess.isCurrent { return }
        lock.withLock { if wakeup >= 0 { post(command) } }
    }

    /// With the lock held.
    private func post(_ command: Command) {
        commands.append(command)
        cll_eventfd_signal(wakeup)
    }

    // MARK: The thread

    /// What has been posted. Nil, and the thread must end, if there is nothing to do.
    private func takeCommands(isIdle: Bool) -> [Command]? {
        let taken = lock.withLock { () -> (commands: [Command], ended: Int32, unused: OpenedBus?) in
            if commands.isEmpty, isIdle {
                defer { (wakeup, opened) = (-1, nil) }
                return ([], wakeup, opened)
            }
            defer { commands = [] }
            return (commands, -1, nil)
        }
        guard taken.ended >= 0 else { return taken.commands }
        Glibc.close(taken.ended)
        taken.unused?.close()
        return nil
    }

    private func run(_ wakeup: Int32) {
        var operations: [DiscoveryOperation] = []
        var session: AvahiSession?
        var opening: BusOpening?
        // Until when there must be a connection, while operations wait for it.
        var connectLimit: Int64?
        while let commands = takeCommands(isIdle: operations.isEmpty) {
            if operations.isEmpty { connectLimit = nil }
            for command in commands {
                switch command {
                case .begin(let operation):
                    if operation.isCancelled {
                        operation.end()
                    } else {
                        operation.begin(at: cll_now())
                        operations.append(operation)
                        if let session { operation.start(in: session) }
                    }
                case .cancel(let operation): operation.end()
                case .perform(let operation, let body): if !operation.isEnded { body() }
                }
            }
            removeEnded(from: &operations)
            if operations.isEmpty { continue }
            if session == nil, connectLimit == nil {
                do throws(DiscoveryFailure) {
                    if opening == nil { opening = try connect() }
                } catch {
                    fail(operations, error)
                    operations = []
                    continue
                }
                connectLimit = cll_now() + TimeLimits.standard.discoveryReply
            }
            wait(wakeup, operations, session, connectLimit)
            if session == nil, let opened = takeOpened() {
                (opening, connectLimit) = (nil, nil)
                switch opened.result {
                case .success(let bus):
                    let new = AvahiSession(bus)
                    session = new
                    for operation in operations where !operation.isEnded { operation.start(in: new) }
                case .failure(let failure): fail(operations, DiscoveryFailure(failure))
                }
            }
            let now = cll_now()
            if let limit = connectLimit, limit <= now { fail(operations, .connectionLost) }
            for operation in operations {
                if let deadline = operation.deadline, deadline <= now { operation.wake(at: now) }
            }
            if session?.takeLoss() == true { for operation in operations { operation.daemonEnded() } }
            if let absence = session?.takeAbsence() {
                for operation in operations where !operation.awaitsDaemon { operation.fail(absence) }
            }
            if let failed = session, let failure = failed.failure {
                fail(operations, failure)
                failed.close()
                session = nil
            }
            removeEnded(from: &operations)
        }
        opening?.abandon()
        session?.close()
    }

    private func fail(_ operations: [DiscoveryOperation], _ failure: DiscoveryFailure) {
        for operation in operations { operation.fail(failure) }
    }

    private func removeEnded(from operations: inout [DiscoveryOperation]) { operations.removeAll { $0.isEnded } }

    // MARK: Connecting

    /// Begins to open the connection.
    private func connect() throws(DiscoveryFailure) -> BusOpening {
        let address =
            busAddress ?? SystemBus.address { name in cll_environment(name).map { String(cString: $0) } }
        guard let address else { throw .busMissing(address: nil) }
        guard let opening = BusOpening.begin(address, completion: { self.connected($0) }) else { throw .noResources }
        return opening
    }

    /// Called on the thread that has opened the connection.
    private func connected(_ new: OpenedBus) {
        let unused = lock.withLock { () -> OpenedBus? in
            guard wakeup >= 0 else { return new }
            defer { opened = new }
            cll_eventfd_signal(wakeup)
            // That of an opening which was abandoned while this was called.
            return opened
        }
        unused?.close()
    }

    private func takeOpened() -> OpenedBus? {
        lock.withLock {
            defer { opened = nil }
            return opened
        }
    }

    // MARK: Waiting

    /// Waits for the bus, a command or a deadline.
    private func wait(
        _ wakeup: Int32, _ operations: [DiscoveryOperation], _ session: AvahiSession?, _ connectLimit: Int64?
    ) {
        let deadlines = operations.compactMap(\.deadline) + [session?.deadline, connectLimit].compactMap(\.self)
        var entries = [pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0)] + (session?.pollEntries ?? [])
        var milliseconds: Int32 = -1
        if let earliest = deadlines.min() {
            // Rounded up, so that the deadline is over afterwards.
            milliseconds = Int32(clamping: (max(earliest - cll_now(), 0) + 999_999) / 1_000_000)
        }
        guard poll(&entries, nfds_t(entries.count), milliseconds) >= 0 else { return }
        if entries[0].revents != 0 { cll_eventfd_clear(wakeup) }
        session?.handle(Array(entries.dropFirst()))
    }
}
