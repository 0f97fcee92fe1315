internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingStorage
internal import Synchronization

/// The records of one store, in memory and in a file or keyring that is updated from memory.
///
/// The file is read on first access, on the store's thread, which also writes. A loop never blocks on it: it checks
/// ``isLoaded`` and continues in ``whenLoaded(_:)``. Other threads block. Accesses check for changes of other processes
/// at intervals; these are adopted if the memory has not changed meanwhile.
final class PersistentRecords<Memory: RecordMemory>: FlushedStore, @unchecked Sendable {
    // Sendable: the mutable state is guarded by `lock`, or atomic. The lock also separates accesses to the memory, so
    // exclusive access to it is not checked.
    typealias Change = RecordChange<Memory.Record>

    private typealias AnyRecordStore = any RecordStore<Memory.Record>

    /// Held while `firstReading`'s is taken, and that of a cookie storage.
    private let lock = Lock(.middle)
    @exclusivity(unchecked) private var memory: Memory
    /// Nil for a store in memory only.
    private let file: File?

    private var reading = Reading.toDo
    /// Whether the file was lost and the new one could not be read yet. Confined to the store's thread.
    private var isLost = false
    private var unwritten = PendingChanges<Memory.Record>()
    /// Counts the changes of the memory, including those that are not persistent.
    private var changeCount: UInt64 = 0
    /// Whether a write is pending.
    private var isWriteOrdered = false
    /// Whether the last attempt to adopt the file failed. Then changes may remain that are not reported again.
    private var isBehind = false
    /// Whether the thread was ever used.
    private var isFileUsed = false
    private var externalChangeHandler: (@Sendable () -> Void)?
    /// Of the file.
    private let firstReading = FirstReading()
    private let checkInterval: Int
    /// When to check for changes of other processes, in seconds of the monotonic clock.
    private let nextLook = Atomic<Int>(0)
    /// Whether such a check is pending.
    private let isLooking = Atomic(false)

    /// Whether there may be a file, as `prepare` has found.
    private var isFileExpected = false

    /// The state of the first read of the file.
    private enum Reading { case toDo, ordered, begun }

    private struct File: Sendable {
        /// Whether the file may contain records. Takes a few system calls.
        let mayHold: @Sendable () -> Bool
        let thread: StorageThread<AnyRecordStore>
    }

    /// A store in memory only.
    fileprivate init(_ memory: Memory) {
        self.memory = memory
        checkInterval = 0
        file = nil
    }

    /// - Parameters:
    ///   - checkInterval: The interval in seconds at which reads check for changes of other processes.
    ///   - mayHold: Whether there may be persistent records. Takes a few system calls.
    ///   - recordStore: Creates the record store, on the store's thread.
    fileprivate init(
        _ memory: Memory, checkInterval: Int, unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        recordStore: @escaping @Sendable () -> any RecordStore<Memory.Record>
    ) {
        self.memory = memory
        self.checkInterval = checkInterval
        file = File(mayHold: mayHold, thread: StorageThread(named: "url-store", recordStore))
    }

    deinit {
        if file != nil { ExitFlush.shared.remove(self) }
    }

    /// Whether the records are persistent.
    var isPersistent: Bool { file != nil }

    /// Finds out whether there is something to read, on a thread that may wait for the disk. A loop need not do that
    /// then.
    func prepare() {
        guard let file, !firstReading.isDone, lock.withLock({ reading == .toDo && !isFileExpected }) else { return }
        let mayHold = file.mayHold()
        lock.withLock {
            guard reading == .toDo, !firstReading.isDone else { return }
            if mayHold { isFileExpected = true } else { nothingIsToBeRead() }
        }
        // From now on others may store something.
        if !mayHold { nextLook.store(CoarseClock.now + checkInterval, ordering: .relaxed) }
    }

    /// There are no waiters yet, so none is called with the lock held.
    private func nothingIsToBeRead() {
        unwritten.known = []
        firstReading.end()
    }

    /// Whether the store can be accessed without blocking on the disk.
    var isLoaded: Bool {
        guard let file else { return true }
        guard firstReading.isDone else { return false }
        readExternalChanges(in: file)
        return true
    }

    /// Whether all persistent records are known. False if the file could not be read, or if a keyring may contain more.
    var isAllKnown: Bool {
        waitUntilLoaded()
        return file == nil || lock.withLock { unwritten.known != nil }
    }

    /// Calls at once, or on the store's thread after the first read.
    func whenLoaded(_ body: @escaping @Sendable () -> Void) {
        if isLoaded || !isReadingNeeded(done: body) { body() }
    }

    /// Nil if the store cannot be accessed without blocking on the disk.
    func readIfLoaded<Result>(_ body: (inout Memory) -> Result) -> Result? {
        isLoaded ? lock.withLock { body(&memory) } : nil
    }

