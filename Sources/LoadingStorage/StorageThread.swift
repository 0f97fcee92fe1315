internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents

/// A store and the one thread on which all is done with it, in the order of asking.
///
/// The thread is started when it is needed first, and sleeps while there is nothing to do. When this object goes, what was
/// asked for is done to its end, the store is let go of, and the thread ends. Where no thread can be had, who asks
/// does the work.
package final class StorageThread<Store>: Sendable {
    private let desk: Desk<Store>

    /// - Parameter make: Makes the store, on its thread.
    package init(named name: String, _ make: @escaping @Sendable () -> Store) {
        desk = Desk(name: name, make: make)
    }

    deinit { desk.close() }

    package func perform(_ work: @escaping @Sendable (Store) -> Void) { desk.order(work) }

    /// Does it, after all that was asked for before, and waits for what comes of it. In the midst of other work of the
    /// same thread it is done at once.
    package func wait<Value: Sendable>(_ work: @escaping @Sendable (Store) -> Value) -> Value { desk.wait(work) }

    /// Says when all that was asked for before is done, on the thread.
    package func flush(_ told: @escaping @Sendable () -> Void) { desk.order { _ in told() } }
}

private final class Desk<Store>: @unchecked Sendable {
    // Sendable because `orders`, `isServed`, `isClosed` and the values of answers are guarded by `mutex`, and `store` and
    // `server` belong to the one thread at a time that serves.

    private let name: String
    private let make: @Sendable () -> Store
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// There is an order, or there will be no more.
    private let called: UnsafeMutablePointer<pthread_cond_t>
    private let answered: UnsafeMutablePointer<pthread_cond_t>

    private var orders: [(Store) -> Void] = []
    private var isServed = false
    private var isClosed = false
    /// The thread that serves, or 0.
    private var server: Int64 = 0

    private var store: Store?

    init(name: String, make: @escaping @Sendable () -> Store) {
        self.name = name
        self.make = make
        mutex = .allocate(capacity: 1)
        called = .allocate(capacity: 1)
        answered = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(called, nil)
        pthread_cond_init(answered, nil)
    }

    deinit {
        pthread_cond_destroy(answered)
        pthread_cond_destroy(called)
        pthread_mutex_destroy(mutex)
        answered.deallocate()
        called.deallocate()
        mutex.deallocate()
    }

    func order(_ work: @escaping @Sendable (Store) -> Void) {
        pthread_mutex_lock(mutex)
        orders.append(work)
        let mustStart = !isServed
        isServed = true
        pthread_cond_signal(called)
        pthread_mutex_unlock(mutex)
        if mustStart { start() }
    }

    func wait<Value: Sendable>(_ work: @escaping @Sendable (Store) -> Value) -> Value {
        pthread_mutex_lock(mutex)
        let isWithin = server == cll_thread_id()
        pthread_mutex_unlock(mutex)
        if isWithin { return work(theStore()) }
        let answer = Answer<Value>()
        order { store in
            let value = work(store)
            pthread_mutex_lock(self.mutex)
            answer.value = value
            pthread_cond_broadcast(self.answered)
            pthread_mutex_unlock(self.mutex)
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let value = answer.value { return value }
            pthread_cond_wait(answered, mutex)
        }
    }

    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        let isServed = isServed
        pthread_cond_signal(called)
        pthread_mutex_unlock(mutex)
        // Nobody can ask any more, so nobody else is here.
        if !isServed { store = nil }
    }

    private func start() {
        if DetachedThread.startIfPossible(named: name, { self.serve(waits: true) }) { return }
        serve(waits: false)
    }

    // MARK: On the thread that serves

    private func serve(waits: Bool) {
        while var batch = take(waits: waits) {
            let store = theStore()
            // Each is let go of, with all it has, when it is done, and not with the last.
            batch.reverse()
            while let work = batch.popLast() { work(store) }
        }
    }

    /// What is to be done; nil when that was all.
    private func take(waits: Bool) -> [(Store) -> Void]? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        server = cll_thread_id()
        while orders.isEmpty {
            if isClosed || !waits {
                server = 0
                isServed = false
                if isClosed { store = nil }
                return nil
            }
            pthread_cond_wait(called, mutex)
        }
        defer { orders = [] }
        return orders
    }

    private func theStore() -> Store {
        if let store { return store }
        let new = make()
        store = new
        return new
    }
}

private final class Answer<Value>: @unchecked Sendable {
    // Sendable because `value` is guarded by the desk's mutex.
    var value: Value?
}
