internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics

/// The threads that run loops. A thread whose loop was taken during a long callback waits here for another loop. A few
/// threads are kept; the others end.
enum LoopThread {
    private static let waiting = WaitingThreads()

    /// Makes some thread run `loop` from now on. If none can be started, this waits for a thread to return from its
    /// callback.
    static func run(_ loop: EventLoop) {
        while !runIfPossible(loop) { usleep(UInt32(TimeLimits.standard.loopRetry / 1000)) }
    }

    /// The same. Returns false if no thread waits and none can be started now.
    static func runIfPossible(_ loop: EventLoop) -> Bool {
        waiting.hand(over: loop) || start(with: LoopHandover(loop))
    }

    private static func start(with first: LoopHandover) -> Bool {
        DetachedThread.startIfPossible(named: "url-loop") {
            var next: LoopHandover? = first
            while let handover = next {
                handover.take()?.run()
                next = waiting.waitForLoop()
            }
        }
    }
}

/// Passes a loop to a thread, without a reference of its own after that, so that a loop that has ended is deallocated.
private final class LoopHandover: @unchecked Sendable {
    // Sendable because it is given to one thread, which takes the loop once.

    private var loop: EventLoop?

    init(_ loop: EventLoop) { self.loop = loop }

    func take() -> EventLoop? {
        defer { loop = nil }
        return loop
    }
}

/// Threads without a loop and the loops that were handed to them.
private final class WaitingThreads: @unchecked Sendable {
    // Sendable because everything is guarded by `mutex`.

    private static let most = 2

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var idle = 0
    private var handedOver: [LoopHandover] = []

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    /// Returns false if no thread waits.
    func hand(over loop: EventLoop) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard idle > handedOver.count else { return false }
        handedOver.append(LoopHandover(loop))
        pthread_cond_signal(condition)
        return true
    }

    /// Waits for a loop. Returns nil if enough threads wait already.
    func waitForLoop() -> LoopHandover? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard idle < Self.most else { return nil }
        idle += 1
        defer { idle -= 1 }
        while true {
            if let handover = handedOver.popLast() { return handover }
            pthread_cond_wait(condition, mutex)
        }
    }
}
