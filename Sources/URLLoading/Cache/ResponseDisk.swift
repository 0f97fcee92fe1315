internal import Foundation
internal import LoadingSemantics
internal import LoadingStorage
internal import Synchronization

/// The tier of a cache that is on disk. All of it is done on a thread of its own, in the order of asking; who wants an
/// answer on a loop gets it later.
final class ResponseDisk: FlushedStore {
    typealias Answer = @Sendable (CachedURLResponse?) -> Void

    private let directory: StorageDirectory
    private let thread: StorageThread<ResponseArchive>
    /// Whether the thread was ever asked for anything.
    private let isUsed = Atomic(false)
    /// The bytes of the bodies that wait to be written.
    private let waiting = Atomic<Int>(0)

    /// A disk that is slower than the network does not fill the memory: beyond this, responses are not written.
    private static let mostWaiting = 16 << 20

    /// - Parameter capacity: In bytes.
    init(in directory: StorageDirectory, capacity: Int) {
        self.directory = directory
        thread = StorageThread(named: "url-store") {
            ResponseArchive(in: directory, capacity: Int64(capacity), tell: StorageMessage.show)
        }
    }

    deinit { ExitFlush.shared.remove(self) }

    /// Whether anything may be stored. Where it is certain that nothing is, no thread is started to find that out.
    var mayHoldAnything: Bool { isUsed.load(ordering: .relaxed) || ResponseArchive.mayBeIn(directory) }

    func find(_ key: CacheKey, _ answer: @escaping Answer) {
        perform { answer($0.response(for: key)) }
    }

    /// Waits.
    func find(_ key: CacheKey) -> CachedURLResponse? { wait { $0.response(for: key) } }

    /// Stores a response in the place of what its key had, or only removes that.
    func store(_ response: CachedURLResponse, for key: CacheKey, at time: Date) {
        let count = response.data.count
        if waiting.load(ordering: .relaxed) > Self.mostWaiting { return remove([key]) }
        waiting.add(count, ordering: .relaxed)
        perform { [self] archive in
            if !archive.store(response, for: key, at: time) { archive.remove(key) }
            waiting.subtract(count, ordering: .relaxed)
        }
    }

    /// Puts a response in the place of one with the same body, if it is that which is stored.
    func replaceHead(of old: CachedURLResponse, with new: CachedURLResponse, for key: CacheKey) {
        guard mayHoldAnything else { return }
        perform { archive in
            guard let entry = archive.entry(for: key), entry.head.response == old.facts,
                let head = ArchivedResponse(new)
            else { return }
            archive.update(entry, head)
        }
    }

    func remove(_ keys: [CacheKey]) {
        if mayHoldAnything { perform { archive in for key in keys { archive.remove(key) } } }
    }

    func removeAll() {
        if mayHoldAnything { perform { $0.removeAll() } }
    }

    func removeAll(since time: Date) {
        if mayHoldAnything { perform { $0.remove(since: time.timeIntervalSince1970) } }
    }

    /// Waits until what no longer fits is gone.
    func setCapacity(_ capacity: Int) { wait { $0.capacity = Int64(capacity) } }

    /// In bytes. Waits.
    var usage: Int { mayHoldAnything ? Int(clamping: wait { $0.usage }) : 0 }

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
