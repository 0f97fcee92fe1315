internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents

/// The threads that run loops. A thread that lost its loop to a long callback waits here for the next one; a few are
/// kept, the rest end.
package enum LoopThread {
    private static let waiting = WaitingThreads()

    /// Has some thread run `loop` from now on. Where none can be started, one that comes back from its callback will do.
    static func run(_ loop: EventLoop) {
        while !waiting.hand(over: loop), !startIfPossible(named: "url-loop", { serve(loop) }) { usleep(10_000) }
    }

    private static func serve(_ first: EventLoop) {
        var next: EventLoop? = first
        while let loop = next {
            loop.run()
            next = waiting.waitForLoop()
        }
    }

    /// Starts a detached thread. Failing that (no memory, no thread allowed) it tries again until it can: a loop
    /// without a thread would be a process that hangs.
    package static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        while !startIfPossible(named: name, body) { usleep(10_000) }
    }

    /// Starts a detached thread; false when the system allows none now.
    package static func startIfPossible(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
                cll_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        if failure != 0 { start.release() }
        return failure == 0
    }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
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
