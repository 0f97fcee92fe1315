internal import CLoadingSQLite
package import FoundationEssentials
package import LoadingSemantics

/// The disk part of a cache: an index that contains small bodies, and a file for each larger body.
///
/// Operations are atomic: after a crash, a key has the old entry or the new one. A damaged body counts as missing.
/// Several processes may share an archive. Used by one thread at a time.
package final class ResponseArchive {
    private let index: PersistentDatabase
    private let bodies: BodyFolder

    /// In bytes.
    private var capacityInBytes: Int64
    /// Uses that are not recorded in the index yet, in order.
    private var uses: [Int64] = []
    /// Entries that were removed, or could not be replaced, while the index could not be written. Lookups skip them.
    private var removals = Removals()
    /// Whether the capacity was lowered, and excess entries are not evicted yet.
    private var mustEvict = false
    /// The generation of the index in which orphaned files were removed last.
    private var orphansRemoved: Int?
    /// Why body files cannot be written.
    private var bodyFailure: StorageFailure?
    /// Whether damage was reported.
    private var hasReportedDamage = false
    private let notify: @Sendable (StorageMessage) -> Void
    /// The total size of all entries, for a state of the index.
    private var knownUsage: (generation: Int, version: Int64, size: Int64)?

    private static let maximumUses = 64
    private static let largestHead = 1 << 20

    private struct Removals {
        var everything = false
        var keys: Set<String> = []
        /// Entries that were stored at or after this time.
        var since: Double?

        /// With more keys, everything is removed instead: a cache may forget.
        static let most = 1000

        var isEmpty: Bool { !everything && keys.isEmpty && since == nil }

        func covers(_ row: ResponseRow) -> Bool {
            everything || keys.contains(row.key) || since.map { row.stored >= $0 } ?? false
        }
    }

    package init(
        in directory: StorageDirectory, capacity: Int64, notify: @escaping @Sendable (StorageMessage) -> Void = { _ in }
    ) {
        index = PersistentDatabase(ResponseRow.schema, in: directory, notify: notify)
        bodies = BodyFolder(directory.folder("url-loading-responses"))
        self.notify = notify
        capacityInBytes = max(0, capacity)
    }

    deinit { flush() }

    package var path: String { index.path }

    /// False if there is certainly no index in the folder. Costs one system call.
    package static func mayExist(in directory: StorageDirectory) -> Bool { directory.mayHold(ResponseRow.schema) }

    /// False if there are certainly no entries. Costs one system call.
    package var hasIndex: Bool { index.exists }

    /// Why the index cannot be written; nil if it can.
    package var writeFailure: StorageFailure? { index.writeFailure }

    // MARK: Keys

    /// Differs after each change by others, and after the file was replaced.
    package struct State: Equatable, Sendable {
        fileprivate var generation: Int
        fileprivate var version: Int64
    }

    /// Nil if there is no index, or it cannot be read.
    package var state: State? {
        read { (index) throws(StorageFailure) in
            State(generation: self.index.generation, version: try index.dataVersion())
        }
    }

    /// Calls `body` with the key of each entry, and perhaps with others. False if some may be missing.
    package func forEachKey(_ body: (CacheKey) -> Void) -> Bool {
        let isRead: Void? = read { (index) throws(StorageFailure) in
            try index.rows("SELECT key FROM responses INDEXED BY responses_key") { (row) throws(StorageFailure) in
                if let text = row.first?.text { body(CacheKey(archived: text)) }
            }
        }
        return isRead != nil || !index.exists
    }

    // MARK: Looking up

    /// The entry of a key. There is one per key: another variant replaces it (CACHE-18).
    package func entry(for key: CacheKey) -> ArchivedEntry? {
        var isDamaged = false
        let found = read { (index) throws(StorageFailure) in
            var found: ArchivedEntry?
            try index.rows(ResponseRow.select + " WHERE key = ? LIMIT 1", [.text(key.text)]) {
                (row) throws(StorageFailure) in
                guard let number = row.first?.integer, let row = ResponseRow(sealed: row.dropFirst()),
                    row.key == key.text
                else { return isDamaged = true }
                if !removals.covers(row) { found = ArchivedEntry(number: number, row) }
            }
            return found
        }
        if isDamaged {
            reportDamage()
            remove(key)
        }
        return found ?? nil
    }

    /// The entry of a key with its body; nil if it is damaged or missing. Counts as a use.
    ///
    /// In one read of the index, since each takes and releases locks.
    package func whole(for key: CacheKey) -> (entry: ArchivedEntry, body: Data)? {
        var inline: Data?
        var isThere = false
        let found = read { (index) throws(StorageFailure) in
            inline = nil
            isThere = false
            return try index.snapshot { () throws(StorageFailure) in
                var found: ArchivedEntry?
                var row: ResponseRow?
                try index.rows(ResponseRow.select + " WHERE key = ? LIMIT 1", [.text(key.text)]) {
                    (columns) throws(StorageFailure) in
                    isThere = true
                    guard let number = columns.first?.integer, let whole = ResponseRow(sealed: columns.dropFirst()),
                        whole.key == key.text, !removals.covers(whole)
                    else { return }
                    row = whole
                    found = ArchivedEntry(number: number, whole)
                }
                if let row, let found, row.file == nil, row.bodyCount <= capacityInBytes {
                    inline = try index.value("SELECT body FROM bodies WHERE id = ?", [.integer(found.number)]).blob
                }
                return found
            }
        }
        if found != nil, !isThere { return nil }
        // What is damaged, missing or in a file is handled in steps.
        guard let found, let entry = found, let inline, isWhole(inline, entry) else {
            return entry(for: key).flatMap { entry in body(of: entry).map { (entry, $0) } }
        }
        noteUse(of: entry)
        return (entry, inline)
    }

    private func isWhole(_ body: Data, _ entry: ArchivedEntry) -> Bool {
        body.count == entry.bodyCount && BodyChecksum.of(body) == entry.bodySeal
    }

    private func noteUse(of entry: ArchivedEntry) {
        uses.append(entry.number)
        guard uses.count >= Self.maximumUses else { return }
        flush()
        // An index that cannot be written loses the oldest.
        if uses.count >= Self.maximumUses { uses.removeFirst(Self.maximumUses / 2) }
    }

    /// The body of an entry; nil if it is damaged or missing. Counts as a use.
    package func body(of entry: ArchivedEntry) -> Data? {
        let found = read { (index) throws(StorageFailure) in try row(of: entry, in: index) }
        guard let found, let row = found, !removals.covers(row) else { return nil }
        guard let body = self.body(of: row, entry.number) else {
            // Another process may have removed both meanwhile.
            let isLeft = read { (index) throws(StorageFailure) in try self.row(of: entry, in: index) != nil }
            if isLeft == true, row.bodyCount <= capacityInBytes { reportDamage() }
            remove(entry)
            return nil
        }
        noteUse(of: entry)
        return body
    }

    private func reportDamage() {
        if hasReportedDamage { return }
        hasReportedDamage = true
        notify(.responseDamaged(path: index.path))
    }

    /// Returns nil if the entry was removed, even if its row id was reused.
    private func row(of entry: ArchivedEntry, in index: Database) throws(StorageFailure) -> ResponseRow? {
        var found: ResponseRow?
        try index.rows(ResponseRow.select + " WHERE id = ?", [.integer(entry.number)]) { (row) throws(StorageFailure) in
            found = ResponseRow(sealed: row.dropFirst())
        }
        return found.flatMap { entry.matches($0) ? $0 : nil }
    }

    private func body(of row: ResponseRow, _ number: Int64) -> Data? {
        if row.bodyCount > capacityInBytes { return nil }
        if let file = row.file { return bodies.read(file, count: row.bodyCount, seal: row.bodySeal) }
        let found = read { (index) throws(StorageFailure) in
            try index.value("SELECT body FROM bodies WHERE id = ?", [.integer(number)]).blob
        }
        guard let found, let body = found, body.count == row.bodyCount, BodyChecksum.of(body) == row.bodySeal else {
            return nil
        }
        return body
    }

    // MARK: Storing

    /// Stores a response, replacing the entry of its key.
    ///
    /// - Parameter now: In seconds since 1970; compared by `remove(since:)`.
    /// - Returns: False if the response is not stored. The replaced entry is removed in any case.
    @discardableResult
    package func store(_ head: ArchivedResponse, body: Data, for key: CacheKey, at now: Double) -> Bool {
        let writer = begin()
        writer.append(body)
        return commit(writer, head, for: key, at: now)
    }

    /// Starts a response whose body arrives in pieces.
    package func begin() -> ResponseWriter { ResponseWriter(bodies, limit: capacityInBytes) }

    /// Stores the written response, as `store` does.
    @discardableResult
    package func commit(_ writer: ResponseWriter, _ head: ArchivedResponse, for key: CacheKey, at now: Double) -> Bool {
        if let failure = writer.failure { note(failure) }
        guard let (body, seal) = writer.result, let row = self.row(head, body, seal, count: writer.count, key, now)
        else {
            _ = note { $0.keys.insert(key.text) }
            flush()
            return false
        }
        let isStored: Void? = write { (index, removedFiles) throws(StorageFailure) in
            try delete("key = ?", [.text(row.key)], in: index, &removedFiles)
            let use = try nextUse(in: index)
            try evict(toFit: row.size, in: index, &removedFiles)
            try index.run(ResponseRow.insert, [.integer(use)] + row.sealed)
            let number = index.lastRow
            if case .inline(let data) = body {
                try index.run(
                    "INSERT OR REPLACE INTO bodies (id, seal, body) VALUES (?, ?, ?)",
                    [.integer(number), .integer(seal), .blob(data)])
            }
            try add(row.size, in: index)
        }
        guard isStored != nil else {
            _ = note { $0.keys.insert(key.text) }
            return false
        }
        if case .file(let file) = body {
            file.keep()
            note(nil)
        }
        return true
    }

    /// Records the result of writing a body file. Bodies in the index may still be stored after a failure.
    private func note(_ failure: StorageFailure?) {
        if let failure, bodyFailure == nil { notify(.inMemory(failure)) }
        if failure == nil, bodyFailure != nil { notify(.writableAgain(path: bodies.path)) }
        bodyFailure = failure
    }

    /// Returns nil if the response is too large.
    private func row(
        _ head: ArchivedResponse, _ body: ResponseWriter.Body, _ seal: Int64, count: Int64, _ key: CacheKey,
        _ now: Double
    ) -> ResponseRow? {
        var row = ResponseRow(key: key.text, head: head, stored: now, bodyCount: count, bodySeal: seal, file: nil)
        if case .file(let file) = body { row.file = file.name }
        return mayBeStored(row) ? row : nil
    }

    private func mayBeStored(_ row: ResponseRow) -> Bool {
        row.size <= capacityInBytes && row.size - row.bodyCount <= Self.largestHead
    }

    /// Replaces the head of an entry and keeps its body, for example after a 304. Returns false if the entry is gone,
    /// or is removed because the head is too large.
    @discardableResult
    package func update(_ entry: ArchivedEntry, _ head: ArchivedResponse) -> Bool {
        let isDone = write { (index, removedFiles) throws(StorageFailure) in
            guard var row = try self.row(of: entry, in: index) else { return false }
            let size = row.size
            row.head = head
            guard mayBeStored(row) else {
                try delete("id = ?", [.integer(entry.number)], in: index, &removedFiles)
                return false
            }
            // Before the update, because the total may have to be computed first.
            try add(row.size - size, in: index)
            try index.run(ResponseRow.update, row.sealed + [.integer(entry.number)])
            // The entry counts as used, so that it is not evicted to make room for itself.
            try index.run(
                "UPDATE responses SET used = ? WHERE id = ?",
                [.integer(try nextUse(in: index)), .integer(entry.number)])
            try evict(toFit: 0, in: index, &removedFiles)
            return true
        }
        if isDone == nil { remove(entry) }
        return isDone ?? false
    }

    // MARK: Removing

    package func remove(_ key: CacheKey) {
        if note({ $0.keys.insert(key.text) }) { flush() }
    }

    /// Removes entries that were stored at or after that time (CACHE-26).
    package func remove(since date: Double) {
        if note({ $0.since = min($0.since ?? date, date) }) { flush() }
    }

    package func removeAll() {
        if note({ $0.everything = true }) {
            flush()
        } else {
            // After the index was deleted by the user, the body files are orphaned.
            bodies.removeOrphans(unlessIn: []) { _ in index.exists }
        }
    }

    package func remove(_ entry: ArchivedEntry) {
        let isDone: Void? = write { (index, removedFiles) throws(StorageFailure) in
            try delete(
                "id = ? AND body_seal = ?", [.integer(entry.number), .integer(entry.bodySeal)], in: index, &removedFiles
            )
        }
        if isDone == nil { _ = note { $0.keys.insert(entry.key) } }
    }

    /// Returns false if there is nothing to remove.
    private func note(_ removal: (inout Removals) -> Void) -> Bool {
        if !index.exists { return false }
        removal(&removals)
        if removals.keys.count > Removals.most { removals.everything = true }
        if removals.everything { removals.keys = [] }
        return true
    }

    // MARK: Capacity

    /// In bytes. A reduction takes effect at once (CACHE-24).
    package var capacity: Int64 {
        get { capacityInBytes }
        set {
            let isLess = newValue < capacityInBytes
            capacityInBytes = max(0, newValue)
            if isLess, index.exists { mustEvict = true }
            if mustEvict { flush() }
        }
    }

    /// The total size of all entries, in bytes.
    package var usage: Int64 { read { (index) throws(StorageFailure) in try total(in: index) } ?? 0 }

    private func total(in index: Database) throws(StorageFailure) -> Int64 {
        let version = try index.dataVersion()
        if let known = knownUsage, known.generation == self.index.generation, known.version == version {
            return known.size
        }
        let size = try index.value("SELECT \(ResponseRow.totalSize) FROM responses INDEXED BY responses_use").real ?? 0
        let bounded = Int64(exactly: size.rounded()) ?? .max
        knownUsage = (self.index.generation, version, bounded)
        return bounded
    }

    private func add(_ size: Int64, in index: Database) throws(StorageFailure) {
        let (sum, isTooMuch) = try total(in: index).addingReportingOverflow(size)
        knownUsage?.size = isTooMuch ? .max : sum
    }

    /// Evicts the least recently used entries until `size` more bytes fit.
    private func evict(toFit size: Int64, in index: Database, _ removedFiles: inout [String]) throws(StorageFailure) {
        while try total(in: index) > capacityInBytes - size {
            var oldest: [DatabaseValue] = []
            var freed: Int64 = 0
            let needed = try total(in: index) - (capacityInBytes - size)
            try index.rows("SELECT id, size FROM responses INDEXED BY responses_use ORDER BY used LIMIT 64") {
                (row) throws(StorageFailure) in
                if freed >= needed { return }
                oldest.append(row[0])
                freed += ResponseRow.size(row[1])
            }
            if oldest.isEmpty { return }
            let before = try total(in: index)
            for number in oldest { try delete("id = ?", [number], in: index, &removedFiles) }
            // A damaged index may list rows that do not exist, and the loop would not end.
            if try total(in: index) >= before {
                throw StorageFailure(.read, index.path, .database(SQLITE_CORRUPT))
            }
        }
    }

    // MARK: The index

    private func read<Result>(_ work: (Database) throws(StorageFailure) -> Result) -> Result? { index.read(work) }

    /// Writes, after the pending changes. Deletes the files in the `inout` list once all is committed.
    private func write<Result>(
        _ work: (Database, inout [String]) throws(StorageFailure) -> Result
    ) -> Result? {
        let before = knownUsage
        var removedFiles: [String] = []
        let result = index.write { (index) throws(StorageFailure) in
            // The closure may run a second time, after a repair.
            removedFiles = []
            knownUsage = before
            try applyPending(in: index, &removedFiles)
            return try work(index, &removedFiles)
        }
        guard let result else {
            knownUsage = nil
            return nil
        }
        for name in removedFiles { bodies.remove(name) }
        uses = []
        let hasForgotten = removals.everything
        let hasEvicted = mustEvict
        removals = Removals()
        mustEvict = false
        if hasForgotten || hasEvicted { index.purgeRemoved() }
        if hasForgotten || orphansRemoved != index.generation { removeOrphans() }
        return result
    }

    /// Retries pending changes. Returns true if none wait any more.
    @discardableResult
    package func flush() -> Bool {
        if uses.isEmpty, removals.isEmpty, !mustEvict { return true }
        return write { (_, _) throws(StorageFailure) in } != nil
    }

    private func applyPending(in index: Database, _ removedFiles: inout [String]) throws(StorageFailure) {
        if removals.everything {
            try index.run("DELETE FROM responses")
            try index.run("DELETE FROM bodies")
            knownUsage = nil
        }
        for key in removals.keys { try delete("key = ?", [.text(key)], in: index, &removedFiles) }
        if let since = removals.since { try delete("stored >= ?", [.real(since)], in: index, &removedFiles) }
        var use = try uses.isEmpty ? 0 : nextUse(in: index)
        for number in uses {
            try index.run("UPDATE responses SET used = ? WHERE id = ?", [.integer(use), .integer(number)])
            use &+= 1
        }
        if mustEvict { try evict(toFit: 0, in: index, &removedFiles) }
    }

    /// A counter, because clocks jump.
    private func nextUse(in index: Database) throws(StorageFailure) -> Int64 {
        let last = try index.value("SELECT max(used) FROM responses INDEXED BY responses_use").integer ?? 0
        return last < Int64.max - 1_000_000 ? max(last, 0) + 1 : last
    }

    private func delete(
        _ condition: String, _ values: [DatabaseValue], in index: Database, _ removedFiles: inout [String]
    ) throws(StorageFailure) {
        var numbers: [DatabaseValue] = []
        var freed: Int64 = 0
        try index.rows("SELECT id, size, file FROM responses WHERE " + condition, values) {
            (row) throws(StorageFailure) in
            numbers.append(row[0])
            freed &+= ResponseRow.size(row[1])
            if let file = row[2].text { removedFiles.append(file) }
        }
        if numbers.isEmpty { return }
        try add(0 &- freed, in: index)
        for number in numbers {
            try index.run("DELETE FROM responses WHERE id = ?", [number])
            try index.run("DELETE FROM bodies WHERE id = ?", [number])
        }
    }

    /// Removes the files and rows that a killed process left behind.
    private func removeOrphans() {
        orphansRemoved = index.generation
        let known = read { (index) throws(StorageFailure) in
            var known: Set<String> = []
            try index.rows("SELECT file FROM responses WHERE file IS NOT NULL") { (row) throws(StorageFailure) in
                if let name = row[0].text { known.insert(name) }
            }
            try index.run("DELETE FROM bodies WHERE id NOT IN (SELECT id FROM responses)")
            return known
        }
        guard let known else { return }
        bodies.removeOrphans(unlessIn: known) { name in
            read { (index) throws(StorageFailure) in
                try index.value("SELECT count(*) FROM responses WHERE file = ?", [.text(name)]) != .integer(0)
            } ?? true
        }
    }
}
