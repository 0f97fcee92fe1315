internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// What stands behind a task: its state, and the queue of its delegate events.
///
/// The engine's loop puts events in; one delivery at a time takes them out and makes the calls. So the calls of one
/// task are strictly in order on whatever queue (S-76), many events cost one hop, and a caller who does not keep up
/// stops the reading once enough waits (T-65).
final class TaskCore: Delivery, Callout, @unchecked Sendable {
    // Sendable because what is mutable is atomic, guarded by `lock`, confined to the loop, or of the deliveries.

    let core: SessionCore
    let identifier: Int
    let originalRequest: URLRequest
    let kind: TaskKind
    let isForDelegate: Bool

    let bytesSent = Atomic<Int64>(0)
    let bytesReceived = Atomic<Int64>(0)
    let bytesExpectedToSend = Atomic<Int64>(0)
    let bytesExpectedToReceive = Atomic<Int64>(-1)

    // MARK: Guarded by `lock`

    let lock = Lock()
    @exclusivity(unchecked) var values = Values()
    @exclusivity(unchecked) var events = DelegateEventQueue()
    /// Whether the lock is held for a fork.
    private var isHeld = false

    struct Values {
        var state = URLSessionTask.State.suspended
        var suspensionCount = 1
        var hasStarted = false
        var currentRequest: URLRequest?
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
        /// The session, until the end: delegate methods name it.
        var session: URLSession?
        /// Who wants to go on with the download later.
        var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
        /// A body that was gathered has been told before the end.
        var hasToldBody = false
        /// Whether somebody is about to end the task without a load.
        var isEndClaimed = false
        /// How many parts of a body in parts have been told.
        var partCount = 0
        /// The task, from `resume` to the end (T-9). Nil while it is suspended in an invalidated session.
        var task: URLSessionTask?
        /// The same during that time: who suspended it may resume it, as long as somebody holds it.
        weak var knownTask: URLSessionTask?

        var anyTask: URLSessionTask? { task ?? knownTask }
    }

    // MARK: Of the deliveries, of which one runs at a time

    /// Read by all threads until the delivery of the end, which releases it: what a handler holds may hold the task.
    var result: TaskResult
    /// Another task delivers the rest.
    var isSilent = false

    // MARK: Written on the loop, and read by the delivery of the end, which comes after the last write

    @exclusivity(unchecked) var log: EventLog?
    /// The requests of the task with their responses, as long as there is a log: one more for each redirect and each answer
    /// to a challenge.
    @exclusivity(unchecked) var fetches: [URLSessionTaskMetrics.Fetch] = []

    // MARK: Confined to the loop

    @exclusivity(unchecked) var load: (any Load)?
    /// The load of a stream, also when it has ended: who reads then may still find the end.
    var stream: StreamLoad?
    /// What was asked of a stream that is not there yet.
    var earlyOperations: [StreamOperation] = []
    @exclusivity(unchecked) var hasEnded = false
    /// What it ended with, for another task that tells it.
    var endError: LoadError?
    /// Made to take over another's load, which it has not got yet.
    var isAwaitingLoad = false
    /// The program's own `URLProtocol` loads the task, whose pieces are delivered as they were given.
    var isLoadedByProtocol = false
    /// How often a redirect led from one loader to another.
    var changesOfLoader = 0
    /// Until a task that begins later has begun.
    var delay: StartDelay?
    /// Fields of the configuration that a redirect has taken off.
    @exclusivity(unchecked) var droppedFields: [String] = []
    /// The challenge that waits for an answer of the delegates.
    var pendingChallenge: PendingChallenge?
    /// How many responses a cookie storage of the program is storing the cookies of, and the lookup that waits for
    /// that.
    var cookieStorings = 0
    var awaitedLookup: (any Callout)?
    let creationTime: Int64

    init(
        of session: URLSession, identifier: Int, kind: TaskKind, request: URLRequest, current: URLRequest,
        result: TaskResult, delegate: (any URLSessionTaskDelegate)?
    ) {
        core = session.core
        self.identifier = identifier
        originalRequest = request
        self.kind = kind
        self.result = result
        isForDelegate = result.isDelegate
        creationTime = EventLog.now
        values.session = session
        values.currentRequest = current
        values.prefersIncrementalDelivery = result.isDelegate && kind.isData
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

    // MARK: From the caller

    /// Changes or reads what the lock guards.
    @inline(__always)
    func locked<Result>(_ body: (inout Values) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&values)
    }

    func hold(until deadline: Int64) {
        if lock.lock(until: deadline) { isHeld = true }
    }

    func release(inChild: Bool) {
        guard isHeld else { return }
        isHeld = false
        if inChild { events.deliveryIsGone() }
        lock.unlock()
    }

    /// The task while it is held: from `resume` or `cancel` to the end.
    var heldTask: URLSessionTask? { locked { $0.anyTask } }
    var currentRequest: URLRequest? { locked { $0.currentRequest } }
    var response: URLResponse? { locked { $0.response } }
    var state: URLSessionTask.State { locked { $0.state } }
    /// Whether the session lists the task (T-60). A cancelled task is listed until its end is told, unless it never
    /// began: then it has nothing left to do.
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
}
