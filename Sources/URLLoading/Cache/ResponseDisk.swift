internal import Foundation
internal import LoadingSemantics
internal import LoadingStorage
internal import Synchronization

/// The disk tier of a cache. All operations run on its own thread, in order; a loop gets results later. That there is
/// no response is known at once: without an index file, or once its keys are listed. What others have changed is
/// checked at intervals.
final class ResponseDisk: FlushedStore {
    typealias Answer = @Sendable (CachedURLResponse?) -> Void

    private let directory: StorageDirectory
    private let thread: StorageThread<ResponseArchive>
    /// Whether the thread was ever used.
    private let isUsed = Atomic(false)
    /// Whether a response was ever to be stored.
    private let isWritten = Atomic(false)
    /// Whether there was no index at the last check.
    private let isWithoutIndex = Atomic(false)
    /// When to check again, in seconds of the monotonic clock.
    private let nextLook = Atomic<Int>(0)
    /// Whether a check is pending.
    private let isLooking = Atomic(false)
    /// The size of pending writes in bytes.
    private let waiting = Atomic<Int>(0)
    /// The pending lookups of loads, and when the last of them was answered, or the first began to wait, in seconds of
    /// the monotonic clock.
    private let waitingLookups = Atomic<Int>(0)
    private let lastAnswer = Atomic<Int>(0)
    /// What this process has stored in the folder, and how much of that this cache has.
    private let changes: FolderChanges
    private let ownChanges = Atomic<Int>(0)
    /// What others had stored at the last check.
    private let seenChanges: Atomic<Int>
    /// What may be in the archive.
    private let keys = StoredKeys()
    /// The pending removals, ordered after earlier writes.
    private let removals = WaitingRemovals()

    /// The limit of pending writes in bytes. Beyond it responses are not written, so a slow disk does not fill the
    /// memory.
    private static let mostWaiting = 16 << 20

    /// - Parameter capacity: In bytes.
    init(in directory: StorageDirectory, capacity: Int) {
        self.directory = directory
        changes = FolderChanges.of(directory)
        seenChanges = Atomic(changes.count)
        thread = StorageThread(named: "url-store") {
            ResponseArchive(in: directory, capacity: Int64(capacity), notify: StorageMessage.show)
        }
    }

    deinit { ExitFlush.shared.remove(self) }

    /// Checks for an index before the first load, which then needs no other thread. May wait for the disk.
    func prepare() {
        if isUsed.load(ordering: .relaxed) || isWithoutIndex.load(ordering: .relaxed) { return }
        noteIndex(exists: ResponseArchive.mayExist(in: directory))
    }

    private func noteIndex(exists: Bool) {
        if exists { return }
        keys.noteNoIndex()
        if isWithoutIndex.exchange(true, ordering: .relaxed) { return }
        nextLook.store(CoarseClock.now + TimeLimits.standard.storeCheck, ordering: .relaxed)
    }

    /// Whether responses may be stored, as far as known without disk access.
    var mayHoldAnything: Bool {
        if isWritten.load(ordering: .relaxed) || !isWithoutIndex.load(ordering: .relaxed) { return true }
        _ = lookAgain()
        return isOutdated
    }

    /// What other caches of this process have stored in the folder.
    private var changesOfOthers: Int { changes.count - ownChanges.load(ordering: .relaxed) }

    /// Whether they have stored something since the last check.
    private var isOutdated: Bool { changesOfOthers != seenChanges.load(ordering: .relaxed) }

    /// What is known of the keys without disk access.
    enum Knowledge {
        /// There is none.
        case nothing
        /// `mayHold` says which there may be.
        case listed
        /// Others may have stored some since the last check: a lookup is done after the next one.
        case outdated
    }

    /// For lookups of the loader, which may miss what other processes have stored since the last check.
    var knowledge: Knowledge {
        guard mayHoldAnything else { return .nothing }
        if lookAgain() || isOutdated { return .outdated }
        return keys.excludeAll ? .nothing : .listed
    }

    /// Whether there may be a response for a key.
    func mayHold(_ key: CacheKey) -> Bool { !keys.exclude(key) }

    /// Starts a check of what others have stored, if one is due. Returns whether it was: a lookup that follows is done
    /// after it.
    private func lookAgain() -> Bool {
        let now = CoarseClock.now
        let next = nextLook.load(ordering: .relaxed)
        guard now >= next,
            nextLook.compareExchange(expected: next, desired: now + TimeLimits.standard.storeCheck, ordering: .relaxed)
                .exchanged,
            !isLooking.exchange(true, ordering: .relaxed)
        else { return false }
        perform { [self] archive in
            let seen = changesOfOthers
            isWithoutIndex.store(!archive.hasIndex, ordering: .relaxed)
            keys.refresh(from: archive)
            seenChanges.store(seen, ordering: .relaxed)
            isLooking.store(false, ordering: .relaxed)
        }
        return true
    }

    /// Whether no lookup has been answered for so long that loads which the server can answer wait for none. This also
    /// bounds their number.
    var isStalled: Bool {
        waitingLookups.load(ordering: .acquiring) > 0
            && CoarseClock.now - lastAnswer.load(ordering: .relaxed)
                >= Int(TimeLimits.standard.cacheLookup / TimeLimits.seconds(1))
    }

