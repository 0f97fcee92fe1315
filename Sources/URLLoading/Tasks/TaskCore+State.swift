internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// Resuming, suspending and cancelling a task, on any thread.
extension TaskCore {
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
    func newTaskObject() -> URLSessionTask {
        switch kind {
        case .data: URLSessionDataTask(core: self)
        case .upload: URLSessionUploadTask(core: self)
        case .download: URLSessionDownloadTask(core: self)
        case .stream: URLSessionStreamTask(core: self)
        }
    }
}
