internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// Becoming a download.
extension TaskCore {
    /// Makes this the task that goes on with `other`, from the response on (T-44).
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
        deliver(TaskEnding(error: nil, body: .nothing), usesQueue: true)
    }
}
