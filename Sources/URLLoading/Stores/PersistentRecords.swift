internal import Foundation
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingStorage
internal import Synchronization

/// The records of one store: in memory, and in a file, or a keyring, that follows them.
///
/// The file is read when the store is asked first, on a thread of its own, which also writes. A loop never waits for it:
/// it asks ``isLoaded``, and goes on with ``whenLoaded(_:)``. Everybody else waits. What other processes have changed is
/// looked for while the store is asked, once in a while, and taken over if nothing has changed here meanwhile.
final class PersistentRecords<Memory: RecordMemory>: FlushedStore, @unchecked Sendable {
    // Sendable because what varies is guarded by `lock`, or atomic.
    typealias Change = RecordChange<Memory.Record>

    private typealias Keeper = any RecordStore<Memory.Record>

    /// Held while `firstReading`'s is taken, and that of a cookie storage.
    private let lock = Lock(.middle)
    private var memory: Memory
    /// Nil for a store that is in memory alone.
    private let file: File?

    private var reading = Reading.toDo
    /// Whether the file was lost, and what is there now could not be read yet. The thread's alone.
    private var isLost = false
    private var unwritten = PendingChanges<Memory.Record>()
    /// Of changes of the memory, also of those that are nothing to the file.
    private var changeCount: UInt64 = 0
    /// Whether the thread has been asked to write, and has not yet written all.
    private var isWriteOrdered = false
    /// Whether it could not be taken over when that was tried last. Then there may be news that nobody tells of again.
    private var isBehind = false
    /// Whether the thread was ever asked for anything.
    private var isFileUsed = false
    private var tellOfNews: (@Sendable () -> Void)?
    /// Of the file.
    private let firstReading = FirstReading()
    private let checkInterval: Int
    /// When to look for what others have done, in seconds of a clock that never jumps.
    private let nextLook = Atomic<Int>(0)
    /// Whether the thread has been asked to look, and has not yet.
    private let isLooking = Atomic(false)

    /// How far the first reading of the file is.
    private enum Reading { case toDo, ordered, begun }

    private struct File: Sendable {
        /// Whether there may be anything in it: false if it is certain that there is nothing. A few system calls.
        let mayHold: @Sendable () -> Bool
        let thread: StorageThread<Keeper>
    }

    /// A store that ends with the process.
    init(_ memory: Memory) {
        self.memory = memory
        checkInterval = 0
        file = nil
    }

    /// - Parameters:
    ///   - checkInterval: After how many seconds a read looks again for what others have done.
    ///   - mayHold: Whether there may be anything that lasts. A few system calls.
    ///   - keeper: Makes what keeps it, on the store's thread.
    init(
        _ memory: Memory, checkInterval: Int = TimeLimits.standard.storeCheck,
        unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        keeper: @escaping @Sendable () -> any RecordStore<Memory.Record>
    ) {
        self.memory = memory
        self.checkInterval = checkInterval
        file = File(mayHold: mayHold, thread: StorageThread(named: "url-store", keeper))
    }

    /// A store whose file is in that folder.
    convenience init(
        _ memory: Memory, checkInterval: Int = TimeLimits.standard.storeCheck, in directory: StorageDirectory
    ) {
        self.init(memory, checkInterval: checkInterval, unlessEmpty: { directory.mayHold(Memory.Record.schema) }) {
            RecordArchive<Memory.Record>(in: directory, notify: StorageMessage.show)
        }
    }

    deinit {
        if file != nil { ExitFlush.shared.remove(self) }
    }

    /// Whether they outlive the process.
    var isPersistent: Bool { file != nil }

    /// Whether the store can be asked without waiting for a disk.
    var isLoaded: Bool {
        guard let file else { return true }
        guard firstReading.isDone else { return false }
        lookForNews(in: file)
        return true
    }

    /// Whether all that lasts is known: false as long as the file could not be read, or a keyring that may have more.
    var isAllKnown: Bool {
        waitUntilLoaded()
        return file == nil || lock.withLock { unwritten.known != nil }
    }

    /// Calls at once, or on the store's thread when all has been read.
    func whenLoaded(_ body: @escaping @Sendable () -> Void) {
        if isLoaded || !isReadingNeeded(told: body) { body() }
    }

    /// Nil if the store cannot be asked without waiting for a disk.
    func readIfLoaded<Result>(_ body: (inout Memory) -> Result) -> Result? {
        isLoaded ? lock.withLock { body(&memory) } : nil
    }

    func read<Result>(_ body: (inout Memory) -> Result) -> Result {
        waitUntilLoaded()
        return lock.withLock { body(&memory) }
    }

