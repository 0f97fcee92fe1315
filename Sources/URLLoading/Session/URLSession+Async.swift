public import Foundation
internal import LoadingEvents
internal import LoadingSemantics

// Many packages have methods of their own for Linux, with the signatures that FoundationNetworking lacks. These are
// preferred (`@_disfavoredOverload`), because a call in a package that imports both would be ambiguous. Where the
// delegate is left out, the methods of the class are called, which a subclass may override.
extension URLSession {
    /// Loads a request and returns the complete body. Throws the error of the task if the load fails; an HTTP error
    /// status does not throw.
    ///
    /// Cancelling the Swift task cancels the load, which then throws `URLError.cancelled`. In an invalidated session it
    /// throws the same error.
    ///
    /// - Parameters:
    ///   - request: The request. Copied.
    ///   - delegate: The delegate of this task only. Retained until the task has ended.
    @_disfavoredOverload
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await load { core.dataTask(self, request, .continuation($0), delegate: delegate) }
    }

    /// Loads a URL and returns the complete body. See ``data(for:delegate:)``.
    @_disfavoredOverload
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let request = URLRequest(url: url)
        return try await load { core.dataTask(self, request, .continuation($0), delegate: delegate) }
    }

    /// Starts a task and waits for its end, which calls the handler once. Only debug builds check that, because the
    /// check costs an object for each load. Inlined, because each asynchronous call costs a frame and a switch of the
    /// executor.
    @inline(__always)
    func load<Body: Sendable>(
        _ makeTask: (@escaping @Sendable (Result<(Body, URLResponse), any Error>) -> Void) -> URLSessionTask?
    ) async throws -> (Body, URLResponse) {
        let handle = CancellableTask()
        return try await withTaskCancellationHandler {
            #if DEBUG
                try await withCheckedThrowingContinuation { continuation in
                    guard let task = makeTask({ continuation.resume(with: $0) }) else {
                        return continuation.resume(throwing: Self.invalidated)
                    }
                    handle.start(task)
                }
            #else
                try await withUnsafeThrowingContinuation { continuation in
                    guard let task = makeTask({ continuation.resume(with: $0) }) else {
                        return continuation.resume(throwing: Self.invalidated)
                    }
                    handle.start(task)
                }
            #endif
        } onCancel: {
            handle.cancel()
        }
    }

    /// Downloads to a file, which the caller must remove. Throws the error of the task if the load fails; an HTTP error
    /// status does not throw.
    ///
    /// Cancelling the Swift task cancels the load, which then throws `URLError.cancelled`.
    ///
    /// - Parameters:
    ///   - request: The request. Copied.
    ///   - delegate: The delegate of this task only. Retained until the task has ended.
    @_disfavoredOverload
    public func download(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await load { core.downloadTask(self, request, .fileContinuation($0), delegate: delegate) }
    }

    /// Resumes a cancelled or failed download. See ``download(for:delegate:)``.
    @_disfavoredOverload
    public func download(
        resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await load { core.downloadTask(self, resuming: resumeData, .fileContinuation($0), delegate: delegate) }
    }

    /// Downloads a URL to a file. See ``download(for:delegate:)``.
    @_disfavoredOverload
    public func download(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: URLRequest(url: url), delegate: delegate)
    }

    /// Loads a request and returns when the response head is received. The sequence reads the body on demand; a reader
    /// that pauses stops the transfer. Releasing the sequence and its iterators cancels the load. It is for one
    /// reader, and throws the `URLError` of the load.
    @_disfavoredOverload
    public func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        let handle = CancellableTask()
        let feed = ByteFeed(on: core.loop)
        guard let task = core.dataTask(self, request, .feed(feed), delegate: delegate) else { throw Self.invalidated }
        return try await withTaskCancellationHandler {
            let response = try await withCheckedThrowingContinuation { continuation in
                feed.whenResponded { continuation.resume(with: $0) }
                handle.start(task)
            }
            return (AsyncBytes(task: task, feed: feed), response)
        } onCancel: {
            handle.cancel()
        }
    }

    /// Loads a URL and returns when the response head is received. See ``bytes(for:delegate:)``.
    @_disfavoredOverload
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    /// The error of a load in an invalidated session: as if the load had begun just before the invalidation, because
    /// the session may be invalidated concurrently.
    static var invalidated: URLError { .make(.cancelled, url: nil) }

    /// Clears the session's stores and makes later requests use new connections.
    @_disfavoredOverload
    public func reset() async {
        await firstAnswer { answer in reset { answer(()) } }
    }

    /// Writes the session's stores to disk and makes later requests use new connections.
    @_disfavoredOverload
    public func flush() async {
        await firstAnswer { answer in flush { answer(()) } }
    }

    /// The tasks that have not ended, by kind.
    @_disfavoredOverload
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await firstAnswer { answer in getTasksWithCompletionHandler { answer(($0, $1, $2)) } }
        }
    }

    /// All tasks that have not ended.
    @_disfavoredOverload
    public var allTasks: [URLSessionTask] {
        get async {
            await firstAnswer { getAllTasks(completionHandler: $0) }
        }
    }
}

/// Connects a task with a Swift task cancellation that may precede it.
final class CancellableTask: @unchecked Sendable {
    // Sendable because what is mutable is guarded by `lock`.
    private let lock = Lock()
    private var task: URLSessionTask?
    private var isCancelled = false

    func start(_ task: URLSessionTask) {
        let wasCancelled = lock.withLock {
            self.task = task
            return isCancelled
        }
        // A Swift task that was cancelled before starts nothing, and still ends by the load's own end (T-56).
        if wasCancelled { task.cancel() } else { task.resumeAwaited() }
    }

    func cancel() {
        let task = lock.withLock {
            isCancelled = true
            return self.task
        }
        task?.cancel()
    }
}
