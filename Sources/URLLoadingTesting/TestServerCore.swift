internal import CLoadingLinux
internal import CLoadingTestHTTP2
internal import CLoadingTestTLS
internal import Foundation
internal import Glibc
internal import LoadingEvents

/// The state of a server, which its threads share.
final class TestServerCore: @unchecked Sendable {
    // Sendable: `condition` guards what is mutable.
    let authority: TestAuthority
    private(set) var port = 0
    private var listener: Int32 = -1
    private let condition = NSCondition()
    private var state = State()

    private struct State {
        var responses: [TestResponse] = []
        /// The requests that wait for a response, as places in `requests`, in their order.
        var waiting: [Int] = []
        var handler: TestServer.Handler?
        var certificateFault: TestServer.CertificateFault?
        var offersHTTP2 = clth_is_available()
        var requests: [TestRequest] = []
        /// How many of the requests `nextRequest` has returned.
        var taken = 0
        var waiters: [(id: Int, continuation: CheckedContinuation<TestRequest?, Never>)] = []
        var lastWaiter = 0
        var connectionCount = 0
        /// Open ones.
        var sockets: [Int: TestSocket] = [:]
        var threads = 0
        var isStopped = false
    }

    init(_ addresses: [String]) throws { authority = try TestAuthority(addresses) }

    private func locked<Value>(_ body: (inout State) -> Value) -> Value {
        condition.lock()
        defer { condition.unlock() }
        return body(&state)
    }

    // MARK: Start and end

