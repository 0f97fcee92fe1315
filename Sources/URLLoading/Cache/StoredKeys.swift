internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingStorage

/// The keys that the disk tier may hold, as hashes in memory: most lookups find nothing, and need no disk for that.
///
/// The set is listed from the archive, and gets each key that is to be stored before it is written. It may contain keys
/// that are gone; then the disk is asked in vain. What other processes have stored is missing until `refresh`.
final class StoredKeys: @unchecked Sendable {
    // Sendable: `lock` guards the mutable state.
    private let lock = Lock()
    /// Nil while the keys are unknown.
    private var hashes: HashSet?
    /// The keys that are not written yet, and how many writes of each. Thousands may wait, so they are not in a list.
    private var waiting: [UInt64: Int] = [:]
    /// The state of the archive whose keys are listed.
    private var state: ResponseArchive.State?
    /// Whether a key was ever to be written.
    private var hasWrites = false
    /// With more, those that are gone take too much memory, and the keys are listed again.
    private var mostKeys = 4096
    /// Lookups on the disk that have found nothing, since the keys were listed.
    private var vainLookups = 0

    private static func hash(_ key: CacheKey) -> UInt64 {
        // 0 is an empty place of a set.
        UInt64(bitPattern: Int64(key.text.hashValue)) | 1
    }

    // MARK: From any thread

    /// Whether the archive certainly has no such key, as far as this process knows.
    func exclude(_ key: CacheKey) -> Bool {
        lock.withLock {
            guard let hashes else { return false }
            return hashes.isEmpty || !hashes.contains(Self.hash(key))
        }
    }

    /// Whether the archive certainly has no key at all, as far as this process knows.
    var excludeAll: Bool { lock.withLock { hashes?.isEmpty ?? false } }

    /// The key is about to be written. `noteWritten` follows.
    func willWrite(_ key: CacheKey) {
        let hash = Self.hash(key)
        lock.withLock {
            hasWrites = true
            waiting[hash, default: 0] += 1
            hashes?.insert(hash)
        }
    }

    /// There is no index, so there are no keys but those that this process has written since.
    func noteNoIndex() {
        lock.withLock { if hashes == nil, !hasWrites { hashes = HashSet() } }
    }

    // MARK: On the archive's thread

    /// A write that was announced is done.
    func noteWritten(_ key: CacheKey, in archive: ResponseArchive) {
        let hash = Self.hash(key)
        let mustList = lock.withLock {
            if let count = waiting[hash] { waiting[hash] = count > 1 ? count - 1 : nil }
            return (hashes?.count ?? 0) > mostKeys
        }
        if mustList { list(archive) }
    }

    /// A lookup is done. Lists the keys if they are unknown, or if too many of them are gone.
    ///
    /// - Returns: Whether the keys were listed.
    @discardableResult
    func noteLookup(isVain: Bool, in archive: ResponseArchive) -> Bool {
        let mustList = lock.withLock {
            guard let hashes else { return true }
            if isVain { vainLookups += 1 }
            // Listing costs less than so many lookups.
            return vainLookups > 32 + hashes.count / 64
        }
        if mustList { list(archive) }
        return mustList
    }

    /// Lists the keys if another process has changed the archive, or the index is another file.
    func refresh(from archive: ResponseArchive) {
        let known = lock.withLock { hashes == nil ? nil : state }
        if let known, known == archive.state { return }
        list(archive)
    }

    func list(_ archive: ResponseArchive) {
        var listed = HashSet()
        // The state is read first, so that a later change is noticed.
        let state = archive.state
        let isWhole = archive.forEachKey { listed.insert(Self.hash($0)) }
        lock.withLock {
            for hash in waiting.keys { listed.insert(hash) }
            hashes = isWhole ? listed : nil
            mostKeys = 4 * listed.count + 4096
            self.state = state
            vainLookups = 0
        }
    }
}

/// A set of numbers that are already hashes. A set of the standard library would hash them again.
struct HashSet {
    /// A power of two, at least twice the count. 0 is an empty place.
    private var places: [UInt64] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    func contains(_ hash: UInt64) -> Bool {
        if places.isEmpty { return false }
        return places[place(of: hash)] == hash
    }

    /// - Parameter hash: Not 0.
    mutating func insert(_ hash: UInt64) {
        if places.count < 2 * (count + 1) { grow() }
        let place = place(of: hash)
        if places[place] == 0 { count += 1 }
        places[place] = hash
    }

    private mutating func grow() {
        let old = places
        places = Array(repeating: 0, count: max(16, 2 * old.count))
        for hash in old where hash != 0 { places[place(of: hash)] = hash }
    }

    /// The place that has the number, or the empty one for it. Half of the places are empty, so there is one.
    private func place(of hash: UInt64) -> Int {
        let mask = places.count - 1
        // The lowest bit is always 1.
        var place = Int(truncatingIfNeeded: hash >> 1) & mask
        while places[place] != 0, places[place] != hash { place = (place + 1) & mask }
        return place
    }
}
