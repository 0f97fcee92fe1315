internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The delivery of a task's events, and of its end.
extension TaskCore {
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

    /// The reader of a feed has emptied it.
    func readerTookAll() { core.loop.post { self.load?.resumeReading() } }

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
