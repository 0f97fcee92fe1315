internal import CLoadingSQLite
package import FoundationEssentials
package import LoadingSemantics

/// The part of a cache that is on disk: an index, with small bodies in it, and a file for each larger body.
///
/// Whatever moment a process is killed at, a key has the entry from before or the new one, whole. A body that is not what
/// was stored is as good as none. Several processes may share one archive. Used by one thread at a time.
package final class ResponseArchive {
    private let index: PersistentDatabase
    private let bodies: BodyFolder

    /// In bytes.
    private var capacityInBytes: Int64
    /// The uses that the index does not know of yet, in their order.
    private var uses: [Int64] = []
    /// What was removed, or could not be replaced, while the index could not be written. It is not found any more.
    private var removals = Removals()
    /// Which opening of the index was the last to look for files that it does not know.
    private var orphansRemoved: Int?
    /// Why no file of a body can be written now.
    private var bodyTrouble: StorageFailure?
    /// Whether it was told that a response was damaged.
    private var hasToldOfDamage = false
    private let notify: @Sendable (StorageMessage) -> Void
    /// What the entries count for in all, in that state of the index.
    private var knownUsage: (generation: Int, version: Int64, size: Int64)?

    private static let mostUses = 64
    private static let largestHead = 1 << 20

    private struct Removals {
        var everything = false
        var keys: Set<String> = []
        /// Those that were stored then or later.
        var since: Double?

        /// More than these are not remembered: a cache may forget.
        static let most = 1000

        var isEmpty: Bool { !everything && keys.isEmpty && since == nil }

        func covers(_ row: ResponseRow) -> Bool {
            everything || keys.contains(row.key) || since.map { row.stored >= $0 } ?? false
        }
    }

    package init(
        in directory: StorageDirectory, capacity: Int64, notify: @escaping @Sendable (StorageMessage) -> Void = { _ in }
    ) {
        index = PersistentDatabase(ResponseRow.design, in: directory, notify: notify)
        bodies = BodyFolder(directory.folder("url-loading-responses"))
        self.notify = notify
        capacityInBytes = max(0, capacity)
    }

    deinit { flush() }

    package var path: String { index.path }

    /// False if it is certain that nothing is stored. Costs a system call.
    package var hasIndex: Bool { index.exists }

    /// Why nothing can be written now; nil if all is well.
    package var trouble: StorageFailure? { index.trouble }

    // MARK: Looking up

    /// What is stored under a key. One response: for another variant it makes room (CACHE-18).
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
            tellOfDamage()
            remove(key)
        }
        return found ?? nil
    }

    /// The body of an entry, whole; nil if it is gone. Counts as a use.
    package func body(of entry: ArchivedEntry) -> Data? {
        let found = read { (index) throws(StorageFailure) in try row(of: entry, in: index) }
        guard let found, let row = found, !removals.covers(row) else { return nil }
        guard let body = self.body(of: row, entry.number) else {
            // Others may have removed both a moment ago.
            let isLeft = read { (index) throws(StorageFailure) in try self.row(of: entry, in: index) != nil }
            if isLeft == true, row.bodyCount <= capacityInBytes { tellOfDamage() }
            remove(entry)
            return nil
        }
        uses.append(entry.number)
        if uses.count >= Self.mostUses { flush() }
        return body
    }

    private func tellOfDamage() {
        if hasToldOfDamage { return }
        hasToldOfDamage = true
        notify(.responseDamaged(path: index.path))
    }

    /// Nil if the entry is gone, also if another one has its number now.
    private func row(of entry: ArchivedEntry, in index: Database) throws(StorageFailure) -> ResponseRow? {
        var found: ResponseRow?
        try index.rows(ResponseRow.select + " WHERE id = ?", [.integer(entry.number)]) { (row) throws(StorageFailure) in
            found = ResponseRow(sealed: row.dropFirst())
        }
        return found.flatMap { entry.isOf($0) ? $0 : nil }
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

    /// Stores a response in place of what its key had.
    ///
    /// - Parameter now: Seconds since 1970; what `remove(since:)` goes by.
    /// - Returns: False if it is not stored; then what it was to replace is not found any more either.
    @discardableResult
    package func store(_ head: ArchivedResponse, body: Data, for key: CacheKey, at now: Double) -> Bool {
        let writer = begin()
        writer.append(body)
        return commit(writer, head, for: key, at: now)
    }

    /// Starts with a body that comes piece by piece.
    package func begin() -> ResponseWriter { ResponseWriter(bodies, limit: capacityInBytes) }

    /// Stores what was written, as `store` does.
    @discardableResult
    package func commit(_ writer: ResponseWriter, _ head: ArchivedResponse, for key: CacheKey, at now: Double) -> Bool {
        if let failure = writer.failure { note(failure) }
        guard let (body, seal) = writer.result, let row = self.row(head, body, seal, count: writer.count, key, now)
        else {
            _ = note { $0.keys.insert(key.text) }
            flush()
            return false
        }
        let isStored: Void? = write { (index, gone) throws(StorageFailure) in
            try delete("key = ?", [.text(row.key)], in: index, &gone)
            let use = try nextUse(in: index)
            try makeRoom(row.size, in: index, &gone)
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

    /// What became of the file of a body. What is small enough for the index may still have room.
    private func note(_ failure: StorageFailure?) {
        if let failure, bodyTrouble == nil { notify(.inMemory(failure)) }
        if failure == nil, bodyTrouble != nil { notify(.writableAgain(path: bodies.path)) }
        bodyTrouble = failure
    }

    /// Nil for what is too large.
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

    /// Puts another head before the same body, such as after a 304. False if the entry is gone, or goes because that head is
    /// too large.
    @discardableResult
    package func update(_ entry: ArchivedEntry, _ head: ArchivedResponse) -> Bool {
        let isDone = write { (index, gone) throws(StorageFailure) in
            guard var row = try self.row(of: entry, in: index) else { return false }
            let size = row.size
            row.head = head
            guard mayBeStored(row) else {
                try delete("id = ?", [.integer(entry.number)], in: index, &gone)
                return false
            }
            // Before, since the sum may have to be looked for first.
            try add(row.size - size, in: index)
            try index.run(ResponseRow.update, row.sealed + [.integer(entry.number)])
            // It was used, and is not what makes room for itself.
            try index.run(
                "UPDATE responses SET used = ? WHERE id = ?",
                [.integer(try nextUse(in: index)), .integer(entry.number)])
            try makeRoom(0, in: index, &gone)
            return true
        }
        if isDone == nil { remove(entry) }
        return isDone ?? false
    }

    // MARK: Removing

    package func remove(_ key: CacheKey) {
        if note({ $0.keys.insert(key.text) }) { flush() }
    }

    /// Removes what was stored then or later (CACHE-26).
    package func remove(since date: Double) {
        if note({ $0.since = min($0.since ?? date, date) }) { flush() }
    }

    package func removeAll() {
        if note({ $0.everything = true }) {
            flush()
        } else {
            // An index that somebody has removed leaves bodies that nobody finds.
            bodies.removeOrphans(unlessIn: []) { _ in index.exists }
        }
    }

    package func remove(_ entry: ArchivedEntry) {
        let isDone: Void? = write { (index, gone) throws(StorageFailure) in
            try delete(
                "id = ? AND body_seal = ?", [.integer(entry.number), .integer(entry.bodySeal)], in: index, &gone)
        }
        if isDone == nil { _ = note { $0.keys.insert(entry.key) } }
    }

    /// False if there is nothing that could be removed.
    private func note(_ removal: (inout Removals) -> Void) -> Bool {
        if !index.exists { return false }
        removal(&removals)
        if removals.keys.count > Removals.most { removals.everything = true }
        if removals.everything { removals.keys = [] }
        return true
    }

    // MARK: Room

    /// In bytes. Less than before takes effect at once (CACHE-24).
    package var capacity: Int64 {
        get { capacityInBytes }
        set {
            let isLess = newValue < capacityInBytes
            capacityInBytes = max(0, newValue)
            guard isLess, index.exists else { return }
            _ = write { (index, gone) throws(StorageFailure) in try makeRoom(0, in: index, &gone) }
            index.forgetRemoved()
        }
    }

    /// What is stored, in bytes.
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

    /// Removes what was not used for longest until so much more has room.
    private func makeRoom(_ size: Int64, in index: Database, _ gone: inout [String]) throws(StorageFailure) {
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
            for number in oldest { try delete("id = ?", [number], in: index, &gone) }
            // The index tells of rows that are not there, and would do so for ever.
            if try total(in: index) >= before {
                throw StorageFailure(.read, index.path, .database(SQLITE_CORRUPT))
            }
        }
    }

    // MARK: The index

    private func read<Result>(_ work: (Database) throws(StorageFailure) -> Result) -> Result? { index.read(work) }

    /// Writes, with what waits before it. The files whose names it gives are removed when all is written.
    private func write<Result>(
        _ work: (Database, inout [String]) throws(StorageFailure) -> Result
    ) -> Result? {
        let before = knownUsage
        var gone: [String] = []
        let result = index.write { (index) throws(StorageFailure) in
            // It may be the second time.
            gone = []
            knownUsage = before
            try settle(in: index, &gone)
            return try work(index, &gone)
        }
        guard let result else {
            knownUsage = nil
            return nil
        }
        for name in gone { bodies.remove(name) }
        uses = []
        let hasForgotten = removals.everything
        removals = Removals()
        if hasForgotten { index.forgetRemoved() }
        if hasForgotten || orphansRemoved != index.generation { removeOrphans() }
        return result
    }

    /// Tries again what waits. True if nothing waits any more.
    @discardableResult
    package func flush() -> Bool {
        if uses.isEmpty, removals.isEmpty { return true }
        return write { (_, _) throws(StorageFailure) in } != nil
    }

    private func settle(in index: Database, _ gone: inout [String]) throws(StorageFailure) {
        if removals.everything {
            try index.run("DELETE FROM responses")
            try index.run("DELETE FROM bodies")
            knownUsage = nil
        }
        for key in removals.keys { try delete("key = ?", [.text(key)], in: index, &gone) }
        if let since = removals.since { try delete("stored >= ?", [.real(since)], in: index, &gone) }
        var use = try uses.isEmpty ? 0 : nextUse(in: index)
        for number in uses {
            try index.run("UPDATE responses SET used = ? WHERE id = ?", [.integer(use), .integer(number)])
            use &+= 1
        }
    }

    /// A count, not a time: clocks jump.
    private func nextUse(in index: Database) throws(StorageFailure) -> Int64 {
        let last = try index.value("SELECT max(used) FROM responses INDEXED BY responses_use").integer ?? 0
        return last < Int64.max - 1_000_000 ? max(last, 0) + 1 : last
    }

    private func delete(
        _ condition: String, _ values: [DatabaseValue], in index: Database, _ gone: inout [String]
    ) throws(StorageFailure) {
        var numbers: [DatabaseValue] = []
        var freed: Int64 = 0
        try index.rows("SELECT id, size, file FROM responses WHERE " + condition, values) {
            (row) throws(StorageFailure) in
            numbers.append(row[0])
            freed &+= ResponseRow.size(row[1])
            if let file = row[2].text { gone.append(file) }
        }
        if numbers.isEmpty { return }
        try add(0 &- freed, in: index)
        for number in numbers {
            try index.run("DELETE FROM responses WHERE id = ?", [number])
            try index.run("DELETE FROM bodies WHERE id = ?", [number])
        }
    }

    /// Removes what a process has left behind that was killed.
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
