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
    // Sendable because what is mutable is atomic, guarded by `lock`, or marked as confined to the loop.

    let core: SessionCore
    let identifier: Int
    let originalRequest: URLRequest
    /// Handed from the caller to the loop to the one who delivers the end, and let go of then: what a handler holds
    /// may hold the task.
    private(set) var result: TaskResult
    let kind: TaskKind
    let isForDelegate: Bool

    let bytesSent = Atomic<Int64>(0)
    let bytesReceived = Atomic<Int64>(0)
    let bytesExpectedToSend = Atomic<Int64>(0)
    let bytesExpectedToReceive = Atomic<Int64>(-1)

    // MARK: Guarded by `lock`

    let lock = Lock()
    @exclusivity(unchecked) private var values = Values()
    @exclusivity(unchecked) private var events = DelegateEventQueue()
    /// Another task tells the rest.
    var isSilent = false
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

    // MARK: Confined to the loop

    @exclusivity(unchecked) var load: (any Load)?
    /// The load of a stream, also when it has ended: who reads then may still find the end.
    var stream: StreamLoad?
    /// What was asked of a stream that is not there yet.
    var earlyOperations: [StreamOperation] = []
    @exclusivity(unchecked) var log: EventLog?
    /// What was fetched and what came of it, one more for each redirect and each answer to a challenge, as long as
    /// there is a log to go with it.
    @exclusivity(unchecked) var fetches: [URLSessionTaskMetrics.Fetch] = []
    @exclusivity(unchecked) var hasEnded = false
    /// What it ended with, for another task that tells it.
    var endError: LoadError?
    /// Made to take over another's load, which it has not got yet.
    var isAwaitingLoad = false
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
    private let creationTime: Int64

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

    func resume(_ task: URLSessionTask) {
        enum Step { case nothing, start, goOn }
        let step: Step = locked { values in
            guard values.state == .suspended, values.suspensionCount > 0 else { return .nothing }
            values.suspensionCount -= 1
            guard values.suspensionCount == 0 else { return .nothing }
            values.state = .running
            values.task = task
            values.knownTask = nil
            if values.hasStarted { return .goOn }
            values.hasStarted = true
            // Within the lock, so that it cannot come after the end that a cancel on another thread brings about.
            core.hold(self)
            return .start
        }
        switch step {
        case .nothing: break
        case .start where !core.loop.serve(): endWithoutLoop(ForkedProcess.isCurrent ? .forkedProcess : .noThread)
        case .start: core.loop.post { self.begin() }
        case .goOn: core.loop.post { self.applyState() }
        }
    }

    func suspend() {
        let mustStop: Bool = locked { values in
            guard values.state == .running || values.state == .suspended else { return false }
            values.suspensionCount += 1
            let wasRunning = values.state == .running
            values.state = .suspended
            return wasRunning
        }
        guard mustStop else { return }
        core.loop.post { self.applyState() }
        if core.isInvalidated { letGoIfSuspended() }
    }

    /// In a session that is invalidated nobody can find a task, so one that does not run goes on only if somebody holds
    /// it.
    func letGoIfSuspended() {
        // Let go of outside of the lock, since that may be its end.
        _ = locked { values -> URLSessionTask? in
            guard values.state == .suspended, let task = values.task else { return nil }
            values.knownTask = task
            values.task = nil
            return task
        }
    }

    /// Brings the load in line with the state. Which of two threads posts first says nothing about what they set last.
    private func applyState() {
        if state == .suspended { load?.suspend() } else { load?.resume() }
    }

    /// Ends the task; one that never ran completes too (T-6), and `task` has to be there for it.
    func cancel(_ task: URLSessionTask?) {
        let isFirst: Bool = locked { values in
            guard values.state == .running || values.state == .suspended else { return false }
            values.state = .canceling
            if values.task == nil { values.task = values.knownTask ?? task }
            // Within the lock, so that it cannot come after an end that is under way.
            core.hold(self)
            return true
        }
        guard isFirst else { return }
        guard core.loop.serve() else { return endWithoutLoop(.cancelled) }
        core.loop.post {
            if let load = self.load {
                load.cancel(.cancelled)
            } else if !self.isAwaitingLoad, self.claimEnd() {
                self.end(.cancelled, body: self.unstartedBody)
            }
        }
    }

    /// Ends the task where no loop runs and so nothing can be loaded. A process that was forked off leaves the loads of
    /// its parent alone: their connections and files are the parent's.
    private func endWithoutLoop(_ error: LoadError) {
        guard claimEnd() else { return }
        WorkWithoutLoop.perform { [self] in end(error, body: ForkedProcess.isCurrent ? .nothing : unstartedBody) }
    }

    /// Whether nobody else ends the task, of the two that can where it has no load: the loop, which may have got its
    /// thread meanwhile, and who found that it has none.
    private func claimEnd() -> Bool {
        locked { values in
            defer { values.isEndClaimed = true }
            return !values.isEndClaimed
        }
    }

    /// What a task has that never ran.
    private var unstartedBody: LoadedBody {
        switch kind {
        case .download(let stopped?): .stopped(path: stopped.path, stopped.point)
        case .upload(_, let stopped?): .unsent(stopped)
        default: .nothing
        }
    }

    /// Ends the task, and gives what another can go on from.
    func cancel(_ task: URLSessionTask?, producingResumeData handler: @escaping @Sendable (Data?) -> Void) {
        let isOver: Bool = locked { values in
            guard values.state != .completed else { return true }
            values.resumeDataHandlers.append(handler)
            return false
        }
        if isOver { return core.delivery.schedule { handler(nil) } }
        cancel(task)
    }

    /// The caller's task object is gone. Before the task's end that comes only in a session that is invalidated, to a
    /// task that is suspended: nobody can resume it any more, so it is cancelled.
    func publicObjectReleased() {
        if locked({ $0.state == .suspended && $0.task == nil }) { cancel(newTaskObject()) }
    }

    /// An object for the calls that are left to make, when the caller has let go of the one there was.
    private func newTaskObject() -> URLSessionTask {
        switch kind {
        case .data: URLSessionDataTask(core: self)
        case .upload: URLSessionUploadTask(core: self)
        case .download: URLSessionDownloadTask(core: self)
        case .stream: URLSessionStreamTask(core: self)
        }
    }

    /// The reader of a feed has emptied it.
    func readerTookAll() { core.loop.post { self.load?.resumeReading() } }

    // MARK: On the loop

    private func begin() {
        guard !hasEnded, load == nil else { return }
        makeLog()
        if log?.keepsEvents == true { fetches = [URLSessionTaskMetrics.Fetch(request: originalRequest)] }
        beginWhenDue()
    }

    /// If anything reads it.
    private func makeLog() {
        let trace = core.trace?.ofTask(identifier)
        if wantsMetrics, hasRequest {
            log = EventLog(trace: trace)
        } else if let trace {
            log = EventLog(keepsEvents: false, trace: trace)
        }
        log?.traceOnly(requestForTrace)
    }

    /// What a log says of the task until there is a load, or if there never is one.
    private var requestForTrace: LoadEvent.Kind {
        if case .stream(let endpoint?) = kind { return .request(method: "connect", url: endpoint.description) }
        let request = currentRequest ?? originalRequest
        return .request(method: request.method, url: request.url?.absoluteString ?? "(no address)")
    }

    /// Begins to load the current request, once it is known who loads it.
    func beginLoading() {
        if case .stream(let endpoint?) = kind { return beginStream(to: endpoint) }
        guard core.hasProtocols else { return beginLoading(by: nil) }
        askProtocols { [self] claimed in beginLoading(by: claimed) }
    }

    private func beginLoading(by protocolClass: URLProtocol.Type?) {
        guard !hasEnded, load == nil else { return }
        let current = currentRequest ?? originalRequest
        droppedFields = fieldsDropped(onTheWayTo: current)
        do throws(LoadError) {
            let load = try makeLoad(of: current, carrying: uploadBody(of: current), claimedBy: protocolClass)
            self.load = load
            if state == .suspended { load.suspend() }
            load.start(.first)
        } catch {
            end(error, body: .nothing)
        }
    }

    /// A download that goes on begins where a redirect once led: what that took off stays off.
    private func fieldsDropped(onTheWayTo current: URLRequest) -> [String] {
        guard !kind.isData, originalRequest.url != current.url else { return [] }
        return additionalFieldsDropped(from: originalRequest, to: current)
    }

    /// Those of the configuration's own fields that a redirect takes off which leads from one request to another (R-5,
    ///
    func additionalFieldsDropped(from previous: URLRequest, to next: URLRequest) -> [String] {
        guard let url = previous.url, let target = next.url else { return [] }
        var fields = HTTPFields()
        for (name, value) in core.additionalFields { fields.append(name, value) }
        let origin = RedirectSource(method: previous.method, url: url.absoluteString, fields: fields, hasBody: false)
        // The status for which the rules come to the method that the next request has.
        let status = next.method == "GET" ? 303 : 307
        guard
            case .follow(let redirected) = RedirectRules.decide(
                status: status, location: target.absoluteString, from: origin, count: 0)
        else { return [] }
        return redirected.droppedFields
    }

    var destination: BodyDestination {
        switch (kind, result) {
        case (.download(let stopped?), _): .stopped(stopped)
        case (.download(nil), _): .file(.newFile(inFolder: core.downloadFolder))
        case (_, .delegate): prefersIncrementalDelivery ? .pieces : .whole
        case (_, .handler), (_, .continuation): .whole
        case (_, _): .pieces
        }
    }

    /// The delegate's verdict on the response.
    func answer(_ disposition: URLSession.ResponseDisposition, for task: URLSessionTask) {
        switch disposition {
        case .allow: core.loop.post { self.load?.answerResponse() }
        // What came in the parts before would be missing in the file (MISC-23).
        case .becomeDownload where locked { $0.partCount } > 1: cancel(nil)
        case .becomeDownload: becomeAnother(.becomeDownload, task)
        // The connection has gone on to who knows where.
        case .becomeStream where locked { $0.partCount } > 0: cancel(nil)
        case .becomeStream: becomeAnother(.becomeStream, task)
        case .cancel: cancel(nil)
        }
    }

    /// The task is held until another has taken its place, also where it is suspended in an invalidated session (T-44).
    private func becomeAnother(_ event: TaskEvent, _ task: URLSessionTask) {
        locked { if $0.task == nil, $0.state == .suspended { $0.task = task } }
        enqueue(event)
    }

    /// The delegate's verdict on a redirect.
    func answerRedirect(_ request: URLRequest?) {
        guard let request else { return core.loop.post { self.load?.answerRedirect(nil) } }
        core.loop.post { [self] in
            guard let load else { return }
            // The answer may lead to where the proposal did not.
            if let previous = currentRequest { droppedFields += additionalFieldsDropped(from: previous, to: request) }
            if core.hasProtocols || load is SourceLoad { return redirect(load, to: request) }
            do throws(LoadError) {
                let next = try LoadRequest(
                    request, of: core, without: droppedFields, body: bodyAfterRedirect(to: request, load),
                    priority: priority)
                follow(request)
                load.answerRedirect(next)
            } catch {
                load.cancel(error.at(request.url?.absoluteString))
            }
        }
    }

    func note(_ response: URLResponse) {
        if !fetches.isEmpty { fetches[fetches.count - 1].response = response }
    }

    /// What was there before is let go of outside of the lock: a stream of the caller's may be in it.
    func setCurrentRequest(_ request: URLRequest) {
        var other: URLRequest? = request
        locked { swap(&$0.currentRequest, &other) }
    }

    /// The task loads another request than the one it was made with, of which nothing was loaded.
    func replaceRequest(_ request: URLRequest) {
        setCurrentRequest(request)
        bytesExpectedToSend.store(kind.knownBodyLength(of: request), ordering: .relaxed)
        if !fetches.isEmpty { fetches[fetches.count - 1].request = request }
    }

    func follow(_ request: URLRequest) {
        setCurrentRequest(request)
        let length = bodyLengthAfterRedirect(to: request)
        if length != 0 {
            // A body starts anew; without one, what was sent before is what there is to tell.
            bytesExpectedToSend.store(length, ordering: .relaxed)
            bytesSent.store(0, ordering: .relaxed)
        }
        if log != nil { fetches.append(URLSessionTaskMetrics.Fetch(request: request)) }
    }

    func url(of load: any Load) -> URL? { locked { $0.currentRequest?.url } }

    func end(_ error: LoadError?, body: LoadedBody) {
        guard !hasEnded else { return }
        refuseEarlyOperations(error ?? .streamIsClosed)
        hasEnded = true
        // One that never ran has metrics too (T-39, MET-16), and is in the trace.
        if log == nil {
            makeLog()
            log?.record(.ended, at: EventLog.now)
        }
        endError = error
        if let error { log?.traceOnly(.taskFailed(code: error.code, reason: error.reasonForTrace)) }
        load = nil
        delay?.end()
        delay = nil
        withdrawChallenge()
        // What is done with a file may wait for the disk.
        let hasFile =
            switch body {
            case .file, .stopped: true
            case .nothing, .whole, .unsent: false
            }
        let usesQueue =
            result.usesQueue || hasFile || !delegates.isEmpty || locked { !$0.resumeDataHandlers.isEmpty }
        deliver(TaskEnding(error: error, body: body), usesQueue: usesQueue)
    }

    /// Has the end delivered after what waits before it: by the delivery that is under way, if one is, so that there is
    /// one end; else on the queue or, for who waits on none, with the loop lent, since the caller's executor and what
    /// is let go of are other people's code and may block.
    func deliver(_ ending: TaskEnding, usesQueue: Bool) {
        // What nobody wants any more is let go of outside of the lock.
        let (mustSchedule, _) = lock.withLock { events.end(ending) }
        guard mustSchedule else { return }
        if usesQueue {
            core.delivery.schedule(self)
        } else if core.loop.isServed {
            core.loop.callOut(self)
        } else {
            WorkWithoutLoop.perform { self.callOut() }
        }
    }

    private var typeName: String { heldTask.map { String(describing: type(of: $0)) } ?? "Task" }

    func shownError(_ error: LoadError, _ resumeData: Data? = nil) -> any Error {
        if case .foreign(let foreign)? = error.cause { return foreign.shown(at: currentRequest?.url) }
        return URLError.make(
            error, url: currentRequest?.url, taskDescription: "\(typeName) <\(identifier)>",
            userInfo: resumeData.map {
                [isUpload ? NSURLSessionUploadTaskResumeData : NSURLSessionDownloadTaskResumeData: $0]
            } ?? [:])
    }

    /// What another task can go on from (RES-2, RES-12, RES-13). Who just cancels wants none, and then the file goes
    /// too.
    private func resumeData(_ ending: TaskEnding, isWanted: Bool) -> Data? {
        guard isWanted || ending.error != .cancelled else { return nil }
        return switch ending.body {
        case .stopped(_, let point?): DownloadResumeData(point).encoded
        case .unsent(let stopped): self.resumeData(stopped)
        default: nil
        }
    }

    // MARK: Events

    /// False when enough waits for the caller.
    @discardableResult
    func enqueue(_ event: TaskEvent, bytes: Int = 0) -> Bool {
        lock.lock()
        let mustSchedule = events.add(event, bytes: bytes)
        let wantsMore = !events.isReadingStopped
        lock.unlock()
        if mustSchedule { core.delivery.schedule(self) }
        return wantsMore
    }

    /// Has the end wait for an answer. False when there is nothing to wait: the end was told, or nobody has resumed the
    /// task.
    func promiseAnswer() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        return values.anyTask != nil && events.promise()
    }

    /// Gives an answer that was promised.
    func keepPromise(_ answer: @escaping @Sendable () -> Void) {
        lock.lock()
        let mustSchedule = events.keepPromise(answer)
        lock.unlock()
        if mustSchedule { core.delivery.schedule(self) }
    }

    func seal() {
        lock.lock()
        events.seal()
        lock.unlock()
    }

    func deliver(_ extent: DeliveryExtent) -> Bool {
        while true {
            lock.lock()
            let (batch, ending) = events.take(extent)
            let session = values.session
            let task = values.anyTask
            lock.unlock()

            if let session, let task {
                for event in batch { call(event, session, task) }
            }
            if let ending {
                finish(ending)
                return false
            }

            lock.lock()
            let (goesOn, mayRead) = events.tookBatch()
            let isEndDue = events.isEndDue
            lock.unlock()
            if mayRead { core.loop.post { self.load?.resumeReading() } }
            guard isEndDue, extent == .sealed else { return goesOn }
        }
    }

    /// The end of a task that uses no queue.
    func callOut() {
        while deliver(.all) {}
    }

    /// Delivers the end, and lets go of everything.
    private func finish(_ ending: TaskEnding) {
        let isResumeDataWanted = locked { !$0.resumeDataHandlers.isEmpty }
        var resumeData = resumeData(ending, isWanted: isResumeDataWanted)
        if case .stopped(let path, _) = ending.body {
            switch resumeData {
            case nil: UnfinishedFiles.shared.remove(path)
            case .some where isResumeDataWanted: UnfinishedFiles.shared.keep(path)
            case let data?: resumeData = data.removing(path)
            }
        }
        let error = isSilent ? nil : ending.error.map { shownError($0, resumeData) }
        let (session, task, resumeDataHandlers) = locked { values in
            values.state = .completed
            values.error = error
            defer { values.resumeDataHandlers = [] }
            return (values.session, values.anyTask ?? newTaskObject(), values.resumeDataHandlers)
        }
        for handler in resumeDataHandlers { handler(resumeData) }
        locked { $0.progress }?.finish(self)
        if case .feed(let feed) = result { feed.finish(error) }
        if let session, !isSilent {
            let metrics = log.flatMap {
                $0.keepsEvents ? URLSessionTaskMetrics($0, created: creationTime, fetches: fetches) : nil
            }
            tellEnd(error, body: ending.body, metrics: metrics, session, task)
        } else if case .file(let path) = ending.body {
            UnfinishedFiles.shared.remove(path)
        }
        // Let go outside the lock: their ends are other people's code.
        let held = locked { [result] values in
            let held = (values.delegate, values.delegateReference, values.session, values.task, task, result)
            values.delegate = nil
            values.delegateReference = nil
            values.session = nil
            // A delegate may still answer whether the response is stored.
            values.knownTask = values.task
            values.task = nil
            return held
        }
        result = .nobody
        core.ended(self)
        _ = held
    }
}
