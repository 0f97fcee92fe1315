internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// Becoming another task.
extension TaskCore {
    /// Makes this the task that goes on with `other`, from the response on (T-44, T-45).
    func prepare(toReplace other: TaskCore, as task: URLSessionTask) {
        let (response, priority) = (other.response, other.priority)
        isAwaitingLoad = true
        locked { values in
            values.suspensionCount = 0
            values.hasStarted = true
            values.state = .running
            values.response = response
            values.priority = priority
            values.task = task
            core.hold(self)
        }
    }

    /// Says no more from now on: whatever happens, another task tells it. False when this one was cancelled before, and
    /// then it goes on to its own end.
    func yield() -> Bool {
        locked { values in
            guard values.state != .canceling else { return false }
            values.isSilent = true
            return true
        }
    }

    /// Takes the load over.
    func replace(_ other: TaskCore) {
        core.loop.post { [self] in
            isAwaitingLoad = false
            (log, fetches, droppedFields) = (other.log, other.fetches, other.droppedFields)
            // The other may have ended meanwhile: it was cancelled, or its time was over.
            guard let load = other.load, !other.hasEnded else {
                return end(other.endError ?? .cancelled, body: .nothing)
            }
            self.load = load
            bytesExpectedToReceive.store(
                other.bytesExpectedToReceive.load(ordering: .relaxed), ordering: .relaxed)
            load.handOver(to: self)
            other.load = nil
            other.detach()
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
    func detach() {
        hasEnded = true
        deliver(TaskEnding(error: nil, body: .nothing), usesQueue: true)
    }
}
