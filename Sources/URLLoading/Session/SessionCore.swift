internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// The state of a session: its values, tasks, loop, and invalidation.
final class SessionCore: ForkGuarded, @unchecked Sendable {
    // Sendable: `lock` guards the mutable state, and `environment` is confined to the loop, which debug builds check.
    // The lock also separates accesses, so exclusive access to what each task changes is not checked.

    let configuration: SessionValues
    let additionalFields: [(name: String, value: String)]
    /// The protocol classes of the configuration, which precede registered ones.
    private let protocolClasses: [URLProtocol.Type]
    let delivery: DeliveryQueue
    let loop: EventLoop
    /// Logs the tasks, if enabled.
    let trace: SessionTrace?
    /// Identifies the session within the process, in logs.
    let number = SessionCore.count.add(1, ordering: .relaxed).newValue
    private static let count = Atomic(0)
    private let boxedEnvironment: LoopBox<LoadingEnvironment>
    /// The connection of a background session. Nil without a delegate, which such a session needs (BG-3): then nothing
    /// happens.
    let background: BackgroundSession?
    /// Confined to the loop.
    var environment: LoadingEnvironment { boxedEnvironment.value }

    /// Taken with the lock of a task held.
    private let lock = ForkGuardedLock(.middle)
    private var currentDelegate: (any URLSessionDelegate)?
    @exclusivity(unchecked) private var currentDelegateReference: DelegateReference?
    private var label: String?
    private var lastIdentifier = 0
    /// Tasks that were never resumed.
    @exclusivity(unchecked) private var waiting: [Int: WaitingTask] = .withRoom()
    /// The number of tasks that are being created, for which a concurrent invalidation waits.
    @exclusivity(unchecked) private var makingCount = 0
    @exclusivity(unchecked) private var running: [Int: TaskCore] = .withRoom()
    @exclusivity(unchecked) private var phase = Phase.valid
    @exclusivity(unchecked) private var isShared = false
    /// Whether the session was invalidated by `invalidateAndCancel`.
    private var cancelsTasks = false
    /// Whether the service knows that a background session is invalidated.
    private var isKnownToBeInvalid = false
    /// The tasks whose locks are held for a fork.
    private var heldTasks: [TaskCore] = []
    private var heldObjects: [URLSessionTask] = []

    private enum WaitingTask {
        /// Retained, because the program can get it from the session and resume it (T-60).
        case held(URLSessionTask)
        /// Not retained, because the session is invalidated. It can be resumed while the program retains it.
        case known(WeakTask)

        var task: URLSessionTask? {
            switch self {
            case .held(let task): task
            case .known(let known): known.task
            }
        }
    }

    private struct WeakTask {
        weak var task: URLSessionTask?
    }

    private enum Phase {
        case valid
        /// No new tasks. The session is retained for the last delegate callback, after the last task.
        case invalidated(URLSession)
        case gone
    }

    init(_ configuration: SessionValues, delegate: (any URLSessionDelegate)?, queue: OperationQueue?) {
        self.configuration = configuration
        additionalFields = configuration.additionalFields()
        protocolClasses = configuration.protocolClasses?.compactMap { $0 as? URLProtocol.Type } ?? []
        currentDelegate = delegate
        currentDelegateReference = delegate.map { DelegateReference($0) }
        loop = configuration.loop ?? EventLoops.assign()
        trace = SessionTrace.ifWanted(number)
        delivery = DeliveryQueue(loop: loop, operationQueue: queue)
        background = configuration.identifier.flatMap { [loop] in
            delegate == nil ? nil : BackgroundSession($0, configuration, on: loop)
        }
        if background == nil, HTTP3Session.isAvailable { configuration.persistentAlternatives?.prepare() }
        let environment = LoadingEnvironment(
            configuration, transportSecurity: AppTransportSecurity(configuration), on: loop)
        environment.responses = SessionResponses()
        boxedEnvironment = LoopBox(environment, on: loop)
        if background == nil, let cache = configuration.urlCache, type(of: cache) == URLCache.self { cache.prepare() }
        if background == nil, let cookies = configuration.httpCookieStorage, type(of: cookies) == HTTPCookieStorage.self
        {
            cookies.prepare()
        }
        ForkGuards.shared.add(self)
    }

