internal import Dispatch
public import Foundation
internal import LoadingEvents

/// One load with callbacks on a run loop: the interface before ``URLSession``, for programs that still use it.
///
/// It is a task of a session that all connections share, with the default configuration. New programs use
/// ``URLSession``.
///
/// **Threads.** All members are thread-safe. Callbacks come on the run loop of the thread that started the connection,
/// while it runs in its default mode; after ``schedule(in:forMode:)`` on that run loop, and after
/// ``setDelegateQueue(_:)`` on that queue. They come one at a time and in their order, also if the place changes while
/// some are due; a callback that runs the run loop gets further ones meanwhile. On Linux only the program runs the run
/// loops: a thread without one gets no callback.
///
/// **Lifetime.** From its start to its end the connection is retained, and retains its delegate.
open class NSURLConnection: NSObject, @unchecked Sendable {
    // Sendable: all mutable state is guarded by the lock. The delegate is called where the program has chosen.

    private struct State {
        var delegate: (any NSURLConnectionDelegate)?
        /// Whether the program has chosen a run loop.
        var isScheduled = false
        var task: URLSessionTask?
        var isStarted = false
        var isEnded = false
    }

    private let lock = Lock()
    private var state = State()
    private let schedule = CallbackSchedule()
    private let request: URLRequest

    /// Creates a connection, and starts it if asked to.
    ///
    /// - Parameters:
    ///   - request: A copy is made.
    ///   - delegate: An ``NSURLConnectionDelegate``, usually an ``NSURLConnectionDataDelegate``.
    ///   - startImmediately: Otherwise ``start()`` starts it.
    /// - Returns: On Linux always a connection: one that cannot load its request fails.
    public init?(request: URLRequest, delegate: Any?, startImmediately: Bool) {
        self.request = request
        super.init()
        state.delegate = delegate as? any NSURLConnectionDelegate
        if startImmediately { start() }
    }

    /// Creates a connection and starts it.
    public convenience init?(request: URLRequest, delegate: Any?) {
        self.init(request: request, delegate: delegate, startImmediately: true)
    }

    /// The request that the connection was created with.
    open var originalRequest: URLRequest { request }

    /// The request that is being sent, or was sent last: changed by redirects and by the delegate.
    open var currentRequest: URLRequest { lock.withLock { state.task }?.currentRequest ?? request }

    /// Starts the load. Without effect after the first call, and after ``cancel()``.
    open func start() {
        let (isFirst, isScheduled) = lock.withLock {
            defer { state.isStarted = true }
            return (!state.isStarted && !state.isEnded, state.isScheduled)
        }
        guard isFirst else { return }
        // A thread gets a run loop when it is asked for one.
        if !isScheduled, schedule.queue == nil { schedule.addFirst(.current, .default) }
        let isCalled = perform { connection, delegate in
            guard let data = delegate as? any NSURLConnectionDataDelegate else {
                return connection.send(connection.request)
            }
            guard let request = data.connection(connection, willSend: connection.request, redirectResponse: nil) else {
                return connection.cancel()
            }
            connection.send(request)
        }
        if !isCalled { send(request) }
    }

    /// Cancels the load. No callback follows, except one that another thread is already making.
    open func cancel() { end()?.cancel() }

