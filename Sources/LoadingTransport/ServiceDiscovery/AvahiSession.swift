internal import CLoadingLinux
internal import Glibc
internal import LoadingSemantics

/// The daemon's replies and signals, on one connection to the bus. Used by one thread.
///
/// It connects in steps, none of which blocks: a name on the bus (Hello), rules for the signals, the daemon's own name
/// on the bus, and the start of the daemon if it does not run. From then on only that name is listened to, because any
/// program may send signals to any other.
///
/// The daemon may end and come back, as in an update. Then all of its objects are gone, and it is called by its new
/// name.
final class AvahiSession {
    private typealias Completion = (Result<[BusValue], DiscoveryFailure>) -> Void
    private struct PendingCall {
        let deadline: Int64
        let completion: Completion
    }

    private let bus: BusConnection
    private var calls: [UInt32: PendingCall] = [:]
    /// Calls that are sent when others have their replies.
    private var waitingCalls: [(call: BusCall, completion: Completion)] = []
    /// The receivers of signals, by the path of the daemon's object.
    private var receivers: [String: (BusMessage) -> Void] = [:]
    /// Signals of objects whose path is not known yet: the daemon may send them before its reply.
    private var earlySignals: [BusMessage] = []
    private var objectsBeingMade = 0
    /// The daemon's name on the bus.
    private var owner: String?
    private var whenReady: [() -> Void] = []

    private(set) var isReady = false
    private var hasBeenReady = false
    /// Whether the daemon is being looked for. After its end that takes a new operation.
    private var isSeeking = true
    private var hasLostDaemon = false
    private var absence: DiscoveryFailure?
    /// Set once; then nothing works any more.
    private(set) var failure: DiscoveryFailure?

    private static let daemon = "org.freedesktop.Avahi"
    private static let busName = "org.freedesktop.DBus"
    private static let serverInterface = "org.freedesktop.Avahi.Server"
    /// Source: a bus allows a connection 128 calls without a reply by default (`max_replies_per_connection`), and fails
    /// the others.
    private static let mostPendingCalls = 64
    /// Decision: the daemon sends a handful before its reply.
    private static let mostEarlySignals = 256

    /// Owns the connection.
    init(_ bus: BusConnection) {
        self.bus = bus
        callBus("Hello") { [unowned self] result in
            self.afterwards(result) { _ in self.addRules() }
        }
    }

    /// Asks for the signals of the daemon, and for changes of its name.
    private func addRules() {
        callBus("AddMatch", .text("type='signal',sender='\(Self.daemon)'")) { [unowned self] result in
            self.afterwards(result) { _ in
                self.callBus("AddMatch", .text(Self.ownerRule)) { result in
                    self.afterwards(result) { _ in self.findDaemon(startsIt: true) }
                }
            }
        }
    }

    /// Must be called once, at last.
    func close() {
        // They may refer to this object.
        drop()
        bus.close()
    }

    private static let ownerRule =
        "type='signal',sender='\(busName)',interface='\(busName)',member='NameOwnerChanged',arg0='\(daemon)'"

    /// Finds the daemon's name on the bus, and has the bus start it if it does not run. A bus that cannot start it may
    /// still have it.
    private func findDaemon(startsIt: Bool) {
        callBus("GetNameOwner", .text(Self.daemon)) { [unowned self] result in
            switch result {
            case .success(let values): self.becomeReady(values)
            case .failure(.daemonMissing) where startsIt:
                self.callBus("StartServiceByName", .text(Self.daemon), .uint32(0)) { result in
                    switch result {
                    case .success: self.findDaemon(startsIt: false)
                    case .failure(let failure): self.daemonIsAbsent(failure)
                    }
                }
            case .failure(let failure): self.daemonIsAbsent(failure)
            }
        }
    }

    private func daemonIsAbsent(_ failure: DiscoveryFailure) {
        guard hasBeenReady else { return fail(failure) }
        // It has come back meanwhile.
        if isReady { return }
        isSeeking = false
        absence = failure
    }

    private func becomeReady(_ values: [BusValue]) {
        guard case .text(let name)? = values.first else { return fail(.unexpectedReply) }
        if isReady { return }
        owner = name
        (isReady, hasBeenReady, isSeeking) = (true, true, false)
        let waiting = whenReady
        whenReady = []
        for start in waiting { start() }
    }

    private func callBus(_ method: String, _ arguments: BusArgument..., completion: @escaping Completion) {
        let call = BusCall(
            destination: Self.busName, path: "/org/freedesktop/DBus", interface: Self.busName, method: method,
            arguments: arguments)
        send(call, completion: completion)
    }

    /// A failure of what everything depends on is the session's.
    private func afterwards(_ result: Result<[BusValue], DiscoveryFailure>, _ next: ([BusValue]) -> Void) {
        switch result {
        case .success(let values): next(values)
        case .failure(let failure): fail(failure)
        }
    }

    // MARK: For operations

    /// Calls `body` when the daemon can be called.
    func whenReady(_ body: @escaping () -> Void) {
        if isReady { body() } else { whenReady.append(body) }
    }

    /// Has the bus start a daemon that has ended.
    func seekDaemon() {
        guard failure == nil, !isReady, !isSeeking else { return }
        isSeeking = true
        findDaemon(startsIt: true)
    }

    /// Calls a method of the daemon's server.
    func callServer(
        _ method: String, _ arguments: [BusArgument],
        completion: @escaping (Result<[BusValue], DiscoveryFailure>) -> Void
    ) {
        call(Self.serverInterface, "/", method, arguments, completion: completion)
    }

