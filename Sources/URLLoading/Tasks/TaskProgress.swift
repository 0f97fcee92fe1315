internal import Foundation
internal import Synchronization

/// The `Progress` of a task: body bytes of both directions (T-21). Made when somebody asks for it.
final class TaskProgress: Sendable {
    let progress: Progress

    init(of task: URLSessionTask) {
        let progress = Progress(totalUnitCount: -1)
        progress.isCancellable = true
        progress.isPausable = true
        progress.cancellationHandler = { [weak task] in task?.cancel() }
        progress.pausingHandler = { [weak task] in task?.suspend() }
        progress.resumingHandler = { [weak task] in task?.resume() }
        self.progress = progress
    }

    func update(_ core: TaskCore) {
        let toSend = core.bytesExpectedToSend.load(ordering: .relaxed)
        let toReceive = core.bytesExpectedToReceive.load(ordering: .relaxed)
        let (total, isTooMuch) = toSend.addingReportingOverflow(toReceive)
        // Never 0: Foundation ends the process when a total that was more becomes that.
        let isKnown = toSend >= 0 && toReceive >= 0 && !isTooMuch && total > 0
        progress.totalUnitCount = isKnown ? total : -1
        progress.completedUnitCount =
            core.bytesSent.load(ordering: .relaxed) &+ core.bytesReceived.load(ordering: .relaxed)
    }

    func finish(_ core: TaskCore) {
        update(core)
        guard core.error == nil else { return }
        // Where no byte went either way it is one unit: nothing of nothing does not count as finished, and may not be the
        // total either.
        if progress.completedUnitCount <= 0 { progress.completedUnitCount = 1 }
        progress.totalUnitCount = progress.completedUnitCount
    }
}
