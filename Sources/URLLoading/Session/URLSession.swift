public import Foundation
internal import LoadingConnections
internal import LoadingPipeline

/// Coordinates a group of related loads: they share a configuration, a delegate, and a pool of connections.
///
/// All members may be used from any thread. Delegate calls and completion handlers come on ``delegateQueue``, those of
/// one task strictly in order. A session holds its delegate until it is invalidated; one that the program does not hold any
/// more and that has no task lets it go too.
///
/// A session holds each task from its creation to its end, resumed or not, and a task holds its session. Once the session is
/// invalidated, a task that is suspended lives as long as the program holds it; then it is cancelled, since nothing can
/// resume it any more.
open class URLSession: NSObject, @unchecked Sendable {
    // Sendable because everything mutable lies in the core, which guards it.

    // There is no initializer of the module's own: a subclass, which could not inherit that, would not inherit
    // `init(configuration:)` either.
    let core: SessionCore

    /// The process's own session: default configuration, no delegate, results by completion handler or `async`.
    /// Invalidating it has no effect.
    public class var shared: URLSession { sharedSession }

    private static let sharedSession: URLSession = {
        let session = URLSession(configuration: .default)
        session.core.share()
        return session
    }()

    /// A session of the default configuration, without a delegate.
    @available(*, deprecated, message: "Please use +[NSURLSession sessionWithConfiguration:] or other class methods")
    public override init() {
        core = SessionCore(.standard(), delegate: nil, queue: nil)
    }