    func read<Result>(_ body: (inout Memory) -> Result) -> Result {
        waitUntilLoaded()
        return lock.withLock { body(&memory) }
    }

    /// - Parameter body: Adds its changes to the list of changes to write. Called with the lock held, so it must not
    ///   run the program's code, nor release the last reference to an object of the program.
    func change<Result>(_ body: (inout Memory, inout [Change]) -> Result) -> Result {
        waitUntilLoaded()
        var changes: [Change] = []
        var mustWrite = false
        let result = lock.withLock {
            let result = body(&memory, &changes)
            changeCount += 1
            if file == nil || changes.isEmpty { return result }
            unwritten.add(changes)
            if !isWriteOrdered {
                isWriteOrdered = true
                isFileUsed = true
                mustWrite = true
            }
            return result
        }
        // Outside of the lock: without a thread the write happens here, synchronously.
        if mustWrite, let file {
            ExitFlush.shared.add(self)
            orderWrite(of: file)
        }
        return result
    }

    /// Sets a function that is called on the store's thread after changes of other processes.
    func onExternalChange(_ handler: @escaping @Sendable () -> Void) {
        lock.withLock { externalChangeHandler = handler }
    }

    /// Calls `done` when all changes so far have been written or writing has failed; at once if there are none.
    func flush(_ done: @escaping @Sendable () -> Void) {
        guard let file, lock.withLock({ isFileUsed }) else { return done() }
        file.thread.perform { [self] recordStore in
            write(to: recordStore)
            done()
        }
    }

    // MARK: Reading

    private func waitUntilLoaded() {
        if isLoaded { return }
        guard let file, isReadingNeeded(done: nil) else { return }
        // The thread that requested the read may not have enqueued it yet.
        file.thread.wait { [self] recordStore in read(recordStore) }
    }

    /// Starts reading the file if necessary. False if it was read, or if there is none.
    private func isReadingNeeded(done: (@Sendable () -> Void)?) -> Bool {
        guard let file else { return false }
        // Checked once only.
        let (isToDo, isExpected) = lock.withLock { (reading == .toDo, isFileExpected) }
        let mayHold = isToDo && (isExpected || file.mayHold())
        var mustStart = false
        let isNeeded = lock.withLock {
            if firstReading.isDone { return false }
            if reading == .toDo {
                if !mayHold {
                    nothingIsToBeRead()
                    return false
                }
                reading = .ordered
                isFileUsed = true
                mustStart = true
            }
            return done.map { firstReading.add($0) } ?? true
        }
        if mustStart { file.thread.perform { [self] recordStore in read(recordStore) } }
        return isNeeded
    }

    /// Starts reading the file, if that has not begun.
    private func read(_ recordStore: AnyRecordStore) {
        let isFirst = lock.withLock {
            defer { reading = .begun }
            return reading != .begun
        }
        if !isFirst { return }
        takeOver(from: recordStore)
        firstReading.end()
    }

    /// Adopts the contents of the file, unless it cannot be read or the memory changes too fast.
    ///
    /// - Returns: Whether the records have changed, or all persistent records are known now and were not before.
    @discardableResult
    private func takeOver(from recordStore: AnyRecordStore) -> Bool {
        for _ in 0..<3 {
            let count = writeChanges(to: recordStore)
            guard let records = recordStore.loadIfPossible() else { break }
            // The file was found damaged or missing: the memory has records that the file has lost.
            if recordStore.hasLostFile() {
                isLost = true
                continue
            }
            // Outside of the lock, because it is slow.
            var other = lock.withLock { memory }
            let now = Date().timeIntervalSince1970
            let before = Set(other.persistent(at: now))
            let corrections = corrections(of: records, by: other.replacePersistent(with: records, at: now))
            let known = recordStore.isLoadedCompletely ? Set(records.map(\.identity)) : nil
            var hasChanged = Set(other.persistent(at: now)) != before
            let isTaken = lock.withLock {
                // Changes made since are not in the file yet.
                guard changeCount == count else { return false }
                // The old memory is released after the lock.
                swap(&memory, &other)
                isBehind = false
                if unwritten.known == nil, known != nil { hasChanged = true }
                unwritten.known = known
                return true
            }
            if !isTaken { continue }
            if !corrections.isEmpty {
                ExitFlush.shared.add(self)
                // Written as corrections, not as changes, because other processes may have stored the record again
                // since. Failed corrections are repeated at the next read.
                recordStore.correct(corrections)
            }
            return hasChanged
        }
        lock.withLock { isBehind = true }
        return false
    }

    /// Records that are not in the file need no correction.
    private func corrections(of records: [Memory.Record], by changes: [Change]) -> [RecordReplacement<Memory.Record>] {
        if changes.isEmpty { return [] }
        let read = Dictionary(records.map { ($0.identity, $0) }) { $1 }
        return changes.compactMap { change in
            switch change {
            case .stored(let new): read[new.identity].map { RecordReplacement($0, new: new) }
            case .removed(let identity): read[identity].map { RecordReplacement($0, new: nil) }
            case .everythingRemoved: nil
            }
        }
    }

