internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// Resuming, suspending and cancelling a task, on any thread.
extension TaskCore {
    /// - Parameter waits: Whether the caller is an `async` method that waits for the task, and may do the loop's work
    ///   for it.
    func resume(_ task: URLSessionTask, waits: Bool = false) {
        enum Step { case nothing, start, goOn }
        let step: Step = locked { values in
            guard values.state == .suspended, values.suspensionCount > 0 else { return .nothing }
            values.suspensionCount -= 1
            guard values.suspensionCount == 0 else { return .nothing }
            values.state = .running
            values.task = task
            values.knownTask = nil
            defer { background?.sendChanges(of: values) }
            if values.hasStarted { return .goOn }
            values.hasStarted = true
            // Within the lock, so that it cannot follow the end of a concurrent cancellation.
            core.hold(self)
            return .start
        }
        if step != .nothing { statusChanged() }
        switch step {
        case .nothing: break
        case .start where !loop.serve(): endWithoutLoop(ForkedProcess.isCurrent ? .forkedProcess : .noThread)
        case .start where waits: loop.perform { self.begin() }
        case .start: loop.post { self.begin() }
        case .goOn: loop.post { self.applyState() }
        }
    }

    /// Runs an operation of a stream or WebSocket task: on the loop, and if there is none, where all work without a
    /// loop runs.
    func runOnLoop(for caller: TaskCaller, _ operation: @escaping @Sendable () -> Void) {
        guard loop.serve() else { return WorkWithoutLoop.perform(operation) }
        switch caller {
        case .continuation: loop.perform(operation)
        case .handler: loop.post(operation)
        }
    }

    func suspend() {
        let mustStop: Bool = locked { values in
            guard values.state == .running || values.state == .suspended else { return false }
            values.suspensionCount += 1
            let wasRunning = values.state == .running
            values.state = .suspended
            background?.sendChanges(of: values)
            return wasRunning
        }
        guard mustStop else { return }
        statusChanged()
        loop.post { self.applyState() }
        if core.isInvalidated { releaseIfSuspended() }
    }

    /// An invalidated session does not retain suspended tasks: they live only while the program retains them.
    func releaseIfSuspended() {
        // Released outside the lock, because this may be the last reference.
        _ = locked { values -> URLSessionTask? in
            guard values.state == .suspended, let task = values.task else { return nil }
            values.knownTask = task
            values.task = nil
            return task
        }
    }

    /// Applies the current state to the load. Reads the state on the loop, because concurrent calls may be posted in
    /// another order.
    private func applyState() {
        if state == .suspended {
            load?.suspend()
        } else {
            load?.resume()
            passMessages()
        }
        applyStateToResolution()
    }

    /// Cancels the task. A task that never ran completes too (T-6), and needs `task` for its callbacks.
    func cancel(_ task: URLSessionTask?) {
        let isFirst: Bool = locked { values in
            guard values.state == .running || values.state == .suspended, values.resumeDataHandlers != nil else {
                return false
            }
            values.state = .canceling
            if values.task == nil { values.task = values.knownTask ?? task }
            // Within the lock, so that it cannot follow a concurrent end.
            core.hold(self)
            return true
        }
        guard isFirst else { return }
        statusChanged()
        guard loop.serve() else { return endWithoutLoop(.cancelled) }
        loop.post {
            if let load = self.load {
                load.cancel(.cancelled)
            } else if !self.isAwaitingLoad, self.claimEnd() {
                self.end(.cancelled, body: self.unstartedBody)
            }
        }
    }

    /// Ends the task in a process without a running loop. A forked process does not touch the loads of its parent,
    /// whose connections and files belong to the parent.
    private func endWithoutLoop(_ error: LoadError) {
        guard claimEnd() else { return }
        WorkWithoutLoop.perform { [self] in end(error, body: ForkedProcess.isCurrent ? .nothing : unstartedBody) }
    }

    /// Claims the end of a task without a load, which two parties may attempt: the loop, whose thread may have started
    /// meanwhile, and the caller that found no thread.
    private func claimEnd() -> Bool {
        locked { values in
            defer { values.isEndClaimed = true }
            return !values.isEndClaimed
        }
    }

    /// The empty body of a task that never ran.
    var unstartedBody: LoadedBody {
        switch kind {
        case .download(let stopped?): .stopped(path: stopped.path, stopped.point)
        case .upload(_, let stopped?): .unsent(stopped)
        default: .nothing
        }
    }

    /// Cancels the task, and produces resume data.
    func cancel(_ task: URLSessionTask?, producingResumeData handler: @escaping @Sendable (Data?) -> Void) {
        let isOver: Bool = locked { values in
            values.resumeDataHandlers?.append(handler)
            return values.resumeDataHandlers == nil
        }
        if isOver { return delivery.schedule { handler(nil) } }
        cancel(task)
    }

    /// The public task object was released. Before the task's end this happens only to a suspended task in an
    /// invalidated session: it cannot be resumed, so it is cancelled.
    func publicObjectReleased() {
        if locked({ $0.state == .suspended && $0.task == nil }) { cancel(newTaskObject()) }
    }

    /// A new public object for the remaining callbacks, after the old one was released.
    func newTaskObject() -> URLSessionTask {
        switch kind {
        case .data: URLSessionDataTask(core: self)
        case .upload: URLSessionUploadTask(core: self)
        case .download: URLSessionDownloadTask(core: self)
        case .stream: URLSessionStreamTask(core: self)
        case .webSocket: URLSessionWebSocketTask(core: self)
        }
    }
}