    func listen() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 512) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else {
            defer { _ = Glibc.close(descriptor) }
            throw Self.failure
        }
        listener = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        guard start(named: "test-server", { self.accept(on: descriptor) }) else {
            _ = Glibc.close(descriptor)
            throw POSIXError(.EAGAIN)
        }
    }

    private static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    /// Starts a thread, for which `stop` waits.
    func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        locked { $0.threads += 1 }
        let isStarted = DetachedThread.startIfPossible(named: name) {
            body()
            self.threadEnded()
        }
        if !isStarted { threadEnded() }
        return isStarted
    }

    private func threadEnded() {
        locked { $0.threads -= 1 }
        condition.broadcast()
    }

    func stop() {
        condition.lock()
        let isFirst = !state.isStopped
        state.isStopped = true
        state.responses = []
        state.waiting = []
        let waiters = state.waiters
        state.waiters = []
        // Calls that wait for a socket return.
        for socket in state.sockets.values { socket.interrupt() }
        if isFirst, listener >= 0 { shutdown(listener, Int32(SHUT_RDWR)) }
        condition.broadcast()
        let end = Date(timeIntervalSinceNow: 5)
        while state.threads > 0, condition.wait(until: end) {}
        // Released without the lock, since it may be the last reference to anything.
        let handler = state.handler
        state.handler = nil
        condition.unlock()
        withExtendedLifetime(handler) {}
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    var isStopped: Bool { locked { $0.isStopped } }

    /// Foundation and Swift's clock trap on times that they cannot represent.
    private static let longestWait = Duration.seconds(10 * 365 * 86_400)

    /// Waits until the server is stopped, at most that long.
    func pause(_ duration: Duration) {
        condition.lock()
        defer { condition.unlock() }
        let end = Date(timeIntervalSinceNow: min(duration, Self.longestWait) / .seconds(1))
        while !state.isStopped, condition.wait(until: end) {}
    }

    // MARK: Connections

    private func accept(on listener: Int32) {
        defer { _ = Glibc.close(listener) }
        while true {
            let descriptor = cll_accept(listener)
            if descriptor < 0 {
                let code = errno
                if isStopped { return }
                // A connection that has ended in the queue, or no descriptor for a moment.
                pause(.milliseconds(code == EMFILE || code == ENFILE ? 10 : 0))
                continue
            }
            let socket = TestSocket(descriptor)
            let number = locked { state -> Int? in
                if state.isStopped { return nil }
                defer { state.connectionCount += 1 }
                state.sockets[state.connectionCount] = socket
                return state.connectionCount
            }
            guard let number else {
                socket.close()
                return
            }
            let isStarted = start(named: "test-connection") {
                TestConnection(socket, number, of: self).serve()
                self.close(socket, number)
            }
            if !isStarted { close(socket, number) }
        }
    }

    private func close(_ socket: TestSocket, _ number: Int) {
        locked { $0.sockets[number] = nil }
        socket.close()
    }

    // MARK: Values

    func enqueue(_ response: TestResponse) {
        locked { if !$0.isStopped { $0.responses.append(response) } }
        condition.broadcast()
    }

    var handler: TestServer.Handler? {
        get { locked { $0.handler } }
        set {
            // The old one is released without the lock, since it may be the last reference to anything.
            let old = locked { state -> TestServer.Handler? in
                // `stop` releases the last one.
                if state.isStopped { return nil }
                defer { state.handler = newValue }
                return state.handler
            }
            withExtendedLifetime(old) {}
            condition.broadcast()
        }
    }

    var certificateFault: TestServer.CertificateFault? {
        get { locked { $0.certificateFault } }
        set { locked { $0.certificateFault = newValue } }
    }

    var offersHTTP2: Bool {
        get { locked { $0.offersHTTP2 } }
        set { locked { $0.offersHTTP2 = newValue && clth_is_available() } }
    }

    var requests: [TestRequest] { locked { $0.requests } }
    var connectionCount: Int { locked { $0.connectionCount } }

    /// Records a request. Returns its place among all.
    func record(_ request: TestRequest) -> Int {
        let (place, waiter) = locked { state -> (Int, CheckedContinuation<TestRequest?, Never>?) in
            let place = state.requests.count
            state.requests.append(request)
            state.waiting.append(place)
            guard !state.waiters.isEmpty else { return (place, nil) }
            state.taken += 1
            return (place, state.waiters.removeFirst().continuation)
        }
        waiter?.resume(returning: request)
        return place
    }

    /// The response to a recorded request, for which the calling thread waits; nil after `stop`.
    ///
    /// - Parameter isAbandoned: Whether the client does not wait any more. Then the response is left for the next
    ///   request. Called without the lock, since it may wait for one that is held while the client is written to.
    func response(to request: TestRequest, _ place: Int, unless isAbandoned: () -> Bool) -> TestResponse? {
        defer { giveUp(requestAt: place) }
        while waitForTurn(of: place) {
            if isAbandoned() { return nil }
            let (response, handler) = locked { state -> (TestResponse?, TestServer.Handler?) in
                state.responses.isEmpty ? (nil, state.handler) : (state.responses.removeFirst(), nil)
            }
            if let response { return response }
            if let handler { return run(handler, for: request, place) }
            // Another thread has taken it back.
        }
        return nil
    }

    /// Waits until there is a response for the first request that waits, and this is the first. False after `stop`.
    private func waitForTurn(of place: Int) -> Bool {
        condition.withLock {
            while !state.isStopped, state.waiting.first != place || (state.responses.isEmpty && state.handler == nil) {
                condition.wait()
            }
            return !state.isStopped
        }
    }

    /// A recorded request does not wait for a response any more.
    func giveUp(requestAt place: Int) {
        locked { $0.waiting.removeAll { $0 == place } }
        // It may be the turn of another one.
        condition.broadcast()
    }

    private func run(_ handler: @escaping TestServer.Handler, for request: TestRequest, _ place: Int) -> TestResponse? {
        // The handler may wait for the next request.
        giveUp(requestAt: place)
        return wait {
            do {
                return try await handler(request)
            } catch {
                return TestResponse(status: 500, text: "\(error)")
            }
        }
    }

    /// Waits on the calling thread until an asynchronous function has returned. Returns nil, and cancels its task, if
    /// the server is stopped before.
    @discardableResult
    func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) -> Value? {
        let outcome = Outcome<Value>()
        let task = Task {
            let value = await body()
            self.locked { _ in outcome.value = value }
            self.condition.broadcast()
        }
        let value = condition.withLock {
            while outcome.value == nil, !state.isStopped { condition.wait() }
            return outcome.value
        }
        if value == nil { task.cancel() }
        return value
    }

    private final class Outcome<Value>: @unchecked Sendable {
        // Sendable: used with `condition`.
        var value: Value?
    }

    func nextRequest(within limit: Duration) async throws -> TestRequest {
        let id = locked { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        let request = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<TestRequest?, Never>) in
                let (isOver, request) = locked { state -> (Bool, TestRequest?) in
                    // One that was there comes first, unless others wait for it.
                    if state.taken < state.requests.count {
                        defer { state.taken += 1 }
                        return (true, state.requests[state.taken])
                    }
                    if state.isStopped || Task.isCancelled { return (true, nil) }
                    state.waiters.append((id, continuation))
                    return (false, nil)
                }
                if isOver { return continuation.resume(returning: request) }
                // Not before there is what it gives up.
                timer = Task { [weak self] in
                    try await Task.sleep(for: min(limit, Self.longestWait))
                    self?.giveUp(id)
                }
            }
        } onCancel: {
            giveUp(id)
        }
        if let request { return request }
        try Task.checkCancellation()
        throw TestServerError.noRequest
    }

    private func giveUp(_ id: Int) {
        let waiter = locked { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).continuation }
        }
        waiter?.resume(returning: nil)
    }
}
