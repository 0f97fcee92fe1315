internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// What stands behind a task: its state, and the lane on which everything it has to say reaches the caller.
///
/// The engine's loop puts events in; one delivery at a time takes them out and makes the calls. So the calls of one
/// task are strictly in order on whatever queue (S-76), many events cost one hop, and a caller who does not keep up
/// stops the reading once `highWater` bytes wait (T-65).
final class TaskCore: LoadClient, Delivery, Callout, @unchecked Sendable {
    // Sendable because what is mutable is atomic, guarded by `lock`, or marked as confined to the loop.

    private let core: SessionCore
    let identifier: Int
    let originalRequest: URLRequest
    /// Handed from the caller to the loop to the one who delivers the end, and let go of then: what a handler holds
    /// may hold the task.
    private(set) var result: TaskResult
    private let kind: TaskKind
    private let isForDelegate: Bool

    let bytesSent = Atomic<Int64>(0)
    let bytesReceived = Atomic<Int64>(0)
    let bytesExpectedToSend = Atomic<Int64>(0)
    let bytesExpectedToReceive = Atomic<Int64>(-1)

    // MARK: Guarded by `lock`

    let lock = Lock()
    private var values = Values()
    private var events: [TaskEvent] = []
    private var ending: Ending?
    private var waitingBytes = 0
    private var isScheduled = false
    private var isReadingStopped = false
    /// Another task tells the rest.
    private var isSilent = false

    private struct Values {
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
        /// The task, from `resume` to the end (T-9).
        var task: URLSessionTask?
    }

    private struct Ending {
        var error: LoadError?
        var body: LoadedBody
    }

    // MARK: Confined to the loop

    private var load: Load?
    private var log: EventLog?
    /// What was fetched and what came of it, one more for each redirect, as long as there is a log to go with it.
    private var fetches: [URLSessionTaskMetrics.Fetch] = []
    private var hasEnded = false
    /// Made to take over another's load, which it has not got yet.
    private var isAwaitingLoad = false
    /// Fields of the configuration that a redirect has taken off.
    private var droppedFields: [String] = []
    private let creationTime: Int64