    deinit { ForkGuards.shared.remove(self) }

    // MARK: Forks

    func hold(until deadline: Int64) {
        lock.withLock(until: deadline) {
            heldObjects = waiting.values.compactMap { $0.task }
            heldTasks = Array(running.values)
        }
        heldTasks += heldObjects.compactMap { $0.core }
        // Lock order: task before session.
        for task in heldTasks { task.lock.hold(until: deadline) }
        lock.hold(until: deadline)
        delivery.lock.hold(until: deadline)
    }

    func release(inChild: Bool) -> [AnyObject] {
        delivery.lock.release()
        lock.release()
        for task in heldTasks { task.release(inChild: inChild) }
        defer { (heldTasks, heldObjects) = ([], []) }
        return (heldTasks as [AnyObject]) + (heldObjects as [AnyObject])
    }

    // MARK: The session's values

    var delegate: (any URLSessionDelegate)? { lock.withLock { currentDelegate } }
    var delegateReference: DelegateReference? { lock.withLock { currentDelegateReference } }

    /// Whether there are custom protocol classes.
    @inline(__always)
    var hasProtocols: Bool { background == nil && hasAnyProtocols }

    @inline(__always)
    private var hasAnyProtocols: Bool { !protocolClasses.isEmpty || hasRegisteredProtocols }

    @inline(__always)
    private var hasRegisteredProtocols: Bool {
        !ProtocolRegistry.shared.isEmpty && configuration.usesRegisteredProtocols
    }

    /// The custom protocol classes in order.
    var allProtocolClasses: [URLProtocol.Type] {
        hasRegisteredProtocols ? protocolClasses + ProtocolRegistry.shared.classes : protocolClasses
    }

    var sessionDescription: String? {
        get { lock.withLock { label } }
        set { lock.withLock { label = newValue } }
    }

    var urlCache: URLCache? { lock.withLock { isShared } ? .shared : configuration.urlCache }

    // MARK: Tasks

    func dataTask(
        _ session: URLSession, _ request: URLRequest, _ result: TaskResult, delegate: (any URLSessionTaskDelegate)?
    ) -> URLSessionDataTask? {
        makeTask(session, .data, request, request, result, delegate: delegate) { URLSessionDataTask(core: $0) }
    }

    func downloadTask(
        _ session: URLSession, _ request: URLRequest, _ result: TaskResult, delegate: (any URLSessionTaskDelegate)?
    ) -> URLSessionDownloadTask? {
        DownloadFolder.clean()
        return makeTask(session, .download(nil), request, request, result, delegate: delegate) {
            URLSessionDownloadTask(core: $0)
        }
    }

    /// A download task that resumes an earlier one. Invalid data creates a task that fails with −1002 (RES-8); without
    /// its file the download starts over.
    func downloadTask(
        _ session: URLSession, resuming data: Data, _ result: TaskResult, delegate: (any URLSessionTaskDelegate)?
    ) -> URLSessionDownloadTask? {
        let known = DownloadResumeData(data)
        DownloadResumeData.take(data)
        DownloadFolder.clean()
        let requests = known?.requests ?? (.withoutURL, .withoutURL)
        return makeTask(
            session, .download(known?.stopped(in: downloadFolder) ?? known?.stopped(in: ResumableFiles.folder)),
            requests.original, requests.current, result,
            delegate: delegate
        ) { URLSessionDownloadTask(core: $0) }
    }

    /// A download task that takes over the load of a data task (T-44), also in an invalidated session.
    func downloadTask(_ session: URLSession, takingOver task: TaskCore) -> URLSessionDownloadTask {
        let core = replacement(session, of: task, kind: .download(nil))
        let download = URLSessionDownloadTask(core: core)
        core.prepare(toReplace: task, as: download)
        return download
    }

