internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// Delivers a task's events and its end.
extension TaskCore {
    /// False if too many bytes are undelivered.
    @discardableResult
    func enqueue(_ event: consuming TaskEvent, bytes: Int = 0) -> Bool {
        lock.lock()
        let mustSchedule = events.add(event, bytes: bytes)
        let wantsMore = !events.isReadingStopped
        lock.unlock()
        if mustSchedule { delivery.schedule(self) }
        return wantsMore
    }

    /// Makes the end wait for a handler's call. False if the end was delivered, or the task was never resumed.
    func promiseAnswer() -> Bool {
        // The last reference to the task may be released here, and its end acquires the lock.
        lock.lock()
        let task = values.task ?? values.knownTask
        let isPromised = task != nil && events.promise()
        lock.unlock()
        return withExtendedLifetime(task) { isPromised }
    }

    /// Makes the promised call of a handler.
    func keepPromise(_ answer: consuming TaskAnswer) {
        lock.lock()
        let mustSchedule = events.keepPromise(answer)
        lock.unlock()
        if mustSchedule { delivery.schedule(self) }
    }

    /// Delivers an answer, on any thread. One to a handler that was not promised comes without ordering.
    func deliver(_ answer: consuming TaskAnswer, to caller: TaskCaller, isPromised: Bool) {
        switch caller {
        case .continuation: resumeCaller(answer, isPromised: isPromised)
        case .handler where isPromised: keepPromise(answer)
        case .handler:
            let unordered = consume answer
            delivery.schedule { unordered.deliver() }
        }
    }

    /// Resumes the caller of an `async` method, which the program awaits on an executor of its own and not on the
    /// delegate queue. If there are undelivered events, they come first. If nothing was promised, because the task was
    /// not resumed at the time, it is promised now, unless the task has ended.
    func resumeCaller(_ answer: TaskAnswer, isPromised: Bool) {
        guard isPromised || promiseAnswer() else { return callWithoutQueue(CalledOut { answer.deliver() }) }
        lock.lock()
        let mustNotify = events.addResumption(answer)
        lock.unlock()
        guard let mustNotify else { return keepPromise(answer) }
        if mustNotify { callWithoutQueue(CallerResumption(task: self)) }
    }

    /// Makes a call with the loop lent or given back, because the caller's executor and deinits are the program's code
    /// and may block.
    ///
    /// - Parameter usesFiles: Whether the call waits for the disk too. A thread of the caller, which has borrowed the
    ///   loop, does not make it then.
    private func callWithoutQueue(_ callout: any Callout, usesFiles: Bool = false) {
        guard loop.isServed else { return WorkWithoutLoop.perform { callout.callOut() } }
        loop.callOut(callout, isResumption: !usesFiles)
    }

    fileprivate func resumeCallers() {
        let answers = lock.withLock { events.takeResumptions() }
        for answer in answers { answer.deliver() }
        if lock.withLock({ events.resumed(answers.count) }) { delivery.schedule(self) }
    }

    func seal() {
        lock.lock()
        events.seal()
        lock.unlock()
    }

    func deliver(_ extent: DeliveryExtent) -> Bool {
        while true {
            lock.lock()
            var batch = events.take(extent)
            lock.unlock()

            if batch.isEmpty, let ending = lock.withLock({ events.takeEnding() }) {
                finish(ending)
                return false
            }

            // Taken out, because a copy of an event retains all that it has.
            if batch.count > 1 { batch.reverse() }
            var recipients: (session: URLSession, task: URLSessionTask)?
            while let event = batch.popLast() {
                if event.isAnswer {
                    event.deliverAnswer()
                } else {
                    // The same for all of a batch, in which a callback may suspend the task.
                    if recipients == nil { recipients = self.recipients }
                    if let (session, task) = recipients { call(event, session, task) }
                }
            }
            lock.lock()
            let (hasMore, mayRead) = events.tookBatch(consume batch)
            let isEndDue = events.isEndDue
            lock.unlock()
            if mayRead { loop.post { self.load?.resumeReading() } }
            guard isEndDue, extent == .sealed else { return hasMore }
        }
    }

    /// The end of a task without queue.
    func callOut() {
        while deliver(.all) {}
    }

    /// The reader of a feed needs more data.
    func readerTookAll() { loop.post { self.load?.resumeReading() } }

    func end(_ error: LoadError?, body: LoadedBody) {
        guard !hasEnded else { return }
        let failure = failure(error, isCancelled: error != nil && state == .canceling)
        refuseEarlyOperations(failure ?? .streamIsClosed)
        stopResolving()
        endWebSocket(failure)
        hasEnded = true
        // A task that never ran has metrics too (T-39, MET-16), and is in the log.
        if log == nil {
            makeLog()
            log?.record(.ended, at: EventLog.now)
        }
        endError = failure
        log?.traceOnly(error.map { .taskFailed(code: $0.code, reason: $0.reasonForTrace) } ?? .taskEnded)
        load = nil
        withdrawChallenge()
        let usesQueue =
            result.usesQueue || wantsMetrics || locked { $0.resumeDataHandlers?.isEmpty == false }
        deliver(TaskEnding(error: error, body: body), usesQueue: usesQueue)
    }

    /// Schedules the end after undelivered events: in the current delivery if there is one; otherwise on the queue, or,
    /// without a queue, with the loop lent.
    func deliver(_ ending: TaskEnding, usesQueue: Bool) {
        let usesFiles =
            switch ending.body {
            case .file, .stopped: true
            case .nothing, .whole, .unsent: false
            }
        // Dropped events are released outside the lock.
        let (mustSchedule, _) = lock.withLock { events.end(ending) }
        guard mustSchedule else { return }
        if usesQueue { delivery.schedule(self) } else { callWithoutQueue(self, usesFiles: usesFiles) }
    }