    /// Bytes that may wait for the caller before reading stops; it goes on when they are all taken.
    private static let highWater = 512 * 1024

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
        bytesExpectedToSend.store(request.knownBodyLength, ordering: .relaxed)
    }

    /// The task's own delegate, then the session's.
    var delegates: TaskDelegates {
        TaskDelegates(own: locked { $0.delegateReference }, session: core.delegateReference)
    }

    // MARK: From the caller

    /// Changes or reads what the lock guards.
    @inline(__always)
    private func locked<Result>(_ body: (inout Values) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&values)
    }

    /// The task while it is held: from `resume` or `cancel` to the end.
    var heldTask: URLSessionTask? { locked { $0.task } }
    var currentRequest: URLRequest? { locked { $0.currentRequest } }
    var response: URLResponse? { locked { $0.response } }
    var state: URLSessionTask.State { locked { $0.state } }
    var error: (any Error)? { locked { $0.error } }

    var taskDelegate: (any URLSessionTaskDelegate)? {
        get { locked { $0.delegate } }
        set {
            let reference = newValue.map { DelegateReference($0) }
            // The one before is let go of outside the lock: its deinit is the caller's code.
            _ = locked { values -> (any URLSessionTaskDelegate, DelegateReference?)? in
                guard !values.hasStarted, values.state == .suspended else { return nil }
                let before = values.delegate.map { ($0, values.delegateReference) }
                values.delegate = newValue
                values.delegateReference = reference
                return before
            }
        }
    }

    var earliestBeginDate: Date? {
        get { locked { $0.earliestBeginDate } }
        set { locked { $0.earliestBeginDate = newValue } }
    }

    var expectsToSend: Int64 {
        get { locked { $0.expectsToSend } }
        set { locked { $0.expectsToSend = newValue } }
    }

    var expectsToReceive: Int64 {
        get { locked { $0.expectsToReceive } }
        set { locked { $0.expectsToReceive = newValue } }
    }

    var taskDescription: String? {
        get { locked { $0.taskDescription } }
        set { locked { $0.taskDescription = newValue } }
    }

    var priority: Float {
        get { locked { $0.priority } }
        set {
            let hasStarted = locked {
                $0.priority = newValue.isNaN ? URLSessionTask.defaultPriority : min(1, max(0, newValue))
                return $0.hasStarted
            }
            // Which of two threads posts first says nothing about what was set last.
            if hasStarted { core.loop.post { self.load?.setPriority(self.priority) } }
        }
    }

    var prefersIncrementalDelivery: Bool {
        get { locked { $0.prefersIncrementalDelivery } }
        set { locked { if !$0.hasStarted, isForDelegate, kind.isData { $0.prefersIncrementalDelivery = newValue } } }
    }

    func progress(of task: URLSessionTask) -> Progress {
        if let known = locked({ $0.progress }) { return known.progress }
        let new = TaskProgress(of: task)
        return locked { values in
            if let known = values.progress { return known.progress }
            values.progress = new
            return new.progress
        }
    }

    func resume(_ task: URLSessionTask) {
        enum Step { case nothing, start, goOn }
        let step: Step = locked { values in
            guard values.state == .suspended, values.suspensionCount > 0 else { return .nothing }
            values.suspensionCount -= 1
            guard values.suspensionCount == 0 else { return .nothing }
            values.state = .running
            if values.hasStarted { return .goOn }
            values.hasStarted = true
            values.task = task
            // Within the lock, so that it cannot come after the end that a cancel on another thread brings about.
            core.hold(self)
            return .start
        }
        switch step {
        case .nothing: break
        case .start: core.loop.post { self.begin() }
        case .goOn: core.loop.post { self.heedState() }
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
        if mustStop { core.loop.post { self.heedState() } }
    }

    /// Brings the load in line with the state. Which of two threads posts first says nothing about what they set last.
    private func heedState() {
        if state == .suspended { load?.suspend() } else { load?.resume() }
    }

    /// Ends the task; one that never ran completes too (T-6), and `task` has to be there for it.
    func cancel(_ task: URLSessionTask?) {
        let isFirst: Bool = locked { values in
            guard values.state == .running || values.state == .suspended else { return false }
            values.state = .canceling
            if values.task == nil { values.task = task }
            // Within the lock, so that it cannot come after an end that is under way.
            core.hold(self)
            return true
        }
        guard isFirst else { return }
        core.loop.post {
            if let load = self.load {
                load.cancel(.cancelled)
            } else if !self.isAwaitingLoad {
                self.end(.cancelled, body: self.unstartedBody)
            }
        }
    }

    /// What a task has that never ran.
    private var unstartedBody: LoadedBody {
        guard case .download(let stopped?) = kind else { return .nothing }
        return .stopped(path: stopped.path, stopped.point)
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

    /// The caller's task object is gone. A task that never ran goes with it.
    func faceIsGone() {
        guard locked({ !$0.hasStarted && $0.state == .suspended }) else { return }
        core.forget(identifier)
    }

    /// The reader of a feed has emptied it.
    func readerTookAll() { core.loop.post { self.load?.resumeReading() } }

    // MARK: On the loop

    private func begin() {
        guard !hasEnded, load == nil else { return }
        if wantsMetrics {
            log = EventLog()
            fetches = [URLSessionTaskMetrics.Fetch(request: originalRequest)]
        }
        let request: LoadRequest
        do throws(LoadError) {
            let current = currentRequest ?? originalRequest
            droppedFields = fieldsDropped(onTheWayTo: current)
            request = try LoadRequest(current, of: core, without: droppedFields, priority: priority)
        } catch {
            return end(error, body: .nothing)
        }
        let load = Load(request, in: core.environment, destination: destination, log: log, client: self)
        self.load = load
        if state == .suspended { load.suspend() }
        load.start()
    }

    /// A download that goes on begins where a redirect once led: what that took off stays off.
    private func fieldsDropped(onTheWayTo current: URLRequest) -> [String] {
        guard !kind.isData, let from = originalRequest.url, let to = current.url, from != to else { return [] }
        var fields = HTTPFields()
        for (name, value) in core.additionalFields { fields.append(name, value) }
        let origin = RedirectedFrom(method: "GET", url: from.absoluteString, fields: fields, hasBody: false)
        guard
            case .follow(let redirected) = RedirectRules.decide(
                status: 307, location: to.absoluteString, from: origin, count: 0)
        else { return [] }
        return redirected.droppedFields
    }

    private var destination: BodyDestination {
        switch (kind, result) {
        case (.download(let stopped?), _): .stopped(stopped)
        case (.download(nil), _): .file(.newFile(inFolder: DownloadFolder.path))
        case (.data, .delegate): prefersIncrementalDelivery ? .pieces : .whole
        case (.data, .handler), (.data, .continuation): .whole
        case (.data, _): .pieces
        }
    }

    func loadIsWaitingForConnectivity(_ load: Load) { enqueue(.waitingForConnectivity) }

    func load(_ load: Load, didReceiveInformational head: HTTP1ResponseHead) {
        guard let url = url(of: load), wantsInformationalResponses else { return }
        enqueue(.informationalResponse(HTTPURLResponse(url, head, expectedLength: -1)))
    }

    func load(_ load: Load, didReceive response: LoadResponse) -> LoadAnswer {
        guard let url = url(of: load) else { return .now }
        let shown = HTTPURLResponse(url, response.head, expectedLength: response.expectedLength)
        locked { $0.response = shown }
        note(shown)
        bytesExpectedToReceive.store(response.expectedLength, ordering: .relaxed)
        if let offset = response.resumedOffset { noteResumption(at: offset, rest: response.expectedLength) }
        updateProgress()
        switch result {
        case .feed(let feed):
            feed.receive(shown)
            return .now
        case .handler, .fileHandler, .continuation, .fileContinuation, .nobody:
            return .now
        case .delegate:
            guard kind.isData, wantsResponse else { return .now }
            enqueue(.response(shown))
            return .later
        }
    }

    func load(_ load: Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> LoadAnswer {
        guard let url = url(of: load), let next = currentRequest.flatMap({ URLRequest(proposed, after: $0) }) else {
            return .now
        }
        let shown = HTTPURLResponse(url, response.head, expectedLength: response.expectedLength)
        note(shown)
        droppedFields = core.additionalFields.map(\.name).filter { !proposed.fields.contains($0) }
        guard wantsRedirects else {
            follow(next)
            return .now
        }
        enqueue(.redirect(shown, proposed: next))
        return .later
    }

    func load(_ load: Load, didReceive data: Data) -> Bool {
        bytesReceived.wrappingAdd(Int64(data.count), ordering: .relaxed)
        updateProgress()
        if case .feed(let feed) = result { return feed.append(data) }
        return enqueue(.data(data), bytes: data.count)
    }

    func load(_ load: Load, hasCollected total: Int64) {
        bytesReceived.store(total, ordering: .relaxed)
        updateProgress()
    }

    /// The totals are those of the whole (RES-11).
    private func noteResumption(at offset: Int64, rest: Int64) {
        let expected = rest >= 0 ? offset &+ rest : NSURLSessionTransferSizeUnknown
        bytesReceived.store(offset, ordering: .relaxed)
        bytesExpectedToReceive.store(expected, ordering: .relaxed)
        if isForDelegate { enqueue(.resumed(offset: offset, expected: expected)) }
    }

    func load(_ load: Load, hasWritten count: Int64) {
        let total = bytesReceived.wrappingAdd(count, ordering: .relaxed).newValue
        updateProgress()
        guard isForDelegate, wantsWrittenData else { return }
        enqueue(
            .wroteData(count: count, total: total, expected: bytesExpectedToReceive.load(ordering: .relaxed)))
    }

    private func updateProgress() { locked { $0.progress }?.update(self) }

    func load(_ load: Load, didSendBody bytes: Int64, total: Int64) {
        bytesSent.store(total, ordering: .relaxed)
        updateProgress()
        guard wantsSentBody else { return }
        let expected = bytesExpectedToSend.load(ordering: .relaxed)
        enqueue(.sentBody(count: bytes, total: total, expected: expected))
    }

    func load(_ load: Load, didEndWith error: LoadError?, body: LoadedBody) {
        end(error, body: body)
    }

    /// The delegate's verdict on the response.
    func answer(_ disposition: URLSession.ResponseDisposition) {
        switch disposition {
        case .allow: core.loop.post { self.load?.answerResponse() }
        case .becomeDownload: enqueue(.becomeDownload)
        case .cancel, .becomeStream: cancel(nil)
        }
    }

    // MARK: Becoming a download

    /// Makes this the task that goes on with `other`, from the response on (T-44).
    func prepare(toReplace other: TaskCore, as task: URLSessionTask) {
        let response = other.response
        isAwaitingLoad = true
        locked { values in
            values.suspensionCount = 0
            values.hasStarted = true
            values.state = .running
            values.response = response
            values.task = task
            core.hold(self)
        }
    }

    /// Takes the load over; from now on the other task says no more.
    func replace(_ other: TaskCore) {
        core.loop.post { [self] in
            isAwaitingLoad = false
            // The other may have been cancelled meanwhile.
            guard let load = other.load, !other.hasEnded else { return end(.cancelled, body: .nothing) }
            self.load = load
            (log, fetches, droppedFields) = (other.log, other.fetches, other.droppedFields)
            bytesExpectedToReceive.store(
                other.bytesExpectedToReceive.load(ordering: .relaxed), ordering: .relaxed)
            load.handOver(to: self)
            other.load = nil
            other.fallSilent()
            switch state {
            case .canceling: return load.cancel(.cancelled)
            case .suspended: load.suspend()
            // The other may have been suspended, and nobody can resume it any more.
            case .running: load.resume()
            case .completed: break
            }
            load.answerResponse(destination)
        }
    }

    /// Ends without a word.
    private func fallSilent() {
        hasEnded = true
        lock.withLock { isSilent = true }
        deliver(Ending(error: nil, body: .nothing), usesQueue: true)
    }

    /// The delegate's verdict on a redirect.
    func answerRedirect(_ request: URLRequest?) {
        guard let request else { return core.loop.post { self.load?.answerRedirect(nil) } }
        core.loop.post { [self] in
            guard let load else { return }
            do throws(LoadError) {
                let next = try LoadRequest(request, of: core, without: droppedFields, priority: priority)
                follow(request)
                load.answerRedirect(next)
            } catch {
                load.cancel(error.at(request.url?.absoluteString))
            }
        }
    }

    private func note(_ response: URLResponse) {
        if !fetches.isEmpty { fetches[fetches.count - 1].response = response }
    }

    private func follow(_ request: URLRequest) {
        locked { $0.currentRequest = request }
        let length = request.knownBodyLength
        if length != 0 {
            // A body starts anew; without one, what was sent before is what there is to tell.
            bytesExpectedToSend.store(length, ordering: .relaxed)
            bytesSent.store(0, ordering: .relaxed)
        }
        if log != nil { fetches.append(URLSessionTaskMetrics.Fetch(request: request)) }
    }

    private func url(of load: Load) -> URL? { locked { $0.currentRequest?.url } }

    private func end(_ error: LoadError?, body: LoadedBody) {
        guard !hasEnded else { return }
        hasEnded = true
        load = nil
        // What is done with a file may wait for the disk.
        let hasFile =
            switch body {
            case .file, .stopped: true
            case .nothing, .whole: false
            }
        let usesQueue =
            result.usesQueue || hasFile || !delegates.areNone || locked { !$0.resumeDataHandlers.isEmpty }
        deliver(Ending(error: error, body: body), usesQueue: usesQueue)
    }

    /// Has the end delivered after what waits before it: by the delivery that is under way, if one is, so that there is
    /// one end; else on the queue or, for who waits on none, with the loop lent, since the caller's executor and what is
    /// let go of are other people's code and may block.
    private func deliver(_ ending: Ending, usesQueue: Bool) {
        lock.lock()
        // Who cancels wants nothing more of what still waits for him.
        if ending.error == .cancelled { events = [] }
        self.ending = ending
        let mustSchedule = !isScheduled
        isScheduled = true
        lock.unlock()
        guard mustSchedule else { return }
        if usesQueue { core.delivery.schedule(self) } else { core.loop.callOut(self) }
    }

    private var typeName: String { heldTask.map { String(describing: type(of: $0)) } ?? "Task" }

    private func urlError(_ error: LoadError, _ resumeData: Data?) -> URLError {
        URLError.make(
            error, url: currentRequest?.url, taskDescription: "\(typeName) <\(identifier)>",
            userInfo: resumeData.map { [NSURLSessionDownloadTaskResumeData: $0] } ?? [:])
    }

    /// What another download can go on from (RES-2, RES-12). Who just cancels wants none, and then the file goes too.
    private func resumeData(_ ending: Ending, isWanted: Bool) -> Data? {
        guard case .stopped(_, let point?) = ending.body, isWanted || ending.error != .cancelled else { return nil }
        return DownloadResumeData(point).encoded
    }

    // MARK: The lane

    /// False when enough waits for the caller.
    @discardableResult
    func enqueue(_ event: TaskEvent, bytes: Int = 0) -> Bool {
        lock.lock()
        if events.isEmpty || !events[events.count - 1].absorb(event) { events.append(event) }
        waitingBytes += bytes
        if waitingBytes >= Self.highWater { isReadingStopped = true }
        let wantsMore = !isReadingStopped
        let mustSchedule = !isScheduled
        isScheduled = true
        lock.unlock()
        if mustSchedule { core.delivery.schedule(self) }
        return wantsMore
    }

    func deliver() -> Bool {
        lock.lock()
        let batch = events
        events = []
        let ending = batch.isEmpty ? self.ending : nil
        let session = values.session
        let task = values.task
        lock.unlock()

        if let session, let task {
            for event in batch { call(event, session, task) }
        }
        if let ending {
            finish(ending)
            return false
        }

        lock.lock()
        let goesOn = !events.isEmpty || self.ending != nil
        if !goesOn { isScheduled = false }
        waitingBytes = 0
        for event in events { if case .data(let data) = event { waitingBytes += data.count } }
        let mayRead = isReadingStopped && waitingBytes < Self.highWater / 2
        if mayRead { isReadingStopped = false }
        lock.unlock()
        if mayRead { core.loop.post { self.load?.resumeReading() } }
        return goesOn
    }

    /// The end of a task that uses no queue.
    func callOut() {
        if let ending = lock.withLock({ ending }) { finish(ending) }
    }

    /// Delivers the end, and lets go of everything.
    private func finish(_ ending: Ending) {
        let isResumeDataWanted = locked { !$0.resumeDataHandlers.isEmpty }
        let resumeData = resumeData(ending, isWanted: isResumeDataWanted)
        let error = ending.error.map { urlError($0, resumeData) }
        let (session, task, resumeDataHandlers) = locked { values in
            values.state = .completed
            values.error = error
            defer { values.resumeDataHandlers = [] }
            return (values.session, values.task, values.resumeDataHandlers)
        }
        if case .stopped(let path, _) = ending.body, resumeData == nil { unlink(path) }
        for handler in resumeDataHandlers { handler(resumeData) }
        locked { $0.progress }?.finish(self)
        if case .feed(let feed) = result { feed.finish(error) }
        if let session, let task, !isSilent {
            let metrics = log.map {
                URLSessionTaskMetrics($0, created: creationTime, fetches: fetches)
            }
            tellEnd(error, body: ending.body, metrics: metrics, session, task)
        }
        // Let go outside the lock: their ends are other people's code.
        let held = locked { [result] values in
            let held = (values.delegate, values.delegateReference, values.session, values.task, result)
            values.delegate = nil
            values.delegateReference = nil
            values.session = nil
            values.task = nil
            return held
        }
        result = .nobody
        core.ended(self)
        _ = held
    }
}
