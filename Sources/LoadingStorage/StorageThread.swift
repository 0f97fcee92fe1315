internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents

/// A store with its own thread, on which all work runs in the order of the calls.
///
/// The thread starts with the first work and sleeps while there is none. After deinit the pending work is completed,
/// then the store is released and the thread ends. If no thread can be started, the work runs on the calling thread.
package final class StorageThread<Store>: Sendable {
    private let queue: WorkQueue<Store>

    /// - Parameter make: Creates the store, on its thread.
    package init(named name: String, _ make: @escaping @Sendable () -> Store) {
        queue = WorkQueue(name: name, make: make)
    }

    deinit { queue.close() }

    package func perform(_ work: @escaping @Sendable (Store) -> Void) { queue.enqueue(work) }

    /// Runs `work` after all previous work, and waits for the result. Called on the store's thread, it runs at once.
    package func wait<Value: Sendable>(_ work: @escaping @Sendable (Store) -> Value) -> Value { queue.wait(work) }

    /// Calls back on the thread when all previous work is done.
    package func flush(_ completion: @escaping @Sendable () -> Void) { queue.enqueue { _ in completion() } }
}

private final class WorkQueue<Store>: @unchecked Sendable {
    // Sendable because `pendingWork`, `isRunning`, `isClosed` and pending results are guarded by `mutex`, and `store`
    // and `workerThread` belong to the one thread that runs the work.

    private let name: String
    private let make: @Sendable () -> Store
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Signalled when there is work, or when the queue is closed.
    private let workAvailable: UnsafeMutablePointer<pthread_cond_t>
    private let resultAvailable: UnsafeMutablePointer<pthread_cond_t>

    private var pendingWork: [(Store) -> Void] = []
    private var isRunning = false
    private var isClosed = false
    /// The id of the thread that runs the work, or 0.
    private var workerThread: Int64 = 0

    private var store: Store?

    init(name: String, make: @escaping @Sendable () -> Store) {
        self.name = name
        self.make = make
        mutex = .allocate(capacity: 1)
        workAvailable = .allocate(capacity: 1)
        resultAvailable = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(workAvailable, nil)
        pthread_cond_init(resultAvailable, nil)
    }

    deinit {
        pthread_cond_destroy(resultAvailable)
        pthread_cond_destroy(workAvailable)
        pthread_mutex_destroy(mutex)
        resultAvailable.deallocate()
        workAvailable.deallocate()
        mutex.deallocate()
    }

    func enqueue(_ work: @escaping @Sendable (Store) -> Void) {
        pthread_mutex_lock(mutex)
        pendingWork.append(work)
        let mustStart = !isRunning
        isRunning = true
        pthread_cond_signal(workAvailable)
        pthread_mutex_unlock(mutex)
        if mustStart { start() }
    }

    func wait<Value: Sendable>(_ work: @escaping @Sendable (Store) -> Value) -> Value {
        pthread_mutex_lock(mutex)
        let isWithin = workerThread == cll_thread_id()
        pthread_mutex_unlock(mutex)
        if isWithin { return work(openedStore()) }
        let result = PendingResult<Value>()
        enqueue { store in
            let value = work(store)
            pthread_mutex_lock(self.mutex)
            result.value = value
            pthread_cond_broadcast(self.resultAvailable)
            pthread_mutex_unlock(self.mutex)
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let value = result.value { return value }
            pthread_cond_wait(resultAvailable, mutex)
        }
    }

    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        let isRunning = isRunning
        pthread_cond_signal(workAvailable)
        pthread_mutex_unlock(mutex)
        // The last reference is gone, so no other thread uses the queue.
        if !isRunning { store = nil }
    }

    private func start() {
        if DetachedThread.startIfPossible(named: name, { self.run(waits: true) }) { return }
        run(waits: false)
    }

    // MARK: On the worker thread

    private func run(waits: Bool) {
        while var batch = take(waits: waits) {
            let store = openedStore()
            // Each closure is released right after it has run.
            batch.reverse()
            while let work = batch.popLast() { work(store) }
        }
    }

    /// Returns the pending work, or nil if there is none and the thread should end.
    private func take(waits: Bool) -> [(Store) -> Void]? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        workerThread = cll_thread_id()
        while pendingWork.isEmpty {
            if isClosed || !waits {
                workerThread = 0
                isRunning = false
                if isClosed { store = nil }
                return nil
            }
            pthread_cond_wait(workAvailable, mutex)
        }
        defer { pendingWork = [] }
        return pendingWork
    }

    private func openedStore() -> Store {
        if let store { return store }
        let new = make()
        store = new
        return new
    }
}

private final class PendingResult<Value>: @unchecked Sendable {
    // Sendable because `value` is guarded by the queue's mutex.
    var value: Value?
}
