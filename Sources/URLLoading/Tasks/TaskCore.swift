internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// The state of a task, and the queue of its delegate events.
///
/// The loop adds events; one delivery at a time takes them and makes the callbacks. So the callbacks of a task are
/// strictly in order on any queue (S-76), many events need one hop between threads, and a slow delegate stops reading
/// when too many bytes are waiting (T-65).
final class TaskCore: Delivery, Callout, @unchecked Sendable {
    // Sendable: the mutable state is atomic, guarded by `lock`, confined to the loop, or confined to the deliveries.
    // Exclusive access to what each request changes is not checked: the lock separates accesses, and no access to what
    // is the loop's lasts while the load or a delegate is called.

    let core: SessionCore
    /// The session's loop and queue, kept here because each event uses them.
    let loop: EventLoop
    let delivery: DeliveryQueue
    /// The key of the task in its session: the identifier, or a negative number in a background session whose service
    /// has not sent the first free identifier yet.
    let number: Int
    let originalRequest: URLRequest
    let kind: TaskKind
    /// The state in `kind`. A match would copy `kind`.
    let webSocket: WebSocketState?
    let isForDelegate: Bool

    let bytesSent = Atomic<Int64>(0)
    let bytesReceived = Atomic<Int64>(0)
    let bytesExpectedToSend = Atomic<Int64>(0)
    let bytesExpectedToReceive = Atomic<Int64>(-1)
    /// Whether the progress is that of the bytes sent: the body of the request is not sent at once, and the length of
    /// the response is unknown until it is.
    let showsOnlySent = Atomic(false)
    /// Whether there have been observers or a `Progress`. Set before they read the counters, and read after the
    /// counters are written: all of them in one order, so that no change is missed.
    let isObserved = Atomic(false)

    /// The load of a task of a background session. Set before the program knows the task.
    @exclusivity(unchecked) var background: BackgroundLoad?

    // MARK: Guarded by `lock`

    /// Lock order: task before session.
    let lock = ForkGuardedLock(.outer)
    @exclusivity(unchecked) var values = Values()
    @exclusivity(unchecked) var events = DelegateEventQueue()

    struct Values {
        var state = URLSessionTask.State.suspended
        var suspensionCount = 1
        var hasStarted = false
        var currentRequest: URLRequest?
        /// The current request with the fields of the configuration, once it is sent. Nil if there are no such fields.
        var sentRequest: URLRequest?
        var response: URLResponse?
        var error: (any Error)?
        var delegate: (any URLSessionTaskDelegate)?
        var delegateReference: DelegateReference?
        var taskDescription: String?
        var priority = URLSessionTask.defaultPriority
        var expectsToSend: Int64 = NSURLSessionTransferSizeUnknown
        var expectsToReceive: Int64 = NSURLSessionTransferSizeUnknown
        var prefersIncrementalDelivery = true
        var earliestBeginDate: Date?
        var progress: TaskProgress?
        var observers: TaskObservers?
        /// The session, until the end. It is an argument of the callbacks.
        var session: URLSession?
        /// The handlers of `cancel(byProducingResumeData:)`. Nil once the end has taken them: then it is too late to
        /// cancel.
        var resumeDataHandlers: [@Sendable (Data?) -> Void]? = []
        /// Whether a collected body was delivered before the end.
        var isBodyDelivered = false
        /// Whether the end of a task without a load is claimed.
        var isEndClaimed = false
        /// The number of delivered parts of a multipart response.
        var partCount = 0
        /// The public task, retained from `resume` to the end (T-9). Nil while it is suspended in an invalidated
        /// session.
        var task: URLSessionTask?
        /// The public task while it is not retained here. The program may resume it while it retains it.
        weak var knownTask: URLSessionTask?

        var anyTask: URLSessionTask? { task ?? knownTask }
    }

    // MARK: Confined to the deliveries, of which one runs at a time

    /// Read on all threads until the delivery of the end, which releases it, because a handler may retain the task.
    var result: TaskResult