    /// - Parameter body: Adds what it changes to the changes, for the file to follow. It is called with the lock held, so it
    ///   neither calls the caller's code nor lets go of the last reference to an object of his.
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
        // Outside of the lock: where no thread can be had, it is written here and now.
        if mustWrite, let file {
            ExitFlush.shared.add(self)
            orderWrite(of: file)
        }
        return result
    }

    /// Has it called when other processes have changed what is stored, on the store's thread.
    func onNews(_ tell: @escaping @Sendable () -> Void) { lock.withLock { tellOfNews = tell } }

    /// Says when the file has all changes so far, or cannot have them; at once if there is none.
    func flush(_ told: @escaping @Sendable () -> Void) {
        guard let file, lock.withLock({ isFileUsed }) else { return told() }
        file.thread.perform { [self] keeper in
            write(to: keeper)
            told()
        }
    }

    // MARK: Reading

    private func waitUntilLoaded() {
        if isLoaded { return }
        guard let file, isReadingNeeded(told: nil) else { return }
        // Whoever has ordered the reading may not have come so far yet.
        file.thread.wait { [self] keeper in read(keeper) }
    }

    /// Sees to it that the file is read. False if it has been, or if there is none.
    private func isReadingNeeded(told: (@Sendable () -> Void)?) -> Bool {
        guard let file else { return false }
        // Who has looked once looks no more.
        let mayHold = lock.withLock { reading == .toDo } && file.mayHold()
        var mustStart = false
        let isNeeded = lock.withLock {
            if firstReading.isDone { return false }
            if reading == .toDo {
                if !mayHold {
                    unwritten.known = []
                    // Nobody waits who would be called with the lock held: who asks first comes here.
                    firstReading.end()
                    return false
                }
                reading = .ordered
                isFileUsed = true
                mustStart = true
            }
            return told.map { firstReading.add($0) } ?? true
        }
        if mustStart { file.thread.perform { [self] keeper in read(keeper) } }
        return isNeeded
    }

    /// Reads the file, if that has not begun yet: then who asks is called by it.
    private func read(_ keeper: Keeper) {
        let isFirst = lock.withLock {
            defer { reading = .begun }
            return reading != .begun
        }
        if !isFirst { return }
        takeOver(from: keeper)
        firstReading.end()
    }

    /// Has what the file has, unless that cannot be read, or changes too fast.
    ///
    /// - Returns: Whether that is something else than before, or all that lasts is known now and was not.
    @discardableResult
    private func takeOver(from keeper: Keeper) -> Bool {
        for _ in 0..<3 {
            let count = writeChanges(to: keeper)
            guard let records = keeper.loadIfPossible() else { break }
            // It was found damaged just now, or was removed: memory has what the file has no more.
            if keeper.hasLostFile() {
                isLost = true
                continue
            }
            // Outside of the lock: it takes its time.
            var other = lock.withLock { memory }
            let now = Date().timeIntervalSince1970
            let before = Set(other.persistent(at: now))
            let corrections = corrections(of: records, by: other.replaceLasting(with: records, at: now))
            let known = keeper.isLoadedCompletely ? Set(records.map(\.identity)) : nil
            var isNews = Set(other.persistent(at: now)) != before
            let isTaken = lock.withLock {
                // What has changed here since is not in the file yet.
                guard changeCount == count else { return false }
                // Who was in memory is let go of after the lock, with all it has.
                swap(&memory, &other)
                isBehind = false
                if unwritten.known == nil, known != nil { isNews = true }
                unwritten.known = known
                return true
            }
            if !isTaken { continue }
            if !corrections.isEmpty {
                ExitFlush.shared.add(self)
                // Not as changes are written: others may have stored the same anew since it was read. What cannot be
                // corrected now will be when it is read again.
                keeper.correct(corrections)
            }
            return isNews
        }
        lock.withLock { isBehind = true }
        return false
    }

    /// What is not in the file need not be corrected there.
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

    private func lookForNews(in file: File) {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
        let next = nextLook.load(ordering: .relaxed)
        guard now.tv_sec >= next,
            nextLook.compareExchange(
                expected: next, desired: now.tv_sec + checkInterval, ordering: .relaxed
            ).exchanged,
            // The first time, all was read a moment ago.
            next != 0, !isLooking.exchange(true, ordering: .relaxed)
        else { return }
        if lock.withLock({ isFileUsed }) { return orderLook(in: file) }
        // Where there was no file, no thread is started that stays, and no loop waits for a disk to find that out.
        DispatchQueue.global(qos: .utility).async { [self] in
            if file.mayHold() { orderLook(in: file) } else { isLooking.store(false, ordering: .relaxed) }
        }
    }

    private func orderLook(in file: File) {
        lock.withLock { isFileUsed = true }
        file.thread.perform { [self] keeper in
            let isBehind = lock.withLock { self.isBehind }
            if keeper.hasExternalChanges() || isBehind, takeOver(from: keeper) { lock.withLock { tellOfNews }?() }
            isLooking.store(false, ordering: .relaxed)
        }
    }

    // MARK: Writing

    private func orderWrite(of file: File) {
        file.thread.perform { [self] keeper in
            write(to: keeper)
            let isLeft = lock.withLock {
                isWriteOrdered = !unwritten.isEmpty
                return isWriteOrdered
            }
            // Behind what else was asked for: a program that never stops keeps nobody from being told.
            if isLeft { orderWrite(of: file) }
        }
    }

    private func write(to keeper: Keeper) {
        _ = writeChanges(to: keeper)
        keeper.flush()
    }

    /// Writes what there is to write by now. A file that somebody has removed is made anew.
    ///
    /// - Returns: How many changes there were by then.
    private func writeChanges(to keeper: Keeper) -> UInt64 {
        if keeper.hasLostFile() { isLost = true }
        if isLost, let there = keeper.loadIfPossible() {
            isLost = false
            let memory = lock.withLock {
                // What is there was news, which nobody tells of again.
                isBehind = true
                return self.memory
            }
            // Who has made another file in its place may have changed what memory has.
            let identities = Set(there.map(\.identity))
            let lost = memory.persistent(at: Date().timeIntervalSince1970).filter { !identities.contains($0.identity) }
            keeper.apply(lost.map { .stored($0) })
        }
        let (changes, count) = lock.withLock { (unwritten.take(), changeCount) }
        if !changes.isEmpty { keeper.apply(changes.list) }
        return count
    }
}
