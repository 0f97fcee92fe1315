public import Foundation
internal import LoadingEvents
internal import Synchronization

/// A load: a request, its redirects and its response, from `resume()` to exactly one completion.
///
/// Created by a ``URLSession``, initially suspended. Thread-safe; properties are snapshots. On Linux there is no
/// key-value observation: use ``statusUpdates``, ``progress`` and the delegate.
open class URLSessionTask: _URLSessionTaskMembers, NSCopying, ProgressReporting, @unchecked Sendable {
    // Sendable: all mutable state is in the core, which guards it.

    /// Nil for a task that a program created itself, for tests.
    let core: TaskCore?
    /// What the program has set on a task without a core.
    private let own: OwnProperties?

    init(core: TaskCore) {
        self.core = core
        own = nil
    }

    /// A task without a session, for subclasses in tests. It never runs.
    @available(*, deprecated, message: "Please use -[NSURLSession dataTaskWithRequest:] or other NSURLSession methods")
    public override init() {
        core = nil
        own = OwnProperties()
    }

    deinit {
        core?.publicObjectReleased()
    }

    /// Returns the task itself.
    open override func copy() -> Any { self }

    open func copy(with zone: NSZone?) -> Any { self }

    /// The identifier of the task, unique within its session, beginning with 1. In a background session it is the same
    /// when the program is started again; until the session is connected to the background service, this waits for
    /// that, at most ten seconds.
    open var taskIdentifier: Int { core?.shownIdentifier ?? 0 }

    /// The request that the task was created with; nil for a stream to a host.
    open var originalRequest: URLRequest? { core.flatMap { $0.hasRequest ? $0.originalRequest : nil } }

    /// The request that is being loaded. Differs from the original request after a redirect. Once the task has begun,
    /// it has the fields of ``URLSessionConfiguration/httpAdditionalHeaders`` that are sent.
    open var currentRequest: URLRequest? { core.flatMap { $0.hasRequest ? $0.shownRequest : nil } }

    /// The response to the current request; nil until its head is received.
    open var response: URLResponse? { core?.response }

    /// The delegate of this task only; not in a background session. It is called before the session's. Methods that it
    /// does not implement are called on the session's delegate. Can be set until the task is first resumed. Retained
    /// until the task has ended, then nil.
    open var delegate: (any URLSessionTaskDelegate)? {
        get { core == nil ? own?[\.delegate] : core?.taskDelegate }
        set {
            own?[\.delegate] = newValue
            core?.taskDelegate = newValue
        }
    }

    /// The progress of the task, in body bytes of both directions. Cancelling, pausing and resuming it affect the task.
    open var progress: Progress { core?.progress(of: self) ?? own?.progress ?? Progress(parent: nil) }

    /// The earliest date at which the task begins. Effective in background sessions only, until the task has begun. The
    /// background service waits, also when the program has ended.
    open var earliestBeginDate: Date? {
        get { core == nil ? own?[\.earliestBeginDate] : core?.earliestBeginDate }
        set {
            own?[\.earliestBeginDate] = newValue
            core?.earliestBeginDate = newValue
        }
    }

    /// The number of bytes, including the head, that the program expects to send; −1 if unknown. A hint.
    open var countOfBytesClientExpectsToSend: Int64 {
        get { core?.expectsToSend ?? own?[\.expectsToSend] ?? NSURLSessionTransferSizeUnknown }
        set {
            own?[\.expectsToSend] = newValue
            core?.expectsToSend = newValue
        }
    }

