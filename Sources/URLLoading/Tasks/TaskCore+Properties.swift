internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// The properties of a task.
extension TaskCore {
    var taskDelegate: (any URLSessionTaskDelegate)? {
        get { locked { $0.delegate } }
        set {
            // BG-3
            if background != nil { return }
            let reference = newValue.map { DelegateReference($0) }
            // The old delegate is released outside the lock, because its deinit is the program's code.
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
        set {
            locked {
                $0.earliestBeginDate = newValue
                background?.sendChanges(of: $0)
            }
        }
    }

    var expectsToSend: Int64 {
        get { locked { $0.expectsToSend } }
        set {
            locked {
                $0.expectsToSend = newValue
                background?.sendChanges(of: $0)
            }
        }
    }

    var expectsToReceive: Int64 {
        get { locked { $0.expectsToReceive } }
        set {
            locked {
                $0.expectsToReceive = newValue
                background?.sendChanges(of: $0)
            }
        }
    }

    var taskDescription: String? {
        get { locked { $0.taskDescription } }
        set {
            locked {
                $0.taskDescription = newValue
                background?.sendChanges(of: $0)
            }
        }
    }

    var priority: Float {
        get { locked { $0.priority } }
        set {
            let hasStarted = locked {
                $0.priority = newValue.isNaN ? URLSessionTask.defaultPriority : min(1, max(0, newValue))
                background?.sendChanges(of: $0)
                return $0.hasStarted
            }
            // The current value is read on the loop, because concurrent calls may be posted in another order.
            if hasStarted { loop.post { self.load?.setPriority(self.priority) } }
        }
    }

    var prefersIncrementalDelivery: Bool {
        get { locked { $0.prefersIncrementalDelivery } }
        set {
            locked {
                if !$0.hasStarted, isForDelegate, !kind.isDownload { $0.prefersIncrementalDelivery = newValue }
            }
        }
    }

    func progress(of task: URLSessionTask) -> Progress {
        if let known = locked({ $0.progress }) { return known.progress }
        let new = TaskProgress(of: task)
        let kept = locked { values in
            if values.progress == nil { values.progress = new }
            return values.progress ?? new
        }
        // What has happened so far; from now on it gets what comes. The end may come while it gets
        // that.
        isObserved.store(true, ordering: .sequentiallyConsistent)
        kept.update(self)
        if state == .completed { kept.finish(self) }
        return kept.progress
    }
}