    func find(_ key: CacheKey, _ answer: @escaping Answer) {
        // Before it counts: the disk is not stalled because none was asked for long.
        if waitingLookups.load(ordering: .relaxed) == 0 { lastAnswer.store(CoarseClock.now, ordering: .relaxed) }
        waitingLookups.add(1, ordering: .releasing)
        perform { [self] archive in
            let seen = changesOfOthers
            let found = response(for: key, in: archive)
            answer(found)
            lastAnswer.store(CoarseClock.now, ordering: .relaxed)
            waitingLookups.subtract(1, ordering: .releasing)
            if keys.noteLookup(isVain: found == nil, in: archive) { seenChanges.store(seen, ordering: .relaxed) }
        }
    }

    /// Blocks.
    func find(_ key: CacheKey) -> CachedURLResponse? { wait { [self] in response(for: key, in: $0) } }

    private func response(for key: CacheKey, in archive: ResponseArchive) -> CachedURLResponse? {
        if let found = archive.response(for: key) { return found }
        noteIndex(exists: archive.hasIndex)
        return nil
    }

    /// Stores a response, which replaces the one with its key, or only removes that one.
    ///
    /// - Parameters:
    ///   - loaded: Of a response that was loaded while another was stored. It does not replace a more recent one,
    ///     and is then removed from the memory of the cache too.
    ///   - number: Its number among the waiting stores. It is not stored if its key was changed in memory since: the
    ///     later change may have come to the disk first.
    func store(
        _ response: CachedURLResponse, for key: CacheKey, at time: Date, _ loaded: StoredResponse?,
        as number: UInt64, of stores: WaitingStores, for cache: URLCache
    ) {
        isWritten.store(true, ordering: .relaxed)
        let cache = loaded == nil ? nil : cache
        let isEnqueued = performCounted(response, key, keys) { archive in
            guard stores.take(number, of: key) else { return }
            if let loaded, let stored = archive.entry(for: key)?.head.response, loaded.isOutdated(by: stored) {
                cache?.remove(response, outdatedOnDisk: key)
                return
            }
            if !archive.store(response, for: key, at: time) { archive.remove(key) }
        }
        if !isEnqueued, stores.take(number, of: key) { remove([key]) }
    }

    /// Replaces the metadata of a stored response, if the stored one still has the same body.
    func replaceHead(of old: CachedURLResponse, with new: CachedURLResponse, for key: CacheKey) {
        let isEnqueued = performCounted(new, key) { archive in
            guard let entry = archive.entry(for: key), entry.head.response == old.facts,
                let head = ArchivedResponse(new)
            else { return }
            archive.update(entry, head)
        }
        if !isEnqueued { remove([key]) }
    }

    /// Enqueues an operation that keeps a response in memory until then. Returns false if too much is pending: then the
    /// key's response is only to be removed.
    ///
    /// - Parameter keys: Nil if the operation adds no key.
    private func performCounted(
        _ response: CachedURLResponse, _ key: CacheKey, _ keys: StoredKeys? = nil,
        _ work: @escaping @Sendable (ResponseArchive) -> Void
    ) -> Bool {
        if waiting.load(ordering: .relaxed) > Self.mostWaiting { return false }
        let size = ResponseMemory.size(of: response, key: key.text)
        waiting.add(size, ordering: .relaxed)
        // Before the write, so that no lookup misses it.
        keys?.willWrite(key)
        perform { [self] archive in
            work(archive)
            if let keys {
                keys.noteWritten(key, in: archive)
                ownChanges.add(1, ordering: .relaxed)
                changes.note()
            }
            waiting.subtract(size, ordering: .relaxed)
        }
        removals.close()
        return true
    }

    func remove(_ keys: [CacheKey]) {
        guard let batch = removals.add(keys) else { return }
        perform { [removals] archive in
            guard let keys = removals.take(batch) else { return archive.removeAll() }
            for key in keys { archive.remove(key) }
        }
    }

    func removeAll() {
        perform { [keys] archive in
            archive.removeAll()
            keys.list(archive)
        }
    }

    func removeAll(since time: Date) {
        perform { $0.remove(since: time.timeIntervalSince1970) }
    }

    /// Blocks until excess responses are evicted.
    ///
    /// - Parameter capacity: Evaluated on the thread, so that the last of several concurrent changes applies.
    func setCapacity(_ capacity: @escaping @Sendable () -> Int) { wait { $0.capacity = Int64(capacity()) } }

    /// In bytes. Blocks.
    var usage: Int { Int(clamping: wait { $0.usage }) }

    /// Calls when all earlier operations are done.
    func flush(_ done: @escaping @Sendable () -> Void) {
        guard isUsed.load(ordering: .relaxed) else { return done() }
        perform { archive in
            archive.flush()
            done()
        }
    }

    private func perform(_ work: @escaping @Sendable (ResponseArchive) -> Void) {
        noteUse()
        thread.perform(work)
    }

    private func wait<Value: Sendable>(_ work: @escaping @Sendable (ResponseArchive) -> Value) -> Value {
        noteUse()
        return thread.wait(work)
    }

    private func noteUse() {
        if !isUsed.exchange(true, ordering: .relaxed) { ExitFlush.shared.add(self) }
    }
}

extension ResponseArchive {
    fileprivate func response(for key: CacheKey) -> CachedURLResponse? {
        guard let (entry, body) = whole(for: key) else { return nil }
        guard let response = CachedURLResponse(entry.head, body) else {
            remove(entry)
            return nil
        }
        return response
    }

    /// False if the response is not stored.
    fileprivate func store(_ response: CachedURLResponse, for key: CacheKey, at time: Date) -> Bool {
        guard let head = ArchivedResponse(response) else { return false }
        return store(head, body: response.data, for: key, at: time.timeIntervalSince1970)
    }
}
