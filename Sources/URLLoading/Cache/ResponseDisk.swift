internal import Foundation
internal import Glibc
internal import LoadingSemantics
internal import LoadingStorage
internal import Synchronization

/// The tier of a cache that is on disk. All of it is done on a thread of its own, in the order of asking; who wants an
/// answer on a loop gets it later. Where there is no index, and nothing was stored, the answer is known without asking; that
/// others have made one is looked for once in a while.
final class ResponseDisk: FlushedStore {
    typealias Answer = @Sendable (CachedURLResponse?) -> Void

    private let thread: StorageThread<ResponseArchive>
    /// Whether the thread was ever asked for anything.
    private let isUsed = Atomic(false)
    /// Whether anything was ever to be stored here.
    private let isWritten = Atomic(false)
    /// Whether there was no index when the thread looked last.
    private let isWithoutIndex = Atomic(false)
    /// When to look again, in seconds of a clock that never jumps.
    private let nextLook = Atomic<Int>(0)
    /// Whether the thread has been asked to look, and has not yet.
    private let isLooking = Atomic(false)
    /// The bytes of the responses that wait to be written.
    private let waiting = Atomic<Int>(0)
    /// What waits to be removed, behind all that was to be written before.
    private let removals = WaitingRemovals()

    /// A disk that is slower than the network does not fill the memory: beyond this, responses are not written.
    private static let mostWaiting = 16 << 20

    /// - Parameter capacity: In bytes.
    init(in directory: StorageDirectory, capacity: Int) {
        thread = StorageThread(named: "url-store") {
            ResponseArchive(in: directory, capacity: Int64(capacity), notify: StorageMessage.show)
        }
    }

    deinit { ExitFlush.shared.remove(self) }

    /// Whether anything may be stored, as far as that is known without touching the disk.
    var mayHoldAnything: Bool {
        if isWritten.load(ordering: .relaxed) || !isWithoutIndex.load(ordering: .relaxed) { return true }
        lookAgain()
        return false
    }

    private func lookAgain() {
        let now = Self.now
        let next = nextLook.load(ordering: .relaxed)
        guard now >= next,
            nextLook.compareExchange(expected: next, desired: now + TimeLimits.standard.storeCheck, ordering: .relaxed)
                .exchanged,
            !isLooking.exchange(true, ordering: .relaxed)
        else { return }
        perform { [self] archive in
            isWithoutIndex.store(!archive.hasIndex, ordering: .relaxed)
            isLooking.store(false, ordering: .relaxed)
        }
    }

    private static var now: Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
        return now.tv_sec
    }

    func find(_ key: CacheKey, _ answer: @escaping Answer) {
        perform { [self] in answer(response(for: key, in: $0)) }
    }

    /// Waits.
    func find(_ key: CacheKey) -> CachedURLResponse? { wait { [self] in response(for: key, in: $0) } }

    private func response(for key: CacheKey, in archive: ResponseArchive) -> CachedURLResponse? {
        if let found = archive.response(for: key) { return found }
        if !archive.hasIndex, !isWithoutIndex.exchange(true, ordering: .relaxed) {
            nextLook.store(Self.now + TimeLimits.standard.storeCheck, ordering: .relaxed)
        }
        return nil
    }

    /// Stores a response in the place of what its key had, or only removes that.
    func store(_ response: CachedURLResponse, for key: CacheKey, at time: Date) {
        isWritten.store(true, ordering: .relaxed)
        performCounted(response, key) { archive in
            if !archive.store(response, for: key, at: time) { archive.remove(key) }
        }
    }

    /// Puts a response in the place of one with the same body, if it is that which is stored.
    func replaceHead(of old: CachedURLResponse, with new: CachedURLResponse, for key: CacheKey) {
        performCounted(new, key) { archive in
            guard let entry = archive.entry(for: key), entry.head.response == old.facts,
                let head = ArchivedResponse(new)
            else { return }
            archive.update(entry, head)
        }
    }

    /// Does what has that response wait in memory until then; only removes what its key has if too much waits.
    private func performCounted(
        _ response: CachedURLResponse, _ key: CacheKey, _ work: @escaping @Sendable (ResponseArchive) -> Void
    ) {
        if waiting.load(ordering: .relaxed) > Self.mostWaiting { return remove([key]) }
        let size = ResponseMemory.size(of: response, key: key.text)
        waiting.add(size, ordering: .relaxed)
        perform { [self] archive in
            work(archive)
            waiting.subtract(size, ordering: .relaxed)
        }
        removals.close()
    }

    func remove(_ keys: [CacheKey]) {
        guard let batch = removals.add(keys) else { return }
        perform { [removals] archive in
            guard let keys = removals.take(batch) else { return archive.removeAll() }
            for key in keys { archive.remove(key) }
        }
    }

    func removeAll() {
        perform { $0.removeAll() }
    }

    func removeAll(since time: Date) {
        perform { $0.remove(since: time.timeIntervalSince1970) }
    }

    /// Waits until what no longer fits is gone.
    ///
    /// - Parameter capacity: Is asked when it comes to that: of several that are set at a time the last one holds.
    func setCapacity(_ capacity: @escaping @Sendable () -> Int) { wait { $0.capacity = Int64(capacity()) } }

    /// In bytes. Waits.
    var usage: Int { Int(clamping: wait { $0.usage }) }

    /// Calls when all that was asked for is done.
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
        guard let entry = entry(for: key), let body = body(of: entry) else { return nil }
        guard let response = CachedURLResponse(entry.head, body) else {
            remove(entry)
            return nil
        }
        return response
    }

    /// False if it is not stored.
    fileprivate func store(_ response: CachedURLResponse, for key: CacheKey, at time: Date) -> Bool {
        guard let head = ArchivedResponse(response) else { return false }
        return store(head, body: response.data, for: key, at: time.timeIntervalSince1970)
    }
}
