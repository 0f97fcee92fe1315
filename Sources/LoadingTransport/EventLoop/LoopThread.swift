internal import Glibc
internal import LoadingEvents

/// The threads that run loops. A thread that lost its loop to a long callback waits here for the next one; a few are
/// kept, the rest end.
enum LoopThread {
    private static let waiting = WaitingThreads()

    /// Has some thread run `loop` from now on. Where none can be started, one that comes back from its callback will do.
    static func run(_ loop: EventLoop) {
        while !runIfPossible(loop) { usleep(10_000) }
    }

    /// The same; false where there is no thread and none can be started now.
    static func runIfPossible(_ loop: EventLoop) -> Bool {
        waiting.hand(over: loop) || DetachedThread.startIfPossible(named: "url-loop") { serve(loop) }
    }

    private static func serve(_ first: EventLoop) {
        var next: EventLoop? = first
        while let loop = next {
            loop.run()
            next = waiting.waitForLoop()
        }
    }
}

/// Threads without a loop and the loops that were handed to them.
private final class WaitingThreads: @unchecked Sendable {
    // Sendable because everything is guarded by `mutex`.

    private static let most = 2

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var idle = 0
    private var handedOver: [EventLoop] = []

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    /// False when no thread waits.
    func hand(over loop: EventLoop) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard idle > handedOver.count else { return false }
        handedOver.append(loop)
        pthread_cond_signal(condition)
        return true
    }

    /// Waits for a loop; nil when enough threads wait already.
    func waitForLoop() -> EventLoop? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard idle < Self.most else { return nil }
        idle += 1
        defer { idle -= 1 }
        while true {
            if let loop = handedOver.popLast() { return loop }
            pthread_cond_wait(condition, mutex)
        }
    }
}