    /// A session without a delegate. The configuration is copied.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// A session. The configuration is copied; later changes to it have no effect.
    ///
    /// - Parameters:
    ///   - delegate: Told and asked about every task. Held until the session is invalidated.
    ///   - queue: Where delegate methods and completion handlers are called. Should be serial; the calls of one task
    ///     are in order on any queue. Nil: a serial queue of the session's own.
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        core = SessionCore(configuration.snapshot, delegate: delegate, queue: queue)
    }

    deinit {
        core.publicObjectReleased()
    }

    /// Returns the session itself.
    open override func copy() -> Any { self }

    /// Where delegate methods and completion handlers are called.
    open var delegateQueue: OperationQueue { core.delivery.shown }

    /// The delegate; nil after invalidation.
    open var delegate: (any URLSessionDelegate)? { core.delegate }

    /// A copy of the configuration.
    open var configuration: URLSessionConfiguration {
        var values = core.configuration
        values.urlCache = core.urlCache
        return URLSessionConfiguration(values)
    }

    /// A label for the program's own use.
    open var sessionDescription: String? {
        get { core.sessionDescription }
        set { core.sessionDescription = newValue }
    }

    /// Lets the tasks end, then calls `urlSession(_:didBecomeInvalidWithError:)` and lets the delegate go. Returns at
    /// once; from now on no task may be made. A task that is suspended is waited for as long as the program holds it.
    open func finishTasksAndInvalidate() { core.invalidate(self, cancelsTasks: false) }

    /// Cancels all tasks, then calls `urlSession(_:didBecomeInvalidWithError:)` and lets the delegate go. Returns at
    /// once; from now on no task may be made.
    open func invalidateAndCancel() { core.invalidate(self, cancelsTasks: true) }

    /// Empties the session's stores, in memory and on disk, and has later requests use new connections; then calls the
    /// handler on the delegate queue. What a store has on disk is read before, if it was not asked yet, and the caller waits
    /// for that.
    @preconcurrency open func reset(completionHandler: @escaping @Sendable () -> Void) {
        core.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
        core.urlCache?.removeAllCachedResponses()
        core.configuration.hsts.removeAll()
        core.configuration.alternatives.removeAll()
        core.forgetCredentials()
        flush(completionHandler: completionHandler)
    }

    /// Has what the session's stores keep written to disk, and later requests use new connections; then calls the handler on
    /// the delegate queue. What cannot be written now does not hold it up. A disk that does not answer does, and so does a
    /// keyring that the user has to unlock, for a minute.
    @preconcurrency open func flush(completionHandler: @escaping @Sendable () -> Void) {
        core.renewConnections()
        core.flushStores { [core] in core.delivery.schedule(completionHandler) }
    }

    /// Gives every task that was made and has not ended, on the delegate queue: none after `invalidateAndCancel`.
    @preconcurrency open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        core.delivery.schedule { [core] in completionHandler(core.listedTasks) }
    }

    /// Gives the tasks that have not ended, by kind, on the delegate queue.
    @preconcurrency open func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable (
                [URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]
            ) -> Void
    ) {
        core.delivery.schedule { [core] in
            let tasks = core.listedTasks
            completionHandler(
                tasks.filter { !($0 is URLSessionUploadTask) }.compactMap { $0 as? URLSessionDataTask },
                tasks.compactMap { $0 as? URLSessionUploadTask },
                tasks.compactMap { $0 as? URLSessionDownloadTask })
        }
    }

    /// Apple raises an exception for a task of a session that has been invalidated (T-61): it is an error of the program,
    /// which no input can cause.
    private func required<Task: URLSessionTask>(_ task: Task?) -> Task {
        guard let task else { preconditionFailure("A task was created in a session that has been invalidated") }
        return task
    }

    // MARK: Data tasks

    /// A suspended task whose response and body go to the delegate.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        required(core.dataTask(self, request, .delegate, delegate: nil))
    }

    /// A suspended task that loads a URL and reports to the delegate.
    open func dataTask(with url: URL) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url))
    }

    /// A suspended task whose whole body goes to `completionHandler`, on the delegate queue, exactly once. The error is
    /// nil if there was a response, whatever its status.
    @preconcurrency open func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        required(core.dataTask(self, request, .handler(completionHandler), delegate: nil))
    }

    /// A suspended task that loads a URL; see ``dataTask(with:completionHandler:)-(URLRequest,_)``.
    @preconcurrency open func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    // MARK: Upload tasks

    /// A suspended task that sends a file as the body of the request, and reports to the delegate as a data task does. A
    /// body of the request's own is ignored.
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .file(fileURL), .delegate, delegate: nil))
    }

    /// A suspended task that sends data as the body of the request, and reports to the delegate as a data task does. A
    /// body of the request's own is ignored.
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .data(bodyData), .delegate, delegate: nil))
    }

    /// A suspended task that sends a stream as the body of the request. The delegate is asked for the stream, perhaps more
    /// than once: ``URLSessionTaskDelegate/urlSession(_:task:needNewBodyStream:)``. With a `Content-Length` among the
    /// request's fields the stream has to have that many bytes.
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .stream, .delegate, delegate: nil))
    }

    /// A suspended task that sends a file as the body of the request and gives the body of the response to
    /// `completionHandler`, on the delegate queue, exactly once. The error is nil if there was a response, whatever its
    /// status.
    @preconcurrency open func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .file(fileURL), .handler(completionHandler), delegate: nil))
    }

    /// A suspended task that sends data as the body of the request; see
    /// ``uploadTask(with:fromFile:completionHandler:)``.
    @preconcurrency open func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        required(core.uploadTask(self, request, .data(bodyData ?? Data()), .handler(completionHandler), delegate: nil))
    }

    /// A suspended task that goes on with an upload that was cancelled or failed, where the server has kept what it had
    /// got. A file has to be unchanged; for a stream the delegate is asked for what follows:
    /// ``URLSessionTaskDelegate/urlSession(_:task:needNewBodyStreamFrom:completionHandler:)``.
    ///
    /// Data that is no resume data makes a task that fails with `URLError.unsupportedURL`.
    open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        required(core.uploadTask(self, resuming: resumeData, .delegate, delegate: nil))
    }

    /// A suspended task that goes on with an upload; see ``uploadTask(withResumeData:)`` and
    /// ``uploadTask(with:fromFile:completionHandler:)``.
    @preconcurrency open func uploadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        required(core.uploadTask(self, resuming: resumeData, .handler(completionHandler), delegate: nil))
    }

    // MARK: Stream tasks

    /// A suspended task that connects to a host by TCP, to be read and written as bytes.
    ///
    /// - Parameters:
    ///   - hostname: A name, or an address of IPv4 or IPv6.
    ///   - port: From 0 to 65535; any other makes a task that fails with `URLError.badURL`.
    open func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        required(core.streamTask(self, to: StreamEndpoint(host: hostname, port: port)))
    }

    // MARK: Download tasks

    /// A suspended task that writes the body of its response to a file, which the delegate gets and has to move or
    /// read before its method returns.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        required(core.downloadTask(self, request, .delegate, delegate: nil))
    }

    /// A suspended task that loads a URL to a file and reports to the delegate.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url))
    }

    /// A suspended task that writes the body of its response to a file and gives `completionHandler` its place, on the
    /// delegate queue, exactly once. The file is removed when the handler returns. The error is nil if there was a
    /// response, whatever its status.
    @preconcurrency open func downloadTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        required(core.downloadTask(self, request, .fileHandler(completionHandler), delegate: nil))
    }

    /// A suspended task that loads a URL to a file; see ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
    @preconcurrency open func downloadTask(
        with url: URL, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// A suspended task that goes on with a download that was cancelled or failed. What the data was made from must not
    /// have been used before: the same file is written.
    ///
    /// Data that is no resume data makes a task that fails with `URLError.unsupportedURL`.
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        required(core.downloadTask(self, resuming: resumeData, .delegate, delegate: nil))
    }

    /// A suspended task that goes on with a download; see ``downloadTask(withResumeData:)`` and
    /// ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
    @preconcurrency open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        required(core.downloadTask(self, resuming: resumeData, .fileHandler(completionHandler), delegate: nil))
    }
}
