public import Foundation
internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingProtocols
internal import Synchronization

/// Coordinates a group of related tasks that share a configuration, a delegate, and a connection pool.
///
/// Thread-safe. Delegate callbacks and completion handlers are called on ``delegateQueue``, those of one task strictly
/// in order. A session retains its delegate until it is invalidated. A session without tasks that the program does not
/// retain is released with its delegate.
///
/// A session retains each task from its creation to its end, resumed or not, and a task retains its session. In an
/// invalidated session, a suspended task lives while the program retains it; then it is cancelled, because nothing can
/// resume it.
open class URLSession: _URLSessionMembers, @unchecked Sendable {
    // Sendable: all mutable state is in the core, which guards it.

    // The one designated initializer is `init()`, as on Apple platforms, where the others are class methods: beside
    // another one, an initializer of a subclass would not call it implicitly, as doubles of tests rely on. So the core
    // is made after it, by an initializer with a configuration or at the first use.

    /// The address of the core, retained; 0 until it is made. A number, because `AtomicLazyReference` costs some 400
    /// instructions each time.
    private let coreAddress = Atomic<UInt>(0)

    final var core: SessionCore {
        Self.core(at: coreAddress.load(ordering: .acquiring)) ?? standardCore()
    }

    private static func core(at address: UInt) -> SessionCore? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged<SessionCore>.fromOpaque($0).takeUnretainedValue() }
    }

    private final func standardCore() -> SessionCore {
        let made = SessionCore(.standard(), delegate: nil, queue: nil)
        let core = setCore(made)
        if core !== made { made.publicObjectReleased() }
        return core
    }

    /// Returns the core that was set first.
    private final func setCore(_ made: SessionCore) -> SessionCore {
        let retained = Unmanaged.passRetained(made)
        let (isSet, first) = coreAddress.compareExchange(
            expected: 0, desired: UInt(bitPattern: retained.toOpaque()), ordering: .acquiringAndReleasing)
        if isSet { return made }
        retained.release()
        return Self.core(at: first) ?? made
    }

    /// The shared session of the process, with the default configuration and no delegate. Invalidating it has no
    /// effect.
    open class var shared: URLSession { sharedSession }

    private static let sharedSession: URLSession = {
        let session = URLSession(configuration: .default)
        session.core.share()
        return session
    }()

    // Not deprecated as on Apple platforms, because the other initializers call it.
    /// A session with the default configuration and without a delegate, for subclasses in tests.
    public override init() {}

    /// A session without a delegate. The configuration is copied.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// A session. The configuration is copied; later changes to it have no effect.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - delegate: Gets the callbacks of all tasks. Retained until the session is invalidated.
    ///   - queue: The queue of delegate callbacks and completion handlers. Should be serial; the callbacks of one task
    ///     are in order on any queue. Nil for a serial queue of the session.
    public convenience init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        self.init()
        let made = SessionCore(configuration.snapshot, delegate: delegate, queue: queue)
        // No input causes this, and the session would ignore its configuration and its delegate.
        precondition(
            setCore(made) === made,
            "The init() of a subclass of URLSession used the session, which has no configuration before it returns")
        made.background?.begin(self)
    }

    deinit {
        guard let address = UnsafeRawPointer(bitPattern: coreAddress.load(ordering: .acquiring)) else { return }
        Unmanaged<SessionCore>.fromOpaque(address).takeRetainedValue().publicObjectReleased()
    }

    /// Returns the session itself.
    open override func copy() -> Any { self }

    /// The queue of delegate callbacks and completion handlers.
    open var delegateQueue: OperationQueue { core.delivery.shown }

    /// The delegate; nil after invalidation.
    open var delegate: (any URLSessionDelegate)? { core.delegate }

    /// A copy of the configuration.
    open var configuration: URLSessionConfiguration {
        var values = core.configuration
        values.urlCache = core.urlCache
        return URLSessionConfiguration(values)
    }

    /// A label for the program's use.
    open var sessionDescription: String? {
        get { core.sessionDescription }
        set { core.sessionDescription = newValue }
    }

    /// Invalidates the session: waits for its tasks, then calls `urlSession(_:didBecomeInvalidWithError:)` and releases
    /// the delegate. Returns at once. No tasks can be created after this call. Suspended tasks count while the program
    /// retains them.
    ///
    /// A background session does not wait: the background service continues the tasks, and a session with the same
    /// identifier gets their events.
    open func finishTasksAndInvalidate() { core.invalidate(self, cancelsTasks: false) }

    /// Invalidates the session and cancels all tasks, then calls `urlSession(_:didBecomeInvalidWithError:)` and
    /// releases the delegate. Returns at once. No tasks can be created after this call.
    open func invalidateAndCancel() { core.invalidate(self, cancelsTasks: true) }

    /// Clears the session's cookies, cache and credentials, in memory and on disk, and makes later requests use new
    /// connections. Then calls the handler on the delegate queue. Blocks while stores that were not used yet are read
    /// from disk.
    @preconcurrency open func reset(completionHandler: @escaping @Sendable () -> Void) {
        core.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
        core.urlCache?.removeAllCachedResponses()
        core.configuration.hsts.removeAll()
        core.configuration.alternatives.removeAll()
        core.forgetCredentials()
        flush(completionHandler: completionHandler)
    }

    /// Writes the session's stores to disk, and makes later requests use new connections. Then calls the handler on the
    /// delegate queue. Failed writes do not delay the handler. A stalled disk does, and a locked keyring does for up to
    /// a minute.
    @preconcurrency open func flush(completionHandler: @escaping @Sendable () -> Void) {
        core.renewConnections()
        core.flushStores { [core] in core.delivery.schedule(completionHandler) }
    }

    /// Passes all tasks that have not ended, on the delegate queue. None after `invalidateAndCancel`.
    @preconcurrency open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        core.whenTasksAreKnown { [core] in
            core.delivery.schedule { completionHandler(core.listedTasks) }
        }
    }

    /// Passes all tasks that have not ended, by kind, on the delegate queue.
    @preconcurrency open func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable (
                [URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]
            ) -> Void
    ) {
        core.whenTasksAreKnown { [core] in
            core.delivery.schedule {
                let tasks = core.listedTasks
                completionHandler(
                    tasks.filter { !($0 is URLSessionUploadTask) }.compactMap { $0 as? URLSessionDataTask },
                    tasks.compactMap { $0 as? URLSessionUploadTask },
                    tasks.compactMap { $0 as? URLSessionDownloadTask })
            }
        }
    }

    /// Traps for a task in an invalidated session, where Apple raises an exception (T-61): a programming error that no
    /// input can cause.
    private func required<Task: URLSessionTask>(_ task: Task?) -> Task {
        guard let task else { preconditionFailure("A task was created in a session that has been invalidated") }
        return task
    }

    // MARK: Data tasks

    /// Creates a data task that delivers its response and body to the delegate. Like all tasks it is suspended until
    /// `resume()`.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        required(core.dataTask(self, request, .delegate, delegate: nil))
    }

    /// Creates a data task for a URL that delivers to the delegate.
    open func dataTask(with url: URL) -> URLSessionDataTask {
        required(core.dataTask(self, URLRequest(url: url), .delegate, delegate: nil))
    }

    /// Creates a data task that passes the complete body to `completionHandler`, exactly once, on the delegate queue.
    /// The error is nil if the whole response was received, whatever its status. If the load fails after the response's
    /// head, the handler gets the response and the error, and no data.
    @preconcurrency open func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        required(core.dataTask(self, request, .handler(completionHandler), delegate: nil))
    }

    /// Creates a data task for a URL; see ``dataTask(with:completionHandler:)-(URLRequest,_)``.
    @preconcurrency open func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        required(core.dataTask(self, URLRequest(url: url), .handler(completionHandler), delegate: nil))
    }

    /// Loads a request and returns the complete body; see ``data(for:delegate:)``. Doubles of tests override this
    /// method.
    @_disfavoredOverload
    open func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        try await load { core.dataTask(self, request, .continuation($0), delegate: nil) }
    }

    /// Loads a URL and returns the complete body; see ``data(for:delegate:)``.
    @_disfavoredOverload
    open func data(from url: URL) async throws -> (Data, URLResponse) {
        let request = URLRequest(url: url)
        return try await load { core.dataTask(self, request, .continuation($0), delegate: nil) }
    }

    // MARK: Upload tasks

    /// Creates an upload task that sends a file, and delivers to the delegate like a data task. The body of `request`
    /// is ignored.
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .file(fileURL), .delegate, delegate: nil))
    }

    /// Creates an upload task that sends data, and delivers to the delegate like a data task. The body of `request` is
    /// ignored.
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .data(bodyData), .delegate, delegate: nil))
    }

    /// Creates an upload task that sends a stream. The delegate provides the stream, possibly more than once:
    /// ``URLSessionTaskDelegate/urlSession(_:task:needNewBodyStream:)``. If the request has a `Content-Length` field,
    /// the stream must have that length.
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .stream, .delegate, delegate: nil))
    }

    /// Creates an upload task that sends a file and passes the response body to `completionHandler`, exactly once, on
    /// the delegate queue. The error is nil if the whole response was received, whatever its status.
    @preconcurrency open func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .file(fileURL), .handler(completionHandler), delegate: nil))
    }

    /// Creates an upload task that sends data; see ``uploadTask(with:fromFile:completionHandler:)``.
    @preconcurrency open func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .data(bodyData ?? Data()), .handler(completionHandler), delegate: nil))
    }

    /// Creates a task that resumes a cancelled or failed upload. A file must be unchanged; for a stream the delegate
    /// provides the rest: ``URLSessionTaskDelegate/urlSession(_:task:needNewBodyStreamFrom:completionHandler:)``.
    ///
    /// With invalid resume data the task fails with `URLError.unsupportedURL`.
    open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        required(core.uploadTask(self, resuming: resumeData, .delegate, delegate: nil))
    }

    /// Creates a task that resumes an upload; see ``uploadTask(withResumeData:)`` and
    /// ``uploadTask(with:fromFile:completionHandler:)``.
    @preconcurrency open func uploadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        required(core.uploadTask(self, resuming: resumeData, .handler(completionHandler), delegate: nil))
    }

    /// Uploads data and returns the complete response body; see ``upload(for:from:delegate:)``.
    @_disfavoredOverload
    open func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
        try await upload(request, .data(bodyData), nil)
    }

    /// Uploads a file and returns the complete response body; see ``upload(for:from:delegate:)``.
    @_disfavoredOverload
    open func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
        try await upload(request, .file(fileURL), nil)
    }

    // MARK: Stream tasks

    /// Creates a stream task, a TCP connection to a host.
    ///
    /// - Parameters:
    ///   - hostname: A host name, or an IPv4 or IPv6 address.
    ///   - port: From 0 to 65535. With other values the task fails with `URLError.badURL`.
    open func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        required(core.streamTask(self, to: StreamEndpoint.host(hostname, port: port)))
    }

    /// Creates a stream task to a service of the local network. The service is resolved when the task begins, unless it
    /// was before.
    ///
    /// The task fails with `URLError.cannotFindHost` if the service is not found, or Avahi is not available; the
    /// underlying error says what is missing.
    open func streamTask(with service: NetService) -> URLSessionStreamTask {
        required(core.streamTask(self, to: .service(ServiceEndpoint(service.lookup))))
    }

    // MARK: WebSocket tasks

    /// Creates a WebSocket task for a `ws:` or `wss:` URL. With another one the task fails with
    /// `URLError.unsupportedURL`.
    open func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        required(core.webSocketTask(self, URLRequest(url: url)))
    }

    /// Creates a WebSocket task that offers subprotocols, of which the server selects one or none.
    ///
    /// - Parameters:
    ///   - url: A `ws:` or `wss:` URL.
    ///   - protocols: In order of preference. With one that is not a token of HTTP the task fails with
    ///     `URLError.badURL`.
    open func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        var request = URLRequest(url: url)
        if !protocols.isEmpty {
            request.setValue(
                protocols.joined(separator: ", "), forHTTPHeaderField: WebSocketHandshake.subprotocolField)
        }
        return required(
            core.webSocketTask(self, request, isValid: WebSocketHandshake.areSubprotocols(protocols)))
    }

    /// Creates a WebSocket task for a request, whose fields are sent with the opening handshake. A
    /// `Sec-WebSocket-Protocol` field offers subprotocols. The method and the body are ignored.
    open func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        required(core.webSocketTask(self, request))
    }

    // MARK: Download tasks

    /// Creates a download task, which writes the body to a temporary file for the delegate. The delegate must move or
    /// read the file before its method returns.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        required(core.downloadTask(self, request, .delegate, delegate: nil))
    }

    /// Creates a download task for a URL that delivers to the delegate.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        required(core.downloadTask(self, URLRequest(url: url), .delegate, delegate: nil))
    }

    /// Creates a download task that passes the file's URL to `completionHandler`, exactly once, on the delegate queue.
    /// The file is removed when the handler returns. The error is nil if the whole response was received, whatever its
    /// status.
    @preconcurrency open func downloadTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        required(core.downloadTask(self, request, .fileHandler(completionHandler), delegate: nil))
    }

    /// Creates a download task for a URL; see ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
    @preconcurrency open func downloadTask(
        with url: URL, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        required(core.downloadTask(self, URLRequest(url: url), .fileHandler(completionHandler), delegate: nil))
    }

    /// Creates a task that resumes a cancelled or failed download. Resume data can be used once, because the task
    /// continues to write the same file.
    ///
    /// With invalid resume data the task fails with `URLError.unsupportedURL`.
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        required(core.downloadTask(self, resuming: resumeData, .delegate, delegate: nil))
    }

    /// Creates a task that resumes a download; see ``downloadTask(withResumeData:)`` and
    /// ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
    @preconcurrency open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        required(core.downloadTask(self, resuming: resumeData, .fileHandler(completionHandler), delegate: nil))
    }

    /// Downloads to a file, which the caller must remove; see ``download(for:delegate:)``.
    @_disfavoredOverload
    open func download(for request: URLRequest) async throws -> (URL, URLResponse) {
        try await load { core.downloadTask(self, request, .fileContinuation($0), delegate: nil) }
    }

    /// Downloads a URL to a file, which the caller must remove; see ``download(for:delegate:)``.
    @_disfavoredOverload
    open func download(from url: URL) async throws -> (URL, URLResponse) {
        let request = URLRequest(url: url)
        return try await load { core.downloadTask(self, request, .fileContinuation($0), delegate: nil) }
    }

    /// Resumes a cancelled or failed download; see ``download(for:delegate:)``.
    @_disfavoredOverload
    open func download(resumeFrom resumeData: Data) async throws -> (URL, URLResponse) {
        try await load { core.downloadTask(self, resuming: resumeData, .fileContinuation($0), delegate: nil) }
    }
}