    /// Delivers the callbacks on a run loop, also in this mode. Another run loop replaces the one before.
    open func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        lock.withLock { state.isScheduled = true }
        schedule.add(runLoop, mode)
    }

    /// Takes a mode of a run loop back. On Linux, callbacks without a run loop come on a serial queue of the process.
    open func unschedule(from runLoop: RunLoop, forMode mode: RunLoop.Mode) { schedule.remove(runLoop, mode) }

    /// Delivers the callbacks on a queue; with nil on the run loop.
    open func setDelegateQueue(_ queue: OperationQueue?) { schedule.queue = queue }

    // MARK: The load

    private func send(_ request: URLRequest) {
        let delegate = lock.withLock { state.delegate }
        let storesCredentials = delegate?.connectionShouldUseCredentialStorage(self) ?? true
        let session = storesCredentials ? Self.session : Self.sessionWithoutCredentials
        let task = session.dataTask(with: request)
        task.delegate = ConnectionTaskDelegate(self)
        let isCancelled = lock.withLock {
            if !state.isEnded { state.task = task }
            return state.isEnded
        }
        if isCancelled { task.cancel() } else { task.resume() }
    }

    /// Calls the delegate where the program wants it.
    ///
    /// - Returns: False without a delegate, or at the end. Then `body` is not called; nor is it if the end comes before
    ///   it.
    @discardableResult
    func perform(_ body: @escaping @Sendable (NSURLConnection, any NSURLConnectionDelegate) -> Void) -> Bool {
        guard lock.withLock({ state.delegate }) != nil else { return false }
        schedule.perform { [self] in
            if let delegate = lock.withLock({ state.delegate }) { body(self, delegate) }
        }
        return true
    }

    /// Releases the delegate, the run loop and the callbacks that are due. Returns the task.
    @discardableResult
    func end() -> URLSessionTask? {
        // Released outside the lock: an object's end may call anything.
        let ended = lock.withLock {
            let ended = state
            state = State()
            (state.isStarted, state.isEnded, state.task) = (true, true, ended.task)
            return ended
        }
        schedule.end()
        return ended.task
    }

    // MARK: Shared sessions

    // Their queues run nothing of the program, which may wait for a load on any thread.
    private static let session = newSession { _ in }
    private static let sessionWithoutCredentials = newSession { $0.urlCredentialStorage = nil }

    private static func newSession(_ change: (URLSessionConfiguration) -> Void) -> URLSession {
        let configuration = URLSessionConfiguration.default
        change(configuration)
        let queue = OperationQueue()
        queue.name = "NSURLConnection"
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
        session.core.share()
        return session
    }

    /// Whether there is a protocol for the request: `http`, `https`, `file`, `data`, `ftp`, or a registered
    /// ``URLProtocol``.
    open class func canHandle(_ request: URLRequest) -> Bool {
        let schemes: Set = ["http", "https", "file", "data", "ftp"]
        if let scheme = request.url?.scheme?.lowercased(), schemes.contains(scheme) { return true }
        return ProtocolRegistry.shared.classes.contains { $0.canInit(with: request) }
    }

    /// Loads a request, and blocks the thread until the end. Challenges are answered as without a delegate.
    ///
    /// - Parameters:
    ///   - request: What is loaded.
    ///   - response: Set to the response, also if the load fails after it.
    open class func sendSynchronousRequest(
        _ request: URLRequest, returning response: UnsafeMutablePointer<URLResponse?>?
    ) throws -> Data {
        let ended = DispatchSemaphore(value: 0)
        let outcome = Outcome()
        session.dataTask(with: request) { data, response, error in
            outcome.value = (data, response, error)
            ended.signal()
        }.resume()
        ended.wait()
        let (data, received, error) = outcome.value
        response?.pointee = received
        if let error { throw error }
        return data ?? Data()
    }

    private final class Outcome: @unchecked Sendable {
        // Sendable: written before the semaphore is signalled, and read after that.
        var value: (Data?, URLResponse?, (any Error)?) = (nil, nil, nil)
    }

    /// Loads a request.
    ///
    /// - Parameters:
    ///   - request: What is loaded.
    ///   - queue: Calls the handler, also if its operations are cancelled.
    ///   - handler: Gets the response and its body, or an error.
    open class func sendAsynchronousRequest(
        _ request: URLRequest, queue: OperationQueue,
        completionHandler handler: @escaping @Sendable (URLResponse?, Data?, (any Error)?) -> Void
    ) {
        session.dataTask(with: request) { data, response, error in
            queue.addCallback { handler(response, error == nil ? data : nil, error) }
        }.resume()
    }
}