    // MARK: Written with `lock`, and read by the delivery of the end, which comes after the last write

    /// Whether another task, or the owner of a captured connection, gets what remains.
    var isSilent = false

    // MARK: Written on the loop, and read by the delivery of the end, which comes after the last write

    @exclusivity(unchecked) var log: EventLog?
    /// The requests of the task with their responses, while there is a log: one more for each redirect and each answer
    /// to a challenge.
    @exclusivity(unchecked) var fetches: [URLSessionTaskMetrics.Fetch] = []

    // MARK: Confined to the loop

    @exclusivity(unchecked) var load: (any Load)?
    /// The load of a stream, also after its end, for reads of the end.
    var stream: StreamLoad?
    /// The operations before the stream exists.
    @exclusivity(unchecked) var earlyOperations: [StreamOperation] = []
    @exclusivity(unchecked) var hasEnded = false
    /// The error of the end, for a task that replaces this one.
    var endError: LoadError?
    /// Whether the load of another task has not been taken over yet.
    var isAwaitingLoad = false
    /// Whether a custom protocol loads the task. Its pieces are delivered unmerged.
    var isLoadedByProtocol = false
    /// The number of redirects that led to the current load. An `HTTPLoad` counts on from there.
    var redirectCount = 0
    /// The header fields of the configuration that a redirect has removed.
    @exclusivity(unchecked) var droppedFields: [String] = []
    /// The challenge that the delegates have not answered.
    var pendingChallenge: PendingChallenge?
    /// The number of responses whose cookies a storage subclass is storing, and the lookup that waits for it.
    var cookieStorings = 0
    var awaitedLookup: (any Callout)?
    @exclusivity(unchecked) var creationTime: Int64

    init(
        of session: URLSession, identifier: Int, kind: TaskKind, request: URLRequest, current: URLRequest,
        result: TaskResult, delegate: (any URLSessionTaskDelegate)?
    ) {
        core = session.core
        number = identifier
        loop = core.loop
        delivery = core.delivery
        originalRequest = request
        self.kind = kind
        if case .webSocket(let state) = kind { webSocket = state } else { webSocket = nil }
        self.result = result
        isForDelegate = result.isDelegate
        creationTime = EventLog.now
        values.session = session
        values.currentRequest = current
        values.prefersIncrementalDelivery = result.isDelegate && !kind.isDownload
        if let delegate {
            values.delegate = delegate
            values.delegateReference = DelegateReference(delegate)
        }
        bytesExpectedToSend.store(kind.knownBodyLength(of: request), ordering: .relaxed)
    }

    /// The task's own delegate, then the session's.
    var delegates: TaskDelegates {
        TaskDelegates(own: locked { $0.delegateReference }, session: core.delegateReference)
    }

    // MARK: On any thread

    /// Accesses the values that the lock guards.
    @inline(__always)
    func locked<Result>(_ body: (inout Values) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&values)
    }

    /// After a fork, for which `lock` was held.
    func release(inChild: Bool) {
        lock.release {
            if inChild { events.deliveryIsGone() }
        }
    }

    /// The public task, from `resume` or `cancel` to the end.
    var heldTask: URLSessionTask? { locked { $0.anyTask } }
    var currentRequest: URLRequest? { locked { $0.currentRequest } }
    /// The current request as the program sees it.
    var shownRequest: URLRequest? { locked { $0.sentRequest ?? $0.currentRequest } }
    var response: URLResponse? { locked { $0.response } }
    var state: URLSessionTask.State { locked { $0.state } }
    /// Whether the session lists the task (T-60). A cancelled task is listed until its end is delivered, unless it
    /// never began.
    var isOutstanding: Bool {
        locked { values in
            switch values.state {
            case .running, .suspended: true
            case .canceling: values.hasStarted
            case .completed: false
            }
        }
    }
    var error: (any Error)? { locked { $0.error } }
    /// The identifier as far as it is known.
    var identifier: Int { background?.identifier ?? number }
}
