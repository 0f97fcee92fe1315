internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

/// Prevents a long callback from blocking a loop: it checks lent loops every `TimeLimits.callback`, and hands a loop
/// that has been in the same callbacks since the last check to another thread.
///
/// It sleeps whenever no loop has been lent for one interval, so an idle process has no timer running.
final class LoopWatch: @unchecked Sendable {
    // Sendable because `lock` guards `loops` and the start of the thread, `awake` and `hasThread` are atomic, and the
    // rest is confined to the watching thread.

    static let shared = LoopWatch()

    private let awake = Atomic<UInt32>(0)
    private let hasThread = Atomic(false)
    private let lock = Lock()
    private var loops: [EventLoop] = []

    private init() {}

    func add(_ loop: EventLoop) {
        lock.withLock { loops.append(loop) }
        _ = startThread()
    }

    /// Returns false if there is no thread and the system cannot start one now; a long callback then blocks its loop.
    private func startThread() -> Bool {
        lock.withLock {
            if hasThread.load(ordering: .relaxed) { return true }
            guard DetachedThread.startIfPossible(named: "url-watch", { self.watch() }) else { return false }
            // Not before: another thread that lends a loop would else wake a watch that does not exist, for ever.
            hasThread.store(true, ordering: .releasing)
            return true
        }
    }

    /// Called by a loop's thread each time it lends the loop; usually this is one atomic load.
    @inline(__always)
    func noteLending() {
        if awake.load(ordering: .sequentiallyConsistent) == 0 { wake() }
    }

    @inline(never)
    private func wake() {
        // Without a thread, `awake` stays 0, so that the next lending tries again.
        guard hasThread.load(ordering: .relaxed) || startThread() else { return }
        guard awake.exchange(1, ordering: .acquiringAndReleasing) == 0 else { return }
        withUnsafePointer(to: awake) { cll_futex_wake($0, 1) }
    }

    private func watch() {
        var lastSeen: [UInt64] = []
        while true {
            withUnsafePointer(to: awake) { word in
                while awake.load(ordering: .acquiring) == 0 { cll_futex_wait(word, 0, -1) }
            }
            var isActive = true
            while isActive {
                sleep()
                isActive = inspect(&lastSeen)
            }
            awake.store(0, ordering: .sequentiallyConsistent)
            // A loop that was lent between the last check and that store saw that `awake` was 1 and did not wake the
            // watch.
            if lock.withLock({ loops.contains { $0.baton.load(ordering: .sequentiallyConsistent) & 1 == 1 } }) {
                awake.store(1, ordering: .sequentiallyConsistent)
            }
        }
    }

    private func sleep() {
        var time = timespec(tv_sec: 0, tv_nsec: Int(TimeLimits.standard.callback))
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nil)
    }

    /// Takes loops from threads that are blocked in callbacks. Returns true while any loop has been lent since the last
    /// check.
    private func inspect(_ lastSeen: inout [UInt64]) -> Bool {
        let loops = lock.withLock { self.loops }
        var isActive = false
        while lastSeen.count < loops.count { lastSeen.append(0) }
        // Not `enumerated()`, which takes long in debug builds.
        for index in 0..<loops.count {
            // Nil if the loop was handed to another thread. Then it has been lent since the last check.
            guard let word = loops[index].checkLending(since: lastSeen[index]) else {
                isActive = true
                continue
            }
            if word != lastSeen[index] || word & 1 == 1 { isActive = true }
            lastSeen[index] = word
        }
        return isActive
    }
}
