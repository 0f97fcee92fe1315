public import Foundation
internal import LoadingEvents
internal import LoadingSemantics

extension URLSession {
    /// Loads a request and gives its whole body. Throws only if there is no response: an HTTP status is no error.
    ///
    /// Cancelling the surrounding Swift task cancels the load; the call then throws `URLError.cancelled`. So it does in a
    /// session that has been invalidated.
    ///
    /// - Parameter delegate: Told and asked about this load alone. Held until it has ended.
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let handle = CancellableTask()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = core.dataTask(
                    self, request, .continuation { continuation.resume(with: $0) }, delegate: delegate)
                guard let task else { return continuation.resume(throwing: Self.invalidated) }
                handle.start(task)
            }
        } onCancel: {
            handle.cancel()
        }
    }

    /// Loads a URL and gives its whole body. See ``data(for:delegate:)``.
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: delegate)
    }

    /// Loads a request and gives its whole body. See ``data(for:delegate:)``.
    public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        try await data(for: request, delegate: nil)
    }

    /// Loads a URL and gives its whole body. See ``data(for:delegate:)``.
    public func data(from url: URL) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: nil)
    }

    /// Loads a request to a file, which is the caller's to remove. Throws only if there is no response: an HTTP status
    /// is no error.
    ///
    /// Cancelling the surrounding Swift task cancels the load; the call then throws `URLError.cancelled`.
    ///
    /// - Parameter delegate: Told and asked about this load alone. Held until it has ended.
    public func download(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download { core.downloadTask(self, request, $0, delegate: delegate) }
    }

    /// Goes on with a download that was cancelled or failed. See ``download(for:delegate:)``.
    public func download(
        resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download { core.downloadTask(self, resuming: resumeData, $0, delegate: delegate) }
    }

    private func download(_ makeTask: (TaskResult) -> URLSessionDownloadTask?) async throws -> (URL, URLResponse) {
        let handle = CancellableTask()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = makeTask(.fileContinuation { continuation.resume(with: $0) })
                guard let task else { return continuation.resume(throwing: Self.invalidated) }
                handle.start(task)
            }
        } onCancel: {
            handle.cancel()
        }
    }

    /// Loads a URL to a file, which is the caller's to remove. See ``download(for:delegate:)``.
    public func download(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: URLRequest(url: url), delegate: delegate)
    }

    /// Loads a request to a file, which is the caller's to remove. See ``download(for:delegate:)``.
    public func download(for request: URLRequest) async throws -> (URL, URLResponse) {
        try await download(for: request, delegate: nil)
    }

    /// Loads a URL to a file, which is the caller's to remove. See ``download(for:delegate:)``.
    public func download(from url: URL) async throws -> (URL, URLResponse) {
        try await download(for: URLRequest(url: url), delegate: nil)
    }

    /// Loads a request and returns as soon as the head of its response is there; the body comes as it is read from
    /// the sequence. A reader that pauses stops the transfer, not only the delivery. Dropping the sequence and its
    /// iterators cancels the load.
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

    /// Loads a URL and returns as soon as the head of its response is there. See ``bytes(for:delegate:)``.
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    /// What a load throws that is begun in a session that has been invalidated: as if it had been begun just before, and
    /// cancelled by that. Another part of the program may invalidate the session at any moment.
    static var invalidated: URLError { .make(.cancelled, url: nil) }

    /// Empties the session's stores and has later requests use new connections.
    public func reset() async {
        await withCheckedContinuation { continuation in reset { continuation.resume() } }
    }

    /// Has later requests use new connections.
    public func flush() async {
        await withCheckedContinuation { continuation in flush { continuation.resume() } }
    }

    /// The tasks that have not ended, by kind.
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await withCheckedContinuation { continuation in
                getTasksWithCompletionHandler { continuation.resume(returning: ($0, $1, $2)) }
            }
        }
    }

    /// Every task that was made and has not ended.
    public var allTasks: [URLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in getAllTasks { continuation.resume(returning: $0) } }
        }
    }
}

/// Brings together a task and a cancellation that may come before it.
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
        if wasCancelled { task.cancel() } else { task.resume() }
    }

    func cancel() {
        let task = lock.withLock {
            isCancelled = true
            return self.task
        }
        task?.cancel()
    }
}