    private var typeName: String { heldTask.map { String(describing: type(of: $0)) } ?? "Task" }

    func shownError(_ error: LoadError, _ resumeData: Data? = nil) -> any Error {
        if case .foreign(let foreign)? = error.cause { return foreign.shown(at: currentRequest?.url) }
        if kind.isWebSocket, let posix = error.webSocketError(url: currentRequest?.url) { return posix }
        return URLError.make(
            error, url: currentRequest?.url, taskDescription: "\(typeName) <\(identifier)>",
            userInfo: resumeData.map {
                [isUpload ? NSURLSessionUploadTaskResumeData : NSURLSessionDownloadTaskResumeData: $0]
            } ?? [:])
    }

    /// Resume data for the error (RES-2, RES-12, RES-13). None after a plain `cancel()`, which also removes the file.
    private func resumeData(_ body: LoadedBody, _ failure: LoadError?, isWanted: Bool) -> Data? {
        // The body first: most tasks have nothing to resume, and the comparison copies the error.
        switch body {
        case .stopped(_, let point?):
            guard isWanted || failure != .cancelled else { return nil }
            return DownloadResumeData(point, of: currentRequest ?? originalRequest).encoded
        case .unsent(let stopped): return isWanted || failure != .cancelled ? resumeData(stopped) : nil
        default: return nil
        }
    }

    /// A program that retries after failures must not retry what it has cancelled, or resume twice what it has paused:
    /// a failure is no longer reported after `cancel` (T-5, RES-2, RES-9).
    private func failure(_ error: LoadError?, isCancelled: Bool) -> LoadError? {
        guard isCancelled, let error, error.code != LoadError.cancelled.code else { return error }
        return .cancelled
    }

    /// Whether the task was created with resume data of that partial file.
    private func wasCreated(with path: String) -> Bool {
        if case .download(let before?) = kind { before.path == path } else { false }
    }

    /// Delivers the end, and releases everything.
    private func finish(_ ending: TaskEnding) {
        // From here on, `cancel` has no effect.
        let (isCancelled, hasStarted, resumeDataHandlers) = locked { values in
            defer { values.resumeDataHandlers = nil }
            return (values.state == .canceling, values.hasStarted, values.resumeDataHandlers ?? [])
        }
        let isResumeDataWanted = !resumeDataHandlers.isEmpty
        let failure = failure(ending.error, isCancelled: isCancelled)
        var resumeData = resumeData(ending.body, failure, isWanted: isResumeDataWanted)
        var uselessFile: (path: String, claim: UInt64?)?
        if case .stopped(let path, _) = ending.body {
            switch resumeData {
            // The program's resume data is as valid as before (RES-9).
            case nil where !hasStarted && wasCreated(with: path): break
            case nil: uselessFile = (path, UnfinishedFiles.shared.claim(on: path))
            case .some where isResumeDataWanted: UnfinishedFiles.shared.keep(path)
            case let data?: resumeData = data.removing(path)
            }
        }
        let isSilent = self.isSilent || ending.isSilent
        let error = isSilent ? nil : failure.map { shownError($0, resumeData) }
        let (session, task) = locked { values in
            values.state = .completed
            values.error = error
            return (values.session, values.anyTask ?? newTaskObject())
        }
        if !ending.isSilent { locked { $0.progress }?.finish(self) }
        statusChanged()
        for handler in resumeDataHandlers { handler(resumeData) }
        if let session, !isSilent {
            let metrics = log.flatMap {
                $0.keepsEvents ? URLSessionTaskMetrics($0, created: creationTime, fetches: fetches) : nil
            }
            deliverEnd(error, body: ending.body, metrics: metrics, session, task)
        } else if case .file(let path) = ending.body {
            uselessFile = (path, UnfinishedFiles.shared.claim(on: path))
        }
        // After the metrics (T-39).
        if case .feed(let feed) = result { feed.finish(error) }
        // The answer to `willCacheResponse` may still be pending, or the cache of the program may be asked to store. A
        // weak reference costs much, so other tasks have none.
        let isKnown = isForDelegate || core.urlCache.map { type(of: $0) != URLCache.self } ?? false
        // Released outside the lock, because deinits may run the program's code.
        let held = locked { [result] values in
            let held = (values.delegate, values.delegateReference, values.session, values.task, task, result)
            values.delegate = nil
            values.delegateReference = nil
            values.session = nil
            if isKnown { values.knownTask = values.task }
            values.task = nil
            return held
        }
        result = .delivered
        if let uselessFile { remove(uselessFile.path, of: uselessFile.claim) } else { core.ended(self) }
        _ = held
    }
}

extension TaskCore {
    /// Removes the file of a download that has failed, unless another download has continued it meanwhile. The disk may
    /// hang, so this is a callout of its own: the queue of the deliveries goes on, and only the session's end waits.
    private func remove(_ path: String, of claim: UInt64?) {
        loop.post { [self] in
            loop.callOut(
                CalledOut { [self] in
                    if UnfinishedFiles.shared.claim(on: path) == claim { UnfinishedFiles.shared.remove(path) }
                    core.ended(self)
                })
        }
    }
}

/// Resumes the waiting callers of a task's `async` methods.
private final class CallerResumption: Callout {
    private let task: TaskCore

    init(task: TaskCore) { self.task = task }

    func callOut() { task.resumeCallers() }
}
