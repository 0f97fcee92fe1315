internal import Foundation
internal import Synchronization

/// The `Progress` of a task: body bytes of both directions (T-21). Created on first access.
///
/// For a progress with a parent, Foundation adds fractions, and traps when their denominators become too large: if a
/// total changes more than once, becomes 0, or exceeds 2⁵³. A server could cause that. So the total is set once, and
/// later announcements and excess bytes are not shown. See also `TaskCore.showsOnlySent`.
final class TaskProgress: Sendable {
    let progress: Progress
    private let hasTotal = Atomic(false)

    /// Foundation's `Progress` has no lock and changes its parent, which tasks of several threads may share. Recursive,
    /// because a parent that is released runs code of the program.
    private static let lock = NSRecursiveLock()

    /// The largest total that Foundation handles safely: 9 PB.
    private static let most: Int64 = 1 << 53

    init(of task: URLSessionTask) {
        // Not a child of the current progress: the program adds it to a parent itself.
        let progress = ActingProgress(parent: nil)
        progress.totalUnitCount = -1
        progress.isCancellable = true
        progress.isPausable = true
        progress.task = task
        self.progress = progress
    }

    func update(_ core: TaskCore) { Self.lock.withLock { show(core) } }

    private func show(_ core: TaskCore) {
        let toSend = core.bytesExpectedToSend.load(ordering: .sequentiallyConsistent)
        let toReceive = core.bytesExpectedToReceive.load(ordering: .sequentiallyConsistent)
        let sent = core.bytesSent.load(ordering: .sequentiallyConsistent)
        if core.showsOnlySent.load(ordering: .sequentiallyConsistent) {
            if toSend > 0 { setTotal(toSend) }
            // The last one is shown at the end. What is sent again was shown before.
            return setCompleted(min(max(sent, progress.completedUnitCount), max(0, progress.totalUnitCount - 1)))
        }
        if toSend >= 0, toReceive >= 0, toSend > 0 || toReceive > 0 { setTotal(Self.sum(toSend, toReceive)) }
        setCompleted(Self.sum(sent, core.bytesReceived.load(ordering: .sequentiallyConsistent)))
    }

    func finish(_ core: TaskCore) {
        let hasFailed = core.error != nil
        Self.lock.withLock {
            show(core)
            if hasFailed { return }
            // Without bytes the total is one unit, because 0 of 0 does not count as finished.
            setTotal(max(1, progress.completedUnitCount))
            progress.completedUnitCount = progress.totalUnitCount
        }
    }

    private static func sum(_ sent: Int64, _ received: Int64) -> Int64 {
        min(sent, most) + min(received, most)
    }

    private func setTotal(_ total: Int64) {
        guard !hasTotal.exchange(true, ordering: .relaxed) else { return }
        progress.totalUnitCount = min(total, Self.most)
    }

    private func setCompleted(_ completed: Int64) {
        let total = progress.totalUnitCount
        progress.completedUnitCount = min(completed, total >= 0 ? total : Self.most)
    }
}

/// A progress that acts on its task within the call.
///
/// Not with handlers: Foundation on Linux calls them from a concurrent queue, so that one of `resume()` overtakes that
/// of a `pause()` just before, and the task stays suspended for ever.
private final class ActingProgress: Progress, @unchecked Sendable {
    // Sendable as its superclass. The task is set before the program has the progress.
    weak var task: URLSessionTask?

    override func cancel() {
        super.cancel()
        task?.cancel()
    }

    /// Suspensions of a task are counted, and pauses are not: a second one in a row has no effect.
    override func pause() {
        let isRepeated = isPaused && task?.state == .suspended
        super.pause()
        if !isRepeated { task?.suspend() }
    }

    override func resume() {
        super.resume()
        task?.resume()
    }
}