    /// The number of bytes, including the head, that the program expects to receive; −1 if unknown. A hint.
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { core?.expectsToReceive ?? own?[\.expectsToReceive] ?? NSURLSessionTransferSizeUnknown }
        set {
            own?[\.expectsToReceive] = newValue
            core?.expectsToReceive = newValue
        }
    }

    /// The number of body bytes sent so far.
    open var countOfBytesSent: Int64 { core?.bytesSent.load(ordering: .relaxed) ?? 0 }

    /// The number of body bytes received so far, after decoding.
    open var countOfBytesReceived: Int64 { core?.bytesReceived.load(ordering: .relaxed) ?? 0 }

    /// The length of the request body in bytes: 0 without a body, −1 for a stream of unknown length.
    open var countOfBytesExpectedToSend: Int64 { core?.bytesExpectedToSend.load(ordering: .relaxed) ?? 0 }

    /// The length of the response body in bytes, from `Content-Length`; −1 if unknown or content-coded.
    open var countOfBytesExpectedToReceive: Int64 {
        core?.bytesExpectedToReceive.load(ordering: .relaxed) ?? NSURLSessionTransferSizeUnknown
    }

    /// A label for the program's use.
    open var taskDescription: String? {
        get { core == nil ? own?[\.taskDescription] : core?.taskDescription }
        set {
            own?[\.taskDescription] = newValue
            core?.taskDescription = newValue
        }
    }

    /// Cancels the task. Returns at once; the task then completes with `URLError.cancelled`, unless it has ended
    /// already. A task that was never resumed completes too.
    open func cancel() { core?.cancel(self) }

    /// The state of the task.
    open var state: URLSessionTask.State { core?.state ?? .suspended }

    /// The error of the task. Nil while it runs, and if the whole response was received, whatever its status.
    open var error: (any Error)? { core?.error }

    /// Suspends sending, receiving and the idle timeout. Calls nest: each needs a `resume()`.
    open func suspend() { core?.suspend() }

    /// Starts the task, or reverts one `suspend()`.
    open func resume() { core?.resume(self) }

    /// The same, for an `async` method that waits for the response or the end.
    func resumeAwaited() { core?.resume(self, waits: true) }

    /// The priority among the tasks of the session, from 0 to 1. The default is 0.5. A hint that can be changed at any
    /// time.
    open var priority: Float {
        get { core?.priority ?? own?[\.priority] ?? URLSessionTask.defaultPriority }
        set {
            own?[\.priority] = newValue
            core?.priority = newValue
        }
    }

    /// Whether the delegate gets the body as it arrives, or in one piece at the end. The default is true, but false for
    /// downloads, which go to a file, and for tasks with a completion handler and those of `async` methods, which do
    /// not depend on it. Can be set until the task is first resumed.
    open var prefersIncrementalDelivery: Bool {
        get { core?.prefersIncrementalDelivery ?? own?[\.prefersIncrementalDelivery] ?? true }
        set {
            own?[\.prefersIncrementalDelivery] = newValue
            core?.prefersIncrementalDelivery = newValue
        }
    }

    open override var description: String {
        "<\(type(of: self)): \(taskIdentifier)\(taskDescription.map { ", \"\($0)\"" } ?? "")>"
    }
}

extension URLSessionTask {
    /// The state of a task.
    @frozen public enum State: Int, Sendable {
        /// Running. Timeouts run in this state only.
        case running = 0
        /// Not started, or suspended: the initial state.
        case suspended = 1
        /// Cancelled; the completion is not delivered yet.
        case canceling = 2
        /// Ended: no more callbacks.
        case completed = 3
    }
}

extension URLSessionTask {
    /// The default priority: 0.5.
    public class var defaultPriority: Float { 0.5 }
    /// A low priority, above the minimum.
    public class var lowPriority: Float { 0.25 }
    /// A high priority, below the maximum.
    public class var highPriority: Float { 0.75 }
}

/// The byte count if the size is unknown: −1.
public let NSURLSessionTransferSizeUnknown: Int64 = -1

/// The properties that a program sets on a task of its own, which has no session.
private final class OwnProperties: @unchecked Sendable {
    // Sendable: the lock guards the values.

    struct Values {
        var delegate: (any URLSessionTaskDelegate)?
        var earliestBeginDate: Date?
        var expectsToSend = NSURLSessionTransferSizeUnknown
        var expectsToReceive = NSURLSessionTransferSizeUnknown
        var taskDescription: String?
        var priority = URLSessionTask.defaultPriority
        var prefersIncrementalDelivery = true
    }

    private let lock = Lock()
    private var values = Values()
    let progress: Progress

    init() {
        // Without the parent that the calling thread may have.
        progress = Progress(parent: nil)
        progress.totalUnitCount = -1
    }

    subscript<Value>(property: WritableKeyPath<Values, Value>) -> Value {
        get { lock.withLock { values[keyPath: property] } }
        set {
            // The old value is released after the lock, because its deinit may run the program's code.
            var value = newValue
            lock.withLock { swap(&values[keyPath: property], &value) }
        }
    }
}
