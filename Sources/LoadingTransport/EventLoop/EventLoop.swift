internal import CLoadingLinux
internal import Glibc
package import LoadingEvents
package import LoadingSemantics
internal import Synchronization

/// An event loop on epoll: the sockets and timers that one thread serves.
///
/// Everything that belongs to a loop (connections, pools, loads, timers) is accessed only by the thread that runs it,
/// so none of it is locked. Other threads use `post(_:)`. That costs a lock of a few instructions and, only if the loop
/// sleeps, one eventfd write for a whole batch.
///
/// **Lending.** Delegate calls of a session that made its own delegate queue run on the loop's thread, between two
/// turns: no second thread wakes up, and the next turn sends a request that the callback starts. Callbacks are
/// application code and may block, so the thread lends the loop while it runs them. If a callback takes longer than
/// `TimeLimits.callback`, another thread takes the loop, so the loop's sockets never wait for the callback. The whole
/// protocol is one atomic word, `baton`; docs/decisions/0001-loop-lending.md has the reasons and the proof.
///
/// **Borrowing.** A thread that waits for what it posts may do the work itself while the loop's thread sleeps
/// (`perform(_:)`), so that no thread wakes up for it; docs/decisions/0019-borrowed-loops.md.
package final class EventLoop: @unchecked Sendable {
    // Sendable because every stored property is immutable, atomic, guarded by `lock`, or confined to the thread that
    // holds the baton, or has borrowed the loop; the baton is passed with release and acquire ordering, and the loop is
    // borrowed and given back under `lock`. Debug builds check confinement.
    //
    // Exclusive access to the time, the timers, the registrations and the lists of work is not checked: they are only
    // assigned, swapped or appended to, and no other code runs during that; the target of a timer and a handler are
    // released afterwards. A job that posts another job appends to `inbox`, and `jobs` is only read while jobs run.

    // MARK: Confined to the thread that runs the loop

    @exclusivity(unchecked) private var registrations = RegistrationTable()
    @exclusivity(unchecked) private var timers = TimerHeap()
    /// Handlers with more work now (unread bytes, an exhausted budget); they are called again in the next turn.
    @exclusivity(unchecked) private var unfinished: [any ReadinessHandler] = []
    @exclusivity(unchecked) private var spareUnfinished: [any ReadinessHandler] = []
    @exclusivity(unchecked) private var jobs: [Job] = []
    @exclusivity(unchecked) private var turnsWithoutPoll = 0
    /// Whether the loop was borrowed since the last time that its thread has slept until `wakeTime`.
    @exclusivity(unchecked) private var wasBorrowed = false
    /// Whether a loop with a stepped clock ends when all posted work is done. Other loops never end.
    private var isStopping = false
    private let events: UnsafeMutablePointer<epoll_event>
    /// The descriptors of epoll and of the event that wakes the loop; -1 until the kernel has given them, first the one
    /// and then the other. Other threads use the event only when `isAsleep` was true, so that it is there.
    @exclusivity(unchecked) private var poll: Int32 = -1
    @exclusivity(unchecked) private var wakeup: Int32 = -1

    /// The clock's time in nanoseconds at the last wake-up; all timers of this turn are measured from it.
    package var now: Int64 { turnTime }
    /// A stored property of its own, because other modules would check exclusive access to `now`.
    @exclusivity(unchecked) private var turnTime: Int64

    /// The buffer for reads of unknown size in a turn; its contents are valid only until the handler returns.
    package let scratch: UnsafeMutableRawBufferPointer

    // MARK: Shared, guarded by `lock`

    /// Held during a fork, so that a forked process can still post. The posted work does not run there.
    let lock = ForkGuardedLock()
    @exclusivity(unchecked) private var inbox: [Job] = []
    /// No entry is released while the lock is held, because its deinitialiser may run any code.
    @exclusivity(unchecked) private var callouts = FIFOQueue<any Callout>()
    @exclusivity(unchecked) private var isAsleep = false
    /// The thread that has borrowed the loop, whose own thread sleeps or waits for the return.
    @exclusivity(unchecked) private var borrower: pthread_t?
    /// Whether the loop's thread waits for the return.
    @exclusivity(unchecked) private var isAwaited = false
    /// The call that the borrower makes when it has given the loop back.
    @exclusivity(unchecked) private var resumption: (any Callout)?
    /// Of those, the number since the loop's thread has made one.
    @exclusivity(unchecked) private var directResumptions = 0
    /// When the loop's thread wakes up by itself, while it sleeps. `Int64.max` if it does not.
    @exclusivity(unchecked) private var wakeTime = Int64.max
    @exclusivity(unchecked) private var callers: ReturningCallers

    // MARK: Shared, immutable or atomic

    package let clock: LoopClock
    package let limits: TimeLimits
    /// Twice the number of lendings so far, plus 1 while the loop is lent.
    let baton = Atomic<UInt64>(0)
    /// The number of returns for which the loop's thread has waited.
    private let returns = Atomic<UInt32>(0)
    /// Whether a thread was started for the loop. The loop has one from then on.
    private let hasThread = Atomic(false)
    /// Held while a thread is started.
    private let startLock = Lock(.middle)

    /// A Swift task that is resumed before it is suspended keeps its thread, so that others cannot run there. After so
    /// many, the loop's thread resumes one.
    private static let directResumptionsTogether = 31
    /// The number of jobs after which handlers in `unfinished` are called.
    private static let jobsTogether = 32
    private static let eventCapacity = 256
    /// The number of entries for which each table and each list of work keeps memory in any case.
    static let keptCapacity = 1024
    private static let scratchCapacity = 64 * 1024
    private static let wakeupToken = UInt64.max

    /// A posted closure. A closure that is itself the element of an array gets an object that adapts it to generic
    /// code.
    private struct Job {
        let run: @Sendable () -> Void
    }

    package init(clock: LoopClock = .monotonic, limits: TimeLimits = .standard) {
        self.clock = clock
        self.limits = limits
        callers = ReturningCallers(limit: limits.gathering, together: Self.jobsTogether)
        turnTime = clock.now
        events = .allocate(capacity: Self.eventCapacity)
        scratch = .allocate(byteCount: Self.scratchCapacity, alignment: 64)
        _ = hasDescriptors
    }

    /// The process's own loops are never deallocated; one with a stepped clock ends with its test.
    deinit {
        if poll >= 0 { close(poll) }
        if wakeup >= 0 { close(wakeup) }
        events.deallocate()
        scratch.deallocate()
    }

    // MARK: From any thread

    /// Runs `job` on the loop, after everything that was posted before it.
    package func post(_ job: @escaping @Sendable () -> Void) {
        lock.lock()
        inbox.append(Job(run: job))
        let mustWake = isAsleep
        isAsleep = false
        lock.unlock()
        if mustWake { cll_eventfd_signal(wakeup) }
    }

    /// Runs `job` before this returns if the loop sleeps, on the calling thread, which borrows the loop; otherwise
    /// posts it. For callers that wait for what the job brings, and hold no lock.
    package func perform(_ job: @escaping @Sendable () -> Void) {
        lock.lock()
        guard isAsleep else {
            callers.noteReturn()
            inbox.append(Job(run: job))
            return lock.unlock()
        }
        let isGathering = !callers.isEmpty && callers.noteReturnDuringSleep(at: time)
        // So that work that is posted meanwhile wakes no thread.
        isAsleep = false
        borrower = pthread_self()
        wasBorrowed = true
        lock.unlock()
        asBorrower {
            readClock()
            job()
            // What jobs leave to be done after all of them, such as sending their requests.
            if !unfinished.isEmpty, !isGathering { continueUnfinished() }
        }
        giveBack(isGathering: isGathering)
    }

    /// The loop's thread sleeps on, unless it has something to do.
    ///
    /// - Parameter isGathering: Whether handlers to call again wait for the next caller, or for the end of the sleep,
    ///   which is near.
    private func giveBack(isGathering: Bool) {
        lock.lock()
        let isAwaited = isAwaited
        let hasWork = !unfinished.isEmpty && !isGathering || !inbox.isEmpty || !callouts.isEmpty
        let mustWake = !isAwaited && (hasWork || timers.nextDeadline < wakeTime)
        isAsleep = !isAwaited && !mustWake
        // Also if it has other work first, and does not sleep before the timer is disarmed.
        wakeTime = min(wakeTime, timers.nextDeadline)
        borrower = nil
        self.isAwaited = false
        if isAwaited { returns.wrappingAdd(1, ordering: .relaxed) }
        let resumption = resumption
        self.resumption = nil
        lock.unlock()
        if mustWake { cll_eventfd_signal(wakeup) }
        if isAwaited { withUnsafePointer(to: returns) { cll_futex_wake($0, 1) } }
        resumption?.callOut()
    }

    /// Called by the loop's thread when it has woken up.
    private func noteAwake() {
        lock.lock()
        while borrower != nil {
            isAwaited = true
            let seen = returns.load(ordering: .relaxed)
            lock.unlock()
            withUnsafePointer(to: returns) { cll_futex_wait($0, seen, -1) }
            lock.lock()
        }
        isAsleep = false
        callers.noteWaking()
        lock.unlock()
    }

    /// Calls `callout` on the loop's thread after a turn, while the loop is lent.
    ///
    /// - Parameter isResumption: Whether it only resumes a caller that awaits it. If the calling thread has borrowed
    ///   the loop, it does that itself when it has given the loop back, unless it has another to resume.
    package func callOut(_ callout: any Callout, isResumption: Bool = false) {
        lock.lock()
        if isResumption {
            if resumption == nil, directResumptions < Self.directResumptionsTogether, borrower == pthread_self() {
                directResumptions += 1
                resumption = callout
                return lock.unlock()
            }
            directResumptions = 0
            callers.noteResumption()
        }
        callouts.append(callout)
        let mustWake = isAsleep
        isAsleep = false
        lock.unlock()
        if mustWake { cll_eventfd_signal(wakeup) }
    }

    /// Whether the loop has its descriptors. Takes them if the kernel has them now; sets errno if not. On the loop, or
    /// before it has a thread.
    @inline(__always)
    var hasDescriptors: Bool { wakeup >= 0 || takeDescriptors() }

    private func takeDescriptors() -> Bool {
        if poll < 0 { poll = cll_epoll_create() }
        guard poll >= 0 else { return false }
        let event = cll_eventfd()
        guard event >= 0 else { return false }
        guard cll_epoll_add(poll, event, cll_level_input() | cll_edge_triggered(), Self.wakeupToken) == 0 else {
            close(event)
            return false
        }
        wakeup = event
        return true
    }

    /// Whether posted work will run: the loop has a thread, and the thread is in this process.
    @inline(__always)
    package var isServed: Bool { hasThread.load(ordering: .relaxed) && !ForkedProcess.isCurrent }

    /// Makes sure that the loop has a thread. Returns false if the system cannot start one now.
    @inline(__always)
    package func serve() -> Bool { isServed || startThread() }

    private func startThread() -> Bool {
        if ForkedProcess.isCurrent { return false }
        // A concurrent caller waits here, because its work runs only if the thread starts.
        return startLock.withLock {
            if hasThread.load(ordering: .relaxed) { return true }
            guard LoopThread.runIfPossible(self) else { return false }
            hasThread.store(true, ordering: .relaxed)
            return true
        }
    }

    /// Takes `lock` for a fork, if possible while the loop sleeps: a thread that is working may hold a lock of Swift's
    /// runtime, which the child could never take. A loop that sleeps does nothing without `lock` when it wakes up. This
    /// waits for `TimeLimits.fork` at most, because the loop may be busy for long, or may be blocked in a callback,
    /// which may itself wait for the fork.
    func holdAsleep(until deadline: Int64) {
        let end = min(cll_now() + limits.fork, deadline)
        while lock.hold(until: deadline), !isAsleep, cll_now() < end {
            lock.release()
            usleep(50)
        }
    }

    // MARK: On the loop: descriptors

    /// Calls `handler` for each change of the readiness of `descriptor`. Edge-triggered: each readiness is reported
    /// once and holds until a read or write would block. Returns nil, with errno set, if the kernel refuses.
    package func register(_ descriptor: Int32, _ handler: any ReadinessHandler) -> LoopRegistration? {
        checkConfinement(of: "The registration of a descriptor")
        let registration = registrations.insert(handler)
        guard hasDescriptors, cll_epoll_add(poll, descriptor, cll_edge_triggered(), registration.token) == 0 else {
            _ = registrations.remove(registration)
            return nil
        }
        return registration
    }

    /// Removes a descriptor. Events for it that this turn has already fetched are dropped.
    package func unregister(_ descriptor: Int32, _ registration: LoopRegistration) {
        checkConfinement(of: "The registration of a descriptor")
        guard let handler = registrations.remove(registration) else { return }
        _ = cll_epoll_remove(poll, descriptor)
        withExtendedLifetime(handler) {}
    }

    /// Calls `handler` again in the next turn, with an empty readiness, without waiting for the kernel.
    package func callAgain(_ handler: any ReadinessHandler) {
        checkConfinement(of: "The list of handlers to call again")
        unfinished.append(handler)
    }

    // MARK: On the loop: timers

    /// Arms `timer`, or moves it if it is armed. To postpone it, only its deadline is stored: the heap is updated when
    /// the earlier deadline comes.
    package func arm(_ timer: LoopTimer, at deadline: Int64, for target: any LoopTimerTarget) {
        checkConfinement(of: "A timer")
        let before = timers.arm(timer, at: deadline, for: target)
        withExtendedLifetime(before) {}
    }

    package func disarm(_ timer: LoopTimer) {
        checkConfinement(of: "A timer")
        let target = timers.disarm(timer)
        withExtendedLifetime(target) {}
    }

    /// The number of armed timers, for checks that none is left behind.
    package var armedTimerCount: Int { timers.count }
    package var registrationCount: Int { registrations.count }

    // MARK: Running

    /// Runs the loop on the calling thread until another thread takes it.
    func run() {
        noteRunning(true)
        defer { noteRunning(false) }
        switch clock {
        case .monotonic: while round() {}
        case .stepped: while !hasEnded, round() {}
        }
    }

    /// A turn and the callouts after it. Returns false if another thread has taken the loop.
    @inline(__always)
    private func round() -> Bool {
        turn()
        return hasCallouts ? callOutLent() : true
    }

    private var hasCallouts: Bool {
        lock.lock()
        defer { lock.unlock() }
        return !callouts.isEmpty
    }

    /// Makes the callouts with the loop lent. Returns false if another thread has the loop when the callbacks are done.
    private func callOutLent() -> Bool {
        noteRunning(false)
        let lent = baton.load(ordering: .relaxed) &+ 3 & ~1 | 1
        // Sequentially consistent with the store of `LoopWatch` before it sleeps: either the watch observes that the
        // loop is lent, or this thread observes that the watch sleeps.
        baton.store(lent, ordering: .sequentiallyConsistent)
        if case .monotonic = clock { LoopWatch.shared.noteLending() }
        while let callout = nextCallout() {
            callout.callOut()
            if baton.load(ordering: .relaxed) != lent { return false }
        }
        guard take(lent: lent) else { return false }
        noteRunning(true)
        return true
    }

    private func nextCallout() -> (any Callout)? {
        lock.lock()
        defer { lock.unlock() }
        return callouts.popFirst()
    }

    /// Takes the loop from a thread that has been in callbacks since `lent` was read. Returns false if that thread has
    /// just returned.
    func take(lent: UInt64) -> Bool {
        baton.compareExchange(expected: lent, desired: lent & ~1, ordering: .acquiringAndReleasing).exchanged
    }

    /// One turn: wait, handle what is ready, fire due timers and run posted jobs.
    private func turn() {
        fetchEvents()
        if !unfinished.isEmpty { continueUnfinished() }
        if timers.nextDeadline <= now { fireTimers() }
        runJobs()
    }

    private func fetchEvents() {
        // While there is other work, the kernel is polled only every eighth turn. A timer that is due is preceded by
        // what has become ready.
        if turnsWithoutPoll < 8, !unfinished.isEmpty || hasJobs && timers.nextDeadline > now {
            turnsWithoutPoll += 1
            return
        }
        turnsWithoutPoll = 0
        guard hasDescriptors else { return waitForDescriptors() }
        let timeout = timeToSleep()
        let count = Int(cll_epoll_wait(poll, events, Int32(Self.eventCapacity), timeout))
        if timeout != 0 { noteAwake() }
        readClock()
        guard count > 0 else { return }
        // Jobs that were posted before a socket became ready run first: a load that was resumed in time is in the line
        // when a connection becomes free.
        runJobs()
        for index in 0..<count {
            let event = events + index
            let token = cll_event_token(event)
            if token == Self.wakeupToken { continue }
            let registration = LoopRegistration(token: token)
            // A handler that was called earlier in this turn may have closed this one's descriptor.
            guard let handler = registrations.handler(of: registration) else { continue }
            handler.becameReady(Readiness(epoll: event.pointee.events))
        }
    }

    /// Without descriptors, nothing can be connected, but timers and posted work go on. Posted work does not wake this
    /// thread, because the event for that is missing.
    private func waitForDescriptors() {
        readClock()
        if unfinished.isEmpty, !hasJobs, !hasCallouts, timers.nextDeadline > now {
            usleep(UInt32(limits.loopRetry / 1000))
            readClock()
        }
    }

    private var hasJobs: Bool {
        lock.lock()
        defer { lock.unlock() }
        return !inbox.isEmpty
    }

    /// Nanoseconds until the next work; negative if there is no limit. Zero keeps the loop awake.
    private func timeToSleep() -> Int64 {
        if !unfinished.isEmpty { return 0 }
        var deadline = timers.nextDeadline
        let isTimeKnown = deadline != .max || wasBorrowed
        if isTimeKnown {
            readClock()
            if deadline <= now { return 0 }
        }
        // A borrower that arms an earlier timer than the loop's thread waits for has to wake it. So until `wakeTime`
        // has passed, no sleep ends later: the timers of most requests are alike.
        if wasBorrowed {
            if wakeTime <= now { wasBorrowed = false } else { deadline = min(deadline, wakeTime) }
        }
        lock.lock()
        defer { lock.unlock() }
        guard inbox.isEmpty, callouts.isEmpty else { return 0 }
        isAsleep = true
        wakeTime = deadline
        // A change of a stepped clock wakes the loop.
        guard case .monotonic = clock else { return -1 }
        if !callers.isEmpty {
            if !isTimeKnown { readClock() }
            if callers.noteSleep(at: now) { deadline = min(deadline, now + limits.gathering) }
        }
        return deadline == .max ? -1 : deadline - now
    }

    /// Here and not in `LoopClock`, because the optimiser does not see into that module.
    @inline(__always)
    private var time: Int64 {
        switch clock {
        case .monotonic: cll_now()
        case .stepped(let time): time.now
        }
    }

    @inline(__always)
    private func readClock() { turnTime = time }

    private func continueUnfinished() {
        swap(&unfinished, &spareUnfinished)
        for handler in spareUnfinished { handler.becameReady([]) }
        spareUnfinished.removeAll(keepingCapacity: spareUnfinished.capacity <= Self.keptCapacity)
    }

    private func fireTimers() {
        while let (timer, target) = timers.popDue(now) { target.timerFired(timer) }
    }

    private func runJobs() {
        lock.lock()
        swap(&inbox, &jobs)
        lock.unlock()
        guard !jobs.isEmpty else { return }
        readClock()
        // Not `enumerated()`, which in a debug build takes two thousand instructions for each job.
        var count = 0
        while count < jobs.count {
            jobs[count].run()
            count += 1
            // Sends the requests of the jobs so far, so that servers start on them while the other jobs run.
            if count % Self.jobsTogether == 0, !unfinished.isEmpty { continueUnfinished() }
        }
        jobs.removeAll(keepingCapacity: jobs.capacity <= Self.keptCapacity)
    }

    // MARK: Stepping

    package var isStepped: Bool { if case .stepped = clock { true } else { false } }

    /// When the next timer may be due; `Int64.max` if there is none. Called on the loop.
    package var nextDeadline: Int64 { timers.nextDeadline }

    /// Whether there is no work until the clock moves or an event arrives from outside. Called within a job.
    package var isAtRest: Bool {
        guard unfinished.isEmpty, timers.nextDeadline > clock.now, jobs.count <= 1 else { return false }
        lock.lock()
        defer { lock.unlock() }
        // The descriptor of `epoll` is itself readable while it has pending events.
        var asked = pollfd(fd: poll, events: Int16(POLLIN), revents: 0)
        return inbox.isEmpty && callouts.isEmpty && Glibc.poll(&asked, 1, 0) == 0
    }

    /// Hands the loop to another thread if it has been lent since `word` was returned. Returns the current word; nil if
    /// the loop was handed over. Called on any thread: by `LoopWatch`, and by tests for a loop with a stepped clock.
    package func checkLending(since word: UInt64) -> UInt64? {
        let current = baton.load(ordering: .acquiring)
        guard current & 1 == 1, current == word, take(lent: current) else { return current }
        LoopThread.run(self)
        return nil
    }

    /// Ends a loop with a stepped clock when all work that was posted until then is done. Called on any thread.
    package func stop() { post { self.isStopping = true } }

    private var hasEnded: Bool {
        guard isStopping else { return false }
        lock.lock()
        defer { lock.unlock() }
        return inbox.isEmpty && callouts.isEmpty
    }
}