    /// The core of a task that replaces another one, with the same request and delegate.
    func replacement(_ session: URLSession, of task: TaskCore, kind: TaskKind) -> TaskCore {
        let identifier = lock.withLock {
            lastIdentifier += 1
            return lastIdentifier
        }
        return TaskCore(
            of: session, identifier: identifier, kind: kind, request: task.originalRequest,
            current: task.currentRequest ?? task.originalRequest, result: .delegate, delegate: task.taskDelegate)
    }

    /// Nil in an invalidated session.
    func makeTask<Task: URLSessionTask>(
        _ session: URLSession, _ kind: TaskKind, _ request: URLRequest, _ current: URLRequest, _ result: TaskResult,
        delegate: (any URLSessionTaskDelegate)?, _ make: (TaskCore) -> Task
    ) -> Task? {
        lock.lock()
        guard case .valid = phase else {
            lock.unlock()
            return nil
        }
        if configuration.identifier != nil { checkBackground(kind, result, hasDelegate: currentDelegate != nil) }
        if let background {
            lastIdentifier = background.commands.newIdentifier()
        } else {
            lastIdentifier += 1
        }
        let identifier = lastIdentifier
        makingCount += 1
        lock.unlock()
        let core = TaskCore(
            of: session, identifier: identifier, kind: kind, request: request, current: current, result: result,
            delegate: delegate)
        let load = background.map { add(core, to: $0) }
        let task = make(core)
        lock.lock()
        makingCount -= 1
        if case .valid = phase {
            waiting[identifier] = .held(task)
        } else {
            waiting[identifier] = .known(WeakTask(task: task))
        }
        let mustCancel = cancelsTasks
        lock.unlock()
        // The service may refuse the task at once, and its end needs the public object.
        load?.create()
        core.announce(task, of: session)
        if mustCancel { task.cancel() }
        return task
    }

    var outstandingTasks: [URLSessionTask] {
        let (waiting, running) = lock.withLock { (self.waiting, self.running) }
        // Each identifier is read once: that takes a lock.
        var numbered: [(identifier: Int, task: URLSessionTask)] = []
        for task in waiting.values.lazy.compactMap(\.task) {
            if let core = task.core, core.isOutstanding { numbered.append((core.identifier, task)) }
        }
        for core in running.values {
            if let task = core.heldTask, core.isOutstanding { numbered.append((core.identifier, task)) }
        }
        return numbered.sorted { $0.identifier < $1.identifier }.map(\.task)
    }

    /// The tasks for `getAllTasks`: none after the session has cancelled all tasks.
    var listedTasks: [URLSessionTask] { lock.withLock { cancelsTasks } ? [] : outstandingTasks }

    /// Retains a task that was resumed for the first time, or that has an end to deliver.
    func hold(_ task: TaskCore) {
        lock.lock()
        // Released after the lock, because the deinit of the public task may run the program's code.
        let before = waiting.removeValue(forKey: task.number)
        running[task.number] = task
        lock.unlock()
        _ = before
    }

    /// Called when a task has delivered its end.
    func ended(_ task: TaskCore) {
        lock.lock()
        running[task.number] = nil
        lock.unlock()
        finishIfIdle()
    }

    // MARK: Invalidation

    /// Makes this a shared session: it cannot be invalidated, and always uses the current `URLCache.shared` (C-35).
    func share() {
        lock.withLock { isShared = true }
    }

    func invalidate(_ session: URLSession, cancelsTasks: Bool) {
        lock.lock()
        if isShared { return lock.unlock() }
        if case .valid = phase { phase = .invalidated(session) }
        if cancelsTasks { self.cancelsTasks = true }
        let (waiting, running) = (self.waiting, self.running)
        for case (let identifier, .held(let task)) in waiting {
            self.waiting[identifier] = .known(WeakTask(task: task))
        }
        lock.unlock()
        if cancelsTasks {
            for task in outstandingTasks { task.cancel() }
        } else if let background {
            loop.post { background.leaveTasks() }
        } else {
            for task in running.values { task.releaseIfSuspended() }
        }
        finishIfIdle()
        // A task without other references cannot be resumed, and is cancelled when it is released here.
        withExtendedLifetime(waiting) {}
    }

