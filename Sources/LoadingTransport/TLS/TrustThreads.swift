internal import Glibc

/// Threads that evaluate trust: reading roots may wait for a disk, and checking signatures takes time that a loop owes
/// to all its connections. A thread without work for a while ends.
///
/// Unchecked: everything mutable is guarded by `mutex`.
package final class TrustThreads: @unchecked Sendable {
    package static let shared = TrustThreads()

    private static let mostThreads = 4
    private static let idleSeconds = 10

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [@Sendable () -> Void] = []
    private var threads = 0
    private var idleThreads = 0

    // Lives as long as the process, so nothing is torn down.
    private init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    /// Has `job` run soon; here and now if the system allows no thread.
    package func run(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        jobs.append(job)
        let mustStart = idleThreads < jobs.count && threads < Self.mostThreads
        if mustStart { threads += 1 } else { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        guard mustStart, !LoopThread.startIfPossible(named: "url-trust", { self.work() }) else { return }
        pthread_mutex_lock(mutex)
        threads -= 1
        let left = threads == 0 ? jobs : []
        if threads == 0 { jobs = [] }
        pthread_mutex_unlock(mutex)
        for job in left { job() }
    }

    private func work() {
        while let job = next() { job() }
    }

    /// Waits for a job; nil when there was none for a while, and then the thread ends.
    private func next() -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += Self.idleSeconds
        while true {
            if !jobs.isEmpty { return jobs.removeFirst() }
            idleThreads += 1
            let outcome = pthread_cond_timedwait(condition, mutex, &deadline)
            idleThreads -= 1
            if outcome == ETIMEDOUT, jobs.isEmpty {
                threads -= 1
                return nil
            }
        }
    }
}
