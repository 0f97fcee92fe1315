public import Foundation
internal import Synchronization

/// One load: a request, its redirects and its response, from `resume()` to exactly one end.
///
/// Made by a ``URLSession``, suspended at first. All members may be used from any thread, and values change while you
/// look: a property is a snapshot. What Apple offers through key-value observation is offered on Linux by ``progress``
/// and the delegate.
open class URLSessionTask: NSObject, NSCopying, ProgressReporting, @unchecked Sendable {
    // Sendable because everything mutable lies in the core, which guards it.

    /// Nil for a task that a program made itself, to stand in for a real one in a test.
    let core: TaskCore?

    init(core: TaskCore) {
        self.core = core
    }

    /// A task of no session, for subclasses in tests. It never runs.
    @available(*, deprecated, message: "Please use -[NSURLSession dataTaskWithRequest:] or other NSURLSession methods")
    public override init() {
        core = nil
    }

    deinit {
        core?.publicObjectReleased()
    }

    /// Returns the task itself.
    open override func copy() -> Any { self }

    open func copy(with zone: NSZone?) -> Any { self }

    /// Unique among the tasks of its session, from 1 on.
    open var taskIdentifier: Int { core?.identifier ?? 0 }

    /// The request that the task was made with; nil for a stream to a host.
    open var originalRequest: URLRequest? { core.flatMap { $0.hasRequest ? $0.originalRequest : nil } }

    /// The request that is being loaded: after a redirect, another than the original.
    open var currentRequest: URLRequest? { core.flatMap { $0.hasRequest ? $0.currentRequest : nil } }

    /// The response to the current request; nil until its head has come.
    open var response: URLResponse? { core?.response }

    /// A delegate for this task alone, asked before the session's; what it lacks goes to the session's, method by
    /// method. May be set until the task is first resumed. Held strongly until the task has ended, and nil then.
    open var delegate: (any URLSessionTaskDelegate)? {
        get { core?.taskDelegate }
        set { core?.taskDelegate = newValue }
    }

    /// How far the task is, in body bytes of both directions. Cancelling, pausing and resuming it do so to the task.
    open var progress: Progress { core?.progress(of: self) ?? Progress(totalUnitCount: -1) }

    /// When to begin at the earliest. Only background sessions heed it.
    open var earliestBeginDate: Date? {
        get { core?.earliestBeginDate }
        set { core?.earliestBeginDate = newValue }
    }

    /// How many bytes, head included, the caller expects to send; −1 if he does not know. A hint.
    open var countOfBytesClientExpectsToSend: Int64 {
        get { core?.expectsToSend ?? NSURLSessionTransferSizeUnknown }
        set { core?.expectsToSend = newValue }
    }

    /// How many bytes, head included, the caller expects to receive; −1 if he does not know. A hint.
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { core?.expectsToReceive ?? NSURLSessionTransferSizeUnknown }
        set { core?.expectsToReceive = newValue }
    }

    /// Bytes of the body sent so far.
    open var countOfBytesSent: Int64 { core?.bytesSent.load(ordering: .relaxed) ?? 0 }

    /// Bytes of the body received so far, decoded.
    open var countOfBytesReceived: Int64 { core?.bytesReceived.load(ordering: .relaxed) ?? 0 }

    /// The size of the body to be sent: 0 without one, −1 if it is a stream of unknown length.
    open var countOfBytesExpectedToSend: Int64 { core?.bytesExpectedToSend.load(ordering: .relaxed) ?? 0 }

    /// The size of the body to be received, from `Content-Length`; −1 if unknown or coded.
    open var countOfBytesExpectedToReceive: Int64 {
        core?.bytesExpectedToReceive.load(ordering: .relaxed) ?? NSURLSessionTransferSizeUnknown
    }

    /// A label for the program's own use.
    open var taskDescription: String? {
        get { core?.taskDescription }
        set { core?.taskDescription = newValue }
    }

    /// Ends the task. Returns at once; the task then completes with `URLError.cancelled`, unless it had ended. A task
    /// that was never resumed completes too.
    open func cancel() { core?.cancel(self) }

    /// What the task is doing.
    open var state: URLSessionTask.State { core?.state ?? .suspended }

    /// Why the task failed; nil as long as it runs and when it was carried out, whatever the status.
    open var error: (any Error)? { core?.error }

    /// Stops sending, receiving and the request's timer. Calls nest: as many `resume()` undo them.
    open func suspend() { core?.suspend() }

    /// Starts the task, or undoes one `suspend()`.
    open func resume() { core?.resume(self) }

    /// From 0 to 1, how soon the task should be served beside others of its session; 0.5 unless set. A hint, which
    /// may be changed at any time.
    open var priority: Float {
        get { core?.priority ?? URLSessionTask.defaultPriority }
        set { core?.priority = newValue }
    }

    /// Whether the delegate gets the body as it comes (true, the standard) or in one piece at the end. Tasks with a
    /// completion handler always get it in one piece. May be set until the task is first resumed.
    open var prefersIncrementalDelivery: Bool {
        get { core?.prefersIncrementalDelivery ?? true }
        set { core?.prefersIncrementalDelivery = newValue }
    }

    open override var description: String {
        "<\(type(of: self)): \(taskIdentifier)\(taskDescription.map { ", \"\($0)\"" } ?? "")>"
    }
}