    private func readExternalChanges(in file: File) {
        let now = CoarseClock.now
        let next = nextLook.load(ordering: .relaxed)
        guard now >= next,
            nextLook.compareExchange(expected: next, desired: now + checkInterval, ordering: .relaxed).exchanged,
            // The first check is not needed: the file was just read.
            next != 0, !isLooking.exchange(true, ordering: .relaxed)
        else { return }
        if lock.withLock({ isFileUsed }) { return orderLook(in: file) }
        // Without a file no permanent thread is started, and no loop blocks on the disk to check for one.
        let isStarted = DetachedThread.startIfPossible(named: "url-look") { [self] in
            if file.mayHold() { orderLook(in: file) } else { isLooking.store(false, ordering: .relaxed) }
        }
        if !isStarted { isLooking.store(false, ordering: .relaxed) }
    }

    private func orderLook(in file: File) {
        lock.withLock { isFileUsed = true }
        file.thread.perform { [self] recordStore in
            let isBehind = lock.withLock { self.isBehind }
            if recordStore.hasExternalChanges() || isBehind, takeOver(from: recordStore) {
                lock.withLock { externalChangeHandler }?()
            }
            isLooking.store(false, ordering: .relaxed)
        }
    }

    // MARK: Writing

    private func orderWrite(of file: File) {
        file.thread.perform { [self] recordStore in
            write(to: recordStore)
            let isLeft = lock.withLock {
                isWriteOrdered = !unwritten.isEmpty
                return isWriteOrdered
            }
            // Enqueued after other requests, so that continuous changes do not delay flushes.
            if isLeft { orderWrite(of: file) }
        }
    }

    private func write(to recordStore: AnyRecordStore) {
        _ = writeChanges(to: recordStore)
        recordStore.flush()
    }

    /// Writes all pending changes. A removed file is created again.
    ///
    /// - Returns: The change count that has been written.
    private func writeChanges(to recordStore: AnyRecordStore) -> UInt64 {
        if recordStore.hasLostFile() { isLost = true }
        if isLost, let there = recordStore.loadIfPossible() {
            isLost = false
            let memory = lock.withLock {
                // The contents of the new file were not adopted, and the change will not be reported again.
                isBehind = true
                return self.memory
            }
            // The process that created the new file may have changed records.
            let identities = Set(there.map(\.identity))
            let lost = memory.persistent(at: Date().timeIntervalSince1970).filter { !identities.contains($0.identity) }
            recordStore.apply(lost.map { .stored($0) })
        }
        let (changes, count) = lock.withLock { (unwritten.take(), changeCount) }
        if !changes.isEmpty { recordStore.apply(changes.list) }
        return count
    }
}

// These are not specialised, because each process makes four stores for its first session. Code that knows the memory's
// type asks the runtime by name for the type of the records, and the runtime then searches all conformances for that of
// the memory. Generic code brings the conformance along.
extension RecordMemory {
    /// A store in memory only.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    func records() -> PersistentRecords<Self> { PersistentRecords(self) }

    /// A store with its file in a directory.
    ///
    /// - Parameter checkInterval: The interval in seconds at which reads check for changes of other processes.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    func records(
        in directory: StorageDirectory, checkInterval: Int = TimeLimits.standard.storeCheck
    ) -> PersistentRecords<Self> {
        PersistentRecords(self, checkInterval: checkInterval, unlessEmpty: { directory.mayHold(Record.schema) }) {
            RecordArchive<Record>(in: directory, notify: StorageMessage.show)
        }
    }

    /// - Parameters:
    ///   - checkInterval: The interval in seconds at which reads check for changes of other processes.
    ///   - mayHold: Whether there may be persistent records. Takes a few system calls.
    ///   - recordStore: Creates the record store, on the store's thread.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    func records(
        checkInterval: Int = TimeLimits.standard.storeCheck, unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        recordStore: @escaping @Sendable () -> any RecordStore<Record>
    ) -> PersistentRecords<Self> {
        PersistentRecords(self, checkInterval: checkInterval, unlessEmpty: mayHold, recordStore: recordStore)
    }
}

/// The in-memory part of a store. It contains all records: the persistent ones are read once, and then kept up to date.
protocol RecordMemory: Sendable {
    associatedtype Record: ArchivedRecord

    /// All persistent records.
    ///
    /// - Parameter now: Seconds since 1970. Records that have expired by then are not included.
    func persistent(at now: Double) -> [Record]

    /// Replaces all persistent records.
    ///
    /// - Returns: Changes for the file that they came from: removals of expired and excess records.
    mutating func replacePersistent(with records: [Record], at now: Double) -> [RecordChange<Record>]
}