    /// Has the daemon make an object, whose signals go to `receiver`. The receiver may be called before `completion`.
    func makeObject(
        _ method: String, _ arguments: [BusArgument], receiver: @escaping (BusMessage) -> Void,
        completion: @escaping (Result<String, DiscoveryFailure>) -> Void
    ) {
        objectsBeingMade += 1
        callServer(method, arguments) { [unowned self] result in
            self.objectsBeingMade -= 1
            var early: [BusMessage] = []
            let outcome = result.flatMap { values -> Result<String, DiscoveryFailure> in
                guard case .path(let path)? = values.first, path.utf8.count <= 255 else {
                    return .failure(.unexpectedReply)
                }
                self.receivers[path] = receiver
                early = self.earlySignals.filter { $0.path == path }
                return .success(path)
            }
            if self.objectsBeingMade == 0 { self.earlySignals = [] }
            completion(outcome)
            for signal in early { self.receivers[signal.path]?(signal) }
        }
    }

    /// Calls a method of an object of the daemon.
    func callObject(
        _ interface: String, _ path: String, _ method: String, _ arguments: [BusArgument] = [],
        completion: @escaping (Result<[BusValue], DiscoveryFailure>) -> Void
    ) {
        call("\(Self.daemon).\(interface)", path, method, arguments, completion: completion)
    }

    /// Has the daemon drop an object.
    func freeObject(_ interface: String, _ path: String) {
        receivers[path] = nil
        // The daemon's end has freed it, and the call would start another one.
        if isReady { callObject(interface, path, "Free") { _ in } }
    }

    private func call(
        _ interface: String, _ path: String, _ method: String, _ arguments: [BusArgument],
        completion: @escaping Completion
    ) {
        send(
            BusCall(
                destination: Self.daemon, path: path, interface: interface, method: method, arguments: arguments),
            completion: completion)
    }

    private func send(_ call: BusCall, completion: @escaping Completion) {
        if let failure { return completion(.failure(failure)) }
        if calls.count >= Self.mostPendingCalls { return waitingCalls.append((call, completion)) }
        do throws(BusFailure) {
            let serial = try bus.send(call)
            calls[serial] = PendingCall(
                deadline: cll_now() + TimeLimits.standard.discoveryReply, completion: completion)
        } catch {
            completion(.failure(DiscoveryFailure(error)))
        }
    }

    private func sendWaitingCalls() {
        while calls.count < Self.mostPendingCalls, !waitingCalls.isEmpty {
            let next = waitingCalls.removeFirst()
            send(next.call, completion: next.completion)
        }
    }

    // MARK: For the thread

    var pollEntries: [pollfd] { bus.pollEntries() }

    /// When the earliest call times out; nil without a pending call.
    var deadline: Int64? { calls.values.lazy.map(\.deadline).min() }

    /// Reads and writes, and handles what has come.
    func handle(_ entries: [pollfd]) {
        bus.handle(entries)
        while failure == nil, let message = bus.nextMessage() { handle(message) }
        if !bus.isConnected { fail(.connectionLost) }
        expireCalls()
        sendWaitingCalls()
    }

    private func expireCalls() {
        guard let deadline, deadline <= cll_now() else { return }
        let now = cll_now()
        for (serial, call) in calls where call.deadline <= now {
            calls[serial] = nil
            call.completion(.failure(.connectionLost))
        }
    }

    private func handle(_ message: BusMessage) {
        switch message.kind {
        // The bus lets only those reply that were called.
        case .reply(let serial): calls.removeValue(forKey: serial)?.completion(.success(message.values))
        case .error(let serial, let name):
            calls.removeValue(forKey: serial)?.completion(.failure(DiscoveryFailure(errorName: name)))
        case .signal where message.sender == Self.busName: handleBusSignal(message)
        case .signal where message.sender == owner:
            if let receiver = receivers[message.path] {
                receiver(message)
            } else if objectsBeingMade > 0, earlySignals.count < Self.mostEarlySignals {
                earlySignals.append(message)
            }
        case .signal, .call: break
        }
    }

    private func handleBusSignal(_ message: BusMessage) {
        guard hasBeenReady, message.member == "NameOwnerChanged", message.values.first == .text(Self.daemon),
            case .text(let name)? = message.values.last, name != owner
        else { return }
        if isReady { loseDaemon() }
        if !name.isEmpty { becomeReady([.text(name)]) }
    }

    private func loseDaemon() {
        hasLostDaemon = true
        (isReady, owner) = (false, nil)
        calls = [:]
        waitingCalls = []
        receivers = [:]
        earlySignals = []
        objectsBeingMade = 0
    }

    /// Whether the daemon has ended since the last call; the thread then notifies the operations.
    func takeLoss() -> Bool {
        defer { hasLostDaemon = false }
        return hasLostDaemon
    }

    /// Why the daemon that a new operation needs does not come back, once.
    func takeAbsence() -> DiscoveryFailure? {
        defer { absence = nil }
        return absence
    }

    /// Ends everything. The thread notifies the operations.
    private func fail(_ failure: DiscoveryFailure) {
        guard self.failure == nil else { return }
        self.failure = failure
        drop()
    }

    private func drop() {
        calls = [:]
        waitingCalls = []
        receivers = [:]
        earlySignals = []
        whenReady = []
    }
}
