internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// Replaces a task by another one.
extension TaskCore {
    /// Makes this task continue the load of `other`, after the response (T-44, T-45).
    func prepare(toReplace other: TaskCore, as task: URLSessionTask) {
        let (response, priority) = (other.response, other.priority)
        isAwaitingLoad = true
        bytesSent.store(other.bytesSent.load(ordering: .relaxed), ordering: .relaxed)
        bytesExpectedToSend.store(other.bytesExpectedToSend.load(ordering: .relaxed), ordering: .relaxed)
        bytesExpectedToReceive.store(other.bytesExpectedToReceive.load(ordering: .relaxed), ordering: .relaxed)
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

    /// Stops the callbacks of this task, because another one makes them. False if this task was cancelled before; then
    /// it ends itself.
    func yield() -> Bool {
        locked { values in
            guard values.state != .canceling else { return false }
            isSilent = true
            return true
        }
    }

    /// Takes over the load.
    func replace(_ other: TaskCore) {
        loop.post { [self] in
            isAwaitingLoad = false
            (log, fetches, droppedFields) = (other.log, other.fetches, other.droppedFields)
            if let currentRequest { showAdditionalFields(in: currentRequest) }
            // The other task may have been cancelled or timed out meanwhile.
            guard let load = other.load, !other.hasEnded else {
                return end(other.endError ?? .cancelled, body: .nothing)
            }
            self.load = load
            // What was sent meanwhile.
            bytesSent.store(other.bytesSent.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
            updateProgress()
            load.handOver(to: self)
            other.load = nil
            other.detach()
            switch state {
            case .canceling: return load.cancel(.cancelled)
            case .suspended: load.suspend()
            // The other task may have been suspended, and cannot be resumed any more.
            case .running: load.resume()
            case .completed: break
            }
            load.answerResponse(destination)
        }
    }

    /// Ends without callbacks.
    func detach() {
        hasEnded = true
        deliver(TaskEnding(error: nil, body: .nothing), usesQueue: true)
    }
}