    /// Whether the session was invalidated or has ended.
    var isInvalidated: Bool {
        lock.lock()
        defer { lock.unlock() }
        if case .valid = phase { return false }
        return true
    }

    /// After the last task, calls the delegate's `didBecomeInvalidWithError` and releases the delegate (S-84).
    private func finishIfIdle() {
        lock.lock()
        guard case .invalidated(let session) = phase, running.isEmpty, waiting.isEmpty, makingCount == 0
        else { return lock.unlock() }
        if let background, !isKnownToBeInvalid {
            let cancelsTasks = cancelsTasks
            lock.unlock()
            return loop.post {
                background.finish(cancelsTasks: cancelsTasks) { [self] in
                    lock.withLock { isKnownToBeInvalid = true }
                    finishIfIdle()
                }
            }
        }
        phase = .gone
        let reference = currentDelegateReference
        lock.unlock()
        closeConnections()
        delivery.schedule { [self] in
            _ = reference?.urlSession(session, didBecomeInvalidWithError: nil)
            lock.lock()
            let delegate = currentDelegate
            currentDelegate = nil
            currentDelegateReference = nil
            lock.unlock()
            // Released outside the lock, because its deinit may run the program's code.
            _ = delegate
        }
    }

    /// Called when the public session object is released. No task can be created any more, so the connections are
    /// closed.
    func publicObjectReleased() {
        lock.lock()
        let isOver = if case .gone = phase { true } else { false }
        phase = .gone
        lock.unlock()
        if !isOver { closeConnections() }
    }

    private func closeConnections() {
        loop.post { [boxedEnvironment, background] in
            background?.end()
            boxedEnvironment.value.pool.shutDown()
        }
    }

    /// The public object of a task that was never resumed.
    func waitingTask(_ number: Int) -> URLSessionTask? { lock.withLock { waiting[number]?.task } }

    /// Retains a task that the background service has. False if the session has left its tasks to the service.
    func keep(_ task: URLSessionTask, _ core: TaskCore, isSuspended: Bool) -> Bool {
        lock.withLock {
            switch phase {
            case .valid: break
            case .invalidated where cancelsTasks: break
            case .invalidated, .gone: return false
            }
            if isSuspended { waiting[core.number] = .held(task) } else { running[core.number] = core }
            return true
        }
    }

    /// Whether all tasks are to be cancelled.
    var isCancelling: Bool { lock.withLock { cancelsTasks } }

    /// Calls the body when the tasks of the session are known: those of a background session are listed by the service.
    func whenTasksAreKnown(_ body: @escaping @Sendable () -> Void) {
        guard let background, loop.isServed else { return body() }
        loop.post { background.whenTasksAreKnown(body) }
    }

    /// Removes the credentials of the session and of its storage (S-89).
    func forgetCredentials() {
        loop.post { [boxedEnvironment] in boxedEnvironment.value.authentication.forgetAll() }
        guard let storage = configuration.urlCredentialStorage else { return }
        if type(of: storage) == URLCredentialStorage.self { return storage.removeAll() }
        let options = [NSURLCredentialStorageRemoveSynchronizableCredentials: true]
        for (space, credentials) in storage.allCredentials {
            for credential in credentials.values { storage.remove(credential, for: space, options: options) }
        }
    }

    /// Calls `done` on any thread when the stores have written their changes to disk (S-88).
    func flushStores(_ done: @escaping @Sendable () -> Void) {
        let stores: [(any FlushedStore)?] = [
            configuration.httpCookieStorage, configuration.urlCredentialStorage, urlCache,
            configuration.hasPersistentHosts ? HSTSCopy.shared : nil, configuration.persistentAlternatives,
        ]
        let flushing = stores.compactMap { $0 }.flush()
        // Without persistent stores there is nothing to wait for.
        if flushing.wait(timeout: .now()) == .success { return done() }
        flushing.notify(queue: .global(), execute: done)
    }

    func renewConnections() {
        loop.post { [boxedEnvironment] in
            boxedEnvironment.value.renewConnections()
            ProxyResolver.shared.forgetAnswers()
        }
    }
}
