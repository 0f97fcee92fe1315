internal import CLoadingLinux
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
        var handler: (@Sendable (TestRequest) -> TestResponse)?
        var certificateFault: TestServer.CertificateFault?
        var requests: [TestRequest] = []
        /// How many of the requests `nextRequest` has returned.
        var taken = 0
        var waiters: [(id: Int, continuation: CheckedContinuation<TestRequest?, Never>)] = []
        var lastWaiter = 0
        var connectionCount = 0
        /// Open ones.
        var descriptors: [Int: Int32] = [:]
        var threads = 0
        var isStopped = false
    }

    init() throws { authority = try TestAuthority() }

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
            defer { close(descriptor) }
            throw Self.failure
        }
        listener = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        guard start(named: "test-server", { self.accept(on: descriptor) }) else {
            close(descriptor)
            throw POSIXError(.EAGAIN)
        }
    }

    private static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    /// Starts a thread, for which `stop` waits.
    private func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        locked { $0.threads += 1 }
        let isStarted = DetachedThread.startIfPossible(named: name) {
            // OpenSSL writes without MSG_NOSIGNAL.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
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
        let waiters = state.waiters
        state.waiters = []
        // Whoever waits in a call for one of them returns.
        for descriptor in state.descriptors.values { shutdown(descriptor, Int32(SHUT_RDWR)) }
        if isFirst, listener >= 0 { shutdown(listener, Int32(SHUT_RDWR)) }
        condition.broadcast()
        let end = Date(timeIntervalSinceNow: 5)
        while state.threads > 0, condition.wait(until: end) {}
        state.handler = nil
        condition.unlock()
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    var isStopped: Bool { locked { $0.isStopped } }

    /// Waits until the server is stopped, at most that long; nil for ever.
    func pause(_ duration: Duration?) {
        condition.lock()
        defer { condition.unlock() }
        let end = duration.map { Date(timeIntervalSinceNow: $0 / .seconds(1)) } ?? .distantFuture
        while !state.isStopped, condition.wait(until: end) {}
    }

    // MARK: Connections

    private func accept(on listener: Int32) {
        defer { close(listener) }
        while true {
            let descriptor = cll_accept(listener)
            if descriptor < 0 {
                if isStopped { return }
                // A connection that has ended in the queue, or no descriptor for a moment.
                pause(.milliseconds(errno == EMFILE || errno == ENFILE ? 10 : 0))
                continue
            }
            let number = locked { state -> Int? in
                if state.isStopped { return nil }
                defer { state.connectionCount += 1 }
                state.descriptors[state.connectionCount] = descriptor
                return state.connectionCount
            }
            guard let number else {
                close(descriptor)
                return
            }
            let isStarted = start(named: "test-connection") {
                TestConnection(descriptor, number, of: self).serve()
                self.close(number)
            }
            if !isStarted { close(number) }
        }
    }

    private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    private func close(_ number: Int) {
        locked { state in
            if let descriptor = state.descriptors.removeValue(forKey: number) { _ = Glibc.close(descriptor) }
        }
    }

    // MARK: Values

    func enqueue(_ response: TestResponse) {
        locked { if !$0.isStopped { $0.responses.append(response) } }
        condition.broadcast()
    }

    var handler: (@Sendable (TestRequest) -> TestResponse)? {
        get { locked { $0.handler } }
        set {
            // The old one is released without the lock, since it may be the last reference to anything.
            let old = locked { state in
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

    var requests: [TestRequest] { locked { $0.requests } }
    var connectionCount: Int { locked { $0.connectionCount } }

    /// Records the request. Returns its response, for which it may wait; nil after `stop`.
    func response(to request: TestRequest) -> TestResponse? {
        let waiter = locked { state -> CheckedContinuation<TestRequest?, Never>? in
            state.requests.append(request)
            guard !state.waiters.isEmpty else { return nil }
            state.taken += 1
            return state.waiters.removeFirst().continuation
        }
        waiter?.resume(returning: request)
        condition.lock()
        while !state.isStopped, state.handler == nil, state.responses.isEmpty { condition.wait() }
        if state.isStopped {
            condition.unlock()
            return nil
        }
        if let handler = state.handler {
            condition.unlock()
            return handler(request)
        }
        defer { condition.unlock() }
        return state.responses.removeFirst()
    }

    func nextRequest(within limit: Duration) async throws -> TestRequest {
        let id = locked { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = Task { [weak self] in
            try await Task.sleep(for: limit)
            self?.giveUp(id)
        }
        defer { timer.cancel() }
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
                if isOver { continuation.resume(returning: request) }
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

/// A made-up certificate authority.
final class TestAuthority: @unchecked Sendable {
    // Sendable: the C object may be used by many threads.
    let pointer: OpaquePointer
    /// In DER.
    let certificate: [UInt8]

    init() throws {
        guard let pointer = cltt_authority_create() else {
            throw TestServerError.tlsUnavailable(String(cString: cltt_failure()))
        }
        self.pointer = pointer
        let length = cltt_authority_certificate(pointer, nil, 0)
        certificate = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = min(length, cltt_authority_certificate(pointer, buffer.baseAddress, length))
        }
    }

    deinit { cltt_authority_free(pointer) }
}
