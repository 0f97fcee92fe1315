import Foundation
import LoadingSemantics
import StorageSteps
import TestSupport
import Testing

@testable import LoadingStorage

@Suite(.leakChecked) struct ResponseArchiveTests {
    private let scene: StorageScene
    private var folder: String { scene.file("url-loading-responses") }
    private var file: String { scene.file("url-loading-responses.sqlite") }

    init() throws { scene = try StorageScene() }

    private func archive(_ capacity: Int64 = 100_000_000) -> ResponseArchive {
        ResponseArchive(in: scene.directory, capacity: capacity, notify: scene.notify)
    }

    private func store(_ archive: ResponseArchive, _ number: Int, _ size: Int, version: Int = 0) -> Bool {
        archive.store(
            ResponseSteps.head(number, version), body: ResponseSteps.body(version, size),
            for: ResponseSteps.key(number),
            at: Double(number))
    }

    private func body(_ archive: ResponseArchive, _ number: Int) -> Data? {
        archive.entry(for: ResponseSteps.key(number)).flatMap { archive.body(of: $0) }
    }

    // CACHE-30
    @Test("every attribute of a response is restored") func wholeResponse() throws {
        let response = StoredResponse(
            status: 203, fields: HTTPFields([("A", "1"), ("a", ""), ("Bé", "\u{1F600}, x"), ("", "y")]),
            requestTime: .min, responseTime: 1_700_000_000,
            variant: CacheVariant(names: ["accept", "cookie"], fingerprint: [0, 1, 255]), needsValidation: true)
        let head = ArchivedResponse(
            url: "https://u@example.org/1#f", response: response, protocolName: "HTTP/1.0", userInfo: Data([1, 0]))
        let bare = ArchivedResponse(
            url: "",
            response: StoredResponse(
                status: -1, fields: HTTPFields(), requestTime: 0, responseTime: .max, variant: nil))
        let key = ResponseSteps.key(1)
        do {
            let archive = archive()
            #expect(archive.store(head, body: Data("body".utf8), for: key, at: 5))
            #expect(archive.store(bare, body: Data(), for: ResponseSteps.key(2), at: .nan))
        }
        let archive = archive()
        let entry = try #require(archive.entry(for: key))
        #expect(entry.head == head)
        #expect(entry.stored == 5)
        #expect(entry.bodyCount == 4)
        #expect(archive.body(of: entry) == Data("body".utf8))
        let other = try #require(archive.entry(for: ResponseSteps.key(2)))
        #expect(other.head == bare)
        #expect(archive.body(of: other) == Data())
        #expect(scene.messages.events == [])
    }

    // C-36
    @Test(
        "large bodies have files of their own, accessible to their owner only",
        arguments: [0, 1, 16_384, 16_385, 300_000])
    func sizes(size: Int) throws {
        let before = umask(0)
        defer { umask(before) }
        let archive = archive()
        #expect(store(archive, 1, size, version: 7))
        #expect(body(archive, 1) == ResponseSteps.body(7, size))
        #expect(names(folder).count == (size > 16_384 ? 1 : 0))
        for name in names(folder) { #expect(mode(folder + "/" + name) == 0o600) }
        for name in names(scene.directory.path) where name.contains("sqlite") {
            #expect(mode(scene.file(name)) == 0o600)
        }
        if size > 16_384 { #expect(mode(folder) == 0o700) }
    }

    @Test("a body written in pieces is invisible until it is committed") func pieces() throws {
        let archive = archive()
        #expect(store(archive, 1, 100))
        let whole = ResponseSteps.body(3, 100_000)
        do {
            let writer = archive.begin()
            #expect(writer.append(whole.prefix(60_000)))
            #expect(body(archive, 1) == ResponseSteps.body(0, 100))
            #expect(names(folder).count == 1)
        }
        // The writer was released without a commit.
        #expect(names(folder) == [])
        let writer = archive.begin()
        for start in stride(from: 0, to: 100_000, by: 7777) { writer.append(whole[start..<min(start + 7777, 100_000)]) }
        #expect(archive.commit(writer, ResponseSteps.head(1, 3), for: ResponseSteps.key(1), at: 1))
        #expect(body(archive, 1) == whole)
        #expect(archive.entry(for: ResponseSteps.key(1)) != nil)
    }

    // Concurrent loads of one address
    @Test("of two concurrent bodies for one key the last one is stored, complete") func twoWriters() throws {
        let archive = archive()
        let (one, other) = (archive.begin(), archive.begin())
        let bodies = (ResponseSteps.body(1, 50_000), ResponseSteps.body(2, 40_000))
        for start in stride(from: 0, to: 40_000, by: 10_000) {
            one.append(bodies.0[start..<start + 10_000])
            other.append(bodies.1[start..<start + 10_000])
        }
        #expect(archive.commit(other, ResponseSteps.head(1, 2), for: ResponseSteps.key(1), at: 1))
        one.append(bodies.0[40_000...])
        #expect(archive.commit(one, ResponseSteps.head(1, 1), for: ResponseSteps.key(1), at: 1))
        #expect(body(archive, 1) == bodies.0)
        #expect(names(folder).count == 1)
    }

    // CACHE-14
    @Test("an update of the head keeps the body") func update() throws {
        let archive = archive()
        #expect(store(archive, 1, 30_000))
        let files = names(folder)
        let entry = try #require(archive.entry(for: ResponseSteps.key(1)))
        #expect(archive.update(entry, ResponseSteps.head(1, 9)))
        let now = try #require(archive.entry(for: ResponseSteps.key(1)))
        #expect(now.head == ResponseSteps.head(1, 9))
        #expect(archive.body(of: now) == ResponseSteps.body(0, 30_000))
        #expect(names(folder) == files)
        archive.remove(ResponseSteps.key(1))
        #expect(!archive.update(now, ResponseSteps.head(1, 10)))
        // The new entry of the same number is unchanged too.
        #expect(store(archive, 2, 50, version: 4))
        #expect(!archive.update(now, ResponseSteps.head(1, 10)))
        #expect(archive.body(of: now) == nil)
        #expect(archive.entry(for: ResponseSteps.key(2))?.head == ResponseSteps.head(2, 4))
    }

    // CACHE-18
    @Test("a key has one response: another variant replaces it") func variants() throws {
        let archive = archive()
        for number in 0..<3 {
            var head = ResponseSteps.head(1, number)
            head.response.variant = CacheVariant(names: ["accept"], fingerprint: [UInt8(number)])
            #expect(archive.store(head, body: Data([UInt8(number)]), for: ResponseSteps.key(1), at: 0))
        }
        let entry = try #require(archive.entry(for: ResponseSteps.key(1)))
        #expect(entry.head.response.variant == CacheVariant(names: ["accept"], fingerprint: [2]))
        #expect(archive.body(of: entry) == Data([2]))
        archive.remove(entry)
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
        #expect(archive.usage == 0)
    }

    // CACHE-28, CACHE-26
    @Test("removal of one, of recent ones and of all") func removal() throws {
        let archive = archive()
        for number in 0..<6 { #expect(store(archive, number, number % 2 == 0 ? 20_000 : 100)) }
        archive.remove(ResponseSteps.key(0))
        #expect(archive.entry(for: ResponseSteps.key(0)) == nil)
        archive.remove(since: 3)
        #expect((0..<6).filter { body(archive, $0) != nil } == [1, 2])
        #expect(names(folder).count == 1)
        archive.removeAll()
        #expect((0..<6).allSatisfy { body(archive, $0) == nil })
        #expect(archive.usage == 0)
        #expect(names(folder) == [])
        let content = names(scene.directory.path).compactMap { contents(scene.file($0)) }
        #expect(content.allSatisfy { $0.range(of: Data("example.org".utf8)) == nil })
    }

    // CACHE-24
    @Test("the capacity is kept by eviction of the least recently used") func capacity() throws {
        let archive = archive(100_000)
        for number in 0..<9 { #expect(store(archive, number, 10_000)) }
        #expect(archive.usage <= 100_000)
        #expect((0..<9).allSatisfy { body(archive, $0) != nil })
        // The first one was used, so the second is evicted.
        #expect(body(archive, 0) != nil)
        #expect(store(archive, 9, 10_000))
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
        #expect(archive.entry(for: ResponseSteps.key(0)) != nil)
        #expect(!store(archive, 10, 100_001))
        #expect(archive.usage <= 100_000)
        archive.capacity = 35_000
        #expect(archive.usage <= 35_000)
        #expect((0..<10).filter { archive.entry(for: ResponseSteps.key($0)) != nil } == [0, 8, 9])
        archive.capacity = 0
        #expect(archive.usage == 0)
        #expect(!store(archive, 1, 0))
        archive.capacity = 50_000
        #expect(store(archive, 1, 20_000))
    }

    // CACHE-24, CACHE-14
    @Test("the capacity is kept when heads become larger") func growingHeads() throws {
        let archive = archive(100_000)
        for number in 0..<9 { #expect(store(archive, number, 10_000)) }
        // Others have written since: the total is read again.
        #expect(store(self.archive(100_000), 9, 10))
        func head(_ size: Int) -> ArchivedResponse {
            var head = ResponseSteps.head(0, 1)
            head.response.fields.append("X-Large", String(repeating: "x", count: size))
            return head
        }
        let first = try #require(archive.entry(for: ResponseSteps.key(0)))
        #expect(archive.update(first, head(30_000)))
        #expect(archive.usage <= 100_000)
        #expect(archive.usage == self.archive(100_000).usage)
        // It was used most recently.
        #expect(archive.entry(for: ResponseSteps.key(0))?.head == head(30_000))
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
        #expect(body(archive, 8) != nil)
        // A head that is too large removes the entry with its body.
        let again = try #require(archive.entry(for: ResponseSteps.key(0)))
        #expect(!archive.update(again, head(95_000)))
        #expect(archive.entry(for: ResponseSteps.key(0)) == nil)
        archive.capacity = 100_000_000
        let other = try #require(archive.entry(for: ResponseSteps.key(8)))
        #expect(!archive.update(other, head(2 << 20)))
        #expect(archive.entry(for: ResponseSteps.key(8)) == nil)
        #expect(archive.usage == self.archive().usage)
    }

    // CACHE-28, S-89
    @Test("a removal of all removes bodies even without an index") func bodiesWithoutIndex() throws {
        do {
            let archive = archive()
            #expect(store(archive, 1, 50_000))
        }
        for end in ["", "-journal"] { unlink(file + end) }
        #expect(names(folder).count == 1)
        archive().removeAll()
        #expect(names(folder) == [])
    }

    // CACHE-24: for any amount of data
    @Test("body files are removed with their entries") func flow() throws {
        let archive = archive(1_000_000)
        for number in 0..<200 { #expect(store(archive, number, 40_000)) }
        #expect(archive.usage <= 1_000_000)
        #expect(names(folder).count == 24)
        #expect((176..<200).allSatisfy { body(archive, $0) != nil })
    }

    @Test("a failed store removes the older response") func tooLarge() throws {
        let archive = archive(100_000)
        #expect(store(archive, 1, 1000))
        #expect(!store(archive, 1, 200_000))
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
    }

    @Test("a body file that is missing, truncated, longer or changed is not used", arguments: 0..<5)
    func damagedBody(kind: Int) throws {
        let archive = archive()
        #expect(store(archive, 1, 50_000))
        let path = try folder + "/" + #require(names(folder).first)
        let content = try #require(contents(path))
        let url = URL(fileURLWithPath: path)
        switch kind {
        case 0: unlink(path)
        case 1: try content.prefix(49_999).write(to: url)
        case 2: try (content + [0]).write(to: url)
        case 3:
            var changed = content
            changed[25_000] ^= 1
            try changed.write(to: url)
        default:
            unlink(path)
            try content.write(to: URL(fileURLWithPath: scene.file("elsewhere")))
            symlink(scene.file("elsewhere"), path)
        }
        let entry = try #require(archive.entry(for: ResponseSteps.key(1)))
        #expect(archive.body(of: entry) == nil)
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
        #expect(archive.usage == 0)
        #expect(store(archive, 1, 60_000))
        #expect(body(archive, 1) == ResponseSteps.body(0, 60_000))
        #expect(scene.messages.events == [.responseDamaged(path: file)])
        // One message is enough.
        for name in names(folder) { unlink(folder + "/" + name) }
        #expect(body(archive, 1) == nil)
        #expect(scene.messages.count == 1)
    }

    @Test("an entry beyond a lowered capacity, or removed by others, is not reported as damaged") func undamaged()
        throws
    {
        let archive = archive()
        for number in 0..<2 { #expect(store(archive, number, 50_000)) }
        let entries = try (0..<2).map { try #require(archive.entry(for: ResponseSteps.key($0))) }
        self.archive().remove(ResponseSteps.key(0))
        #expect(archive.body(of: entries[0]) == nil)
        #expect(self.archive(10_000).body(of: entries[1]) == nil)
        #expect(scene.messages.events == [])
    }

    @Test("a damaged name in the index gives no access to other files") func foreignName() throws {
        let archive = archive()
        #expect(store(archive, 1, 50_000))
        let secret = scene.file("secret")
        try ResponseSteps.body(0, 50_000).write(to: URL(fileURLWithPath: secret))
        let entry = try #require(archive.entry(for: ResponseSteps.key(1)))
        var row = ResponseRow(
            key: ResponseSteps.key(1).text, head: entry.head, stored: 1, bodyCount: 50_000, bodySeal: entry.bodySeal,
            file: "../secret")
        row.stored = 1
        try Database(file).run(ResponseRow.update, row.sealed + [.integer(entry.number)])
        #expect(archive.body(of: entry) == nil)
        #expect(FileManager.default.fileExists(atPath: secret))
    }

    @Test("abandoned files are removed, those being written are not") func orphans() throws {
        #expect(store(archive(), 1, 50_000))
        let kept = names(folder)
        let left = folder + "/" + String(repeating: "a", count: 32)
        try Data(count: 10).write(to: URL(fileURLWithPath: left))
        try Data(count: 10).write(to: URL(fileURLWithPath: folder + "/theirs"))
        let other = archive()
        let writer = other.begin()
        writer.append(ResponseSteps.body(5, 50_000))
        #expect(names(folder).count == 4)
        #expect(store(archive(), 2, 10))
        #expect(names(folder).count == 3)
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(other.commit(writer, ResponseSteps.head(3, 5), for: ResponseSteps.key(3), at: 3))
        #expect(body(other, 3) == ResponseSteps.body(5, 50_000))
        #expect(names(folder).contains(kept[0]))
    }

    @Test("damage at every 4096 bytes of the index: each body is correct or missing") func damagedIndex() throws {
        do {
            let archive = archive()
            for number in 0..<40 { #expect(store(archive, number, number % 4 == 0 ? 20_000 : 3000, version: number)) }
        }
        let image = try #require(contents(file))
        let bodies = names(folder).map { ($0, contents(folder + "/" + $0)) }
        for place in stride(from: 0, to: image.count, by: 4096) {
            let scene = try StorageScene()
            var damaged = image
            damaged.replaceSubrange(place..<min(place + 512, image.count), with: repeatElement(0x55, count: 512))
            try damaged.write(to: URL(fileURLWithPath: scene.file("url-loading-responses.sqlite")))
            mkdir(scene.file("url-loading-responses"), 0o700)
            for (name, body) in bodies {
                try body?.write(to: URL(fileURLWithPath: scene.file("url-loading-responses/" + name)))
            }
            let archive = ResponseArchive(in: scene.directory, capacity: 100_000_000, notify: scene.notify)
            var lost = 0
            for number in 0..<40 {
                guard let found = body(archive, number) else {
                    lost += 1
                    continue
                }
                #expect(found == ResponseSteps.body(number, number % 4 == 0 ? 20_000 : 3000))
            }
            // One page has about 24 rows.
            #expect(lost <= 24, "\(place) of \(image.count)")
            // One message for the index and one for the first lost response.
            #expect((lost == 0 || scene.messages.count > 0) && scene.messages.count <= 2, "\(place)")
            #expect(archive.store(ResponseSteps.head(1, 1), body: Data("new".utf8), for: ResponseSteps.key(1), at: 1))
            #expect(body(archive, 1) == Data("new".utf8))
        }
    }

    enum Untruth: CaseIterable, Sendable {
        /// The index by use, the one by key, or both refer to missing rows.
        case use, key, both
        case bodies, files
        /// Each row has a size beyond that of any disk.
        case sizes
    }

    /// Damages the database through statements that `Database` never executes, over a connection of its own.
    private func tamper(_ statements: String...) throws {
        for statement in statements {
            let other = try OtherConnection(file)
            try other.execute("PRAGMA writable_schema=ON; " + statement)
        }
    }

    /// Removes all rows, but keeps the contents of the index of that name.
    private func removeRows(unnoticedBy names: String...) throws {
        var anew: [String] = []
        for name in names {
            let row = try #require(
                try Database(file).value(
                    """
                    SELECT 'INSERT INTO sqlite_master VALUES (' || quote(type) || ',' || quote(name) || ',' || \
                    quote(tbl_name) || ',' || rootpage || ',' || quote(sql) || ')' FROM sqlite_master WHERE name = ?
                    """, [.text(name)]
                ).text)
            anew.append(row)
            try tamper("DELETE FROM sqlite_master WHERE name = '\(name)'")
        }
        try tamper("DELETE FROM responses; DELETE FROM bodies")
        for row in anew { try tamper(row) }
    }

    // CACHE-24, CACHE-25
    @Test(
        "an index that refers to missing rows gives no wrong body, and the capacity is kept",
        arguments: Untruth.allCases, [false, true])
    func untrueIndex(untruth: Untruth, isAskedFirst: Bool) throws {
        let capacity: Int64 = 200_000
        do {
            let archive = archive(capacity)
            for number in 0..<12 { #expect(store(archive, number, number % 4 == 0 ? 20_000 : 10_000)) }
        }
        switch untruth {
        case .use: try removeRows(unnoticedBy: "responses_use")
        case .key: try removeRows(unnoticedBy: "responses_key")
        case .both: try removeRows(unnoticedBy: "responses_use", "responses_key")
        case .bodies: try tamper("DELETE FROM bodies")
        case .files: for name in names(folder) { unlink(folder + "/" + name) }
        case .sizes: try tamper("UPDATE responses SET size = 9223372036854775807")
        }
        for _ in 0..<(isAskedFirst ? 2 : 0) {
            let archive = archive(capacity)
            for number in 0..<12 {
                guard let found = body(archive, number) else { continue }
                #expect(found == ResponseSteps.body(0, number % 4 == 0 ? 20_000 : 10_000))
                #expect(untruth == .bodies && number % 4 == 0 || untruth == .files && number % 4 != 0)
            }
        }
        let archive = archive(capacity)
        for number in 6..<40 {
            #expect(store(archive, number, number % 4 == 0 ? 20_000 : 10_000, version: 1))
            #expect(body(archive, number) == ResponseSteps.body(1, number % 4 == 0 ? 20_000 : 10_000))
            #expect(archive.usage <= capacity)
        }
        let index = try Database(file)
        let count = try index.value("SELECT count(*) FROM responses NOT INDEXED").integer ?? 0
        #expect(count > 10)
        #expect(try index.value("SELECT total(size) FROM responses NOT INDEXED").real ?? .infinity <= Double(capacity))
        #expect(
            try index.value("SELECT count(*) FROM responses NOT INDEXED WHERE file IS NOT NULL").integer
                == Int64(names(folder).count))
        #expect(try index.value("PRAGMA integrity_check(1)") == .text("ok"))
    }

    @Test("a removed response is not found while another process has locked the index") func locked() throws {
        let archive = archive()
        for number in 0..<3 { #expect(store(archive, number, 100)) }
        let other = try Database(file)
        try other.execute("BEGIN IMMEDIATE")
        archive.remove(ResponseSteps.key(0))
        #expect(archive.entry(for: ResponseSteps.key(0)) == nil)
        #expect(!store(archive, 1, 50))
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
        #expect(body(archive, 2) != nil)
        #expect(scene.messages.count == 1)
        try other.execute("COMMIT")
        #expect(archive.flush())
        #expect((0..<3).filter { body(self.archive(), $0) != nil } == [2])
        #expect(scene.messages.events.last == .writableAgain(path: file))
    }

    // CACHE-24
    @Test("a lower capacity applies as soon as the index can be written", arguments: [0, 25_000])
    func lowerCapacityOfALockedIndex(capacity: Int64) throws {
        let archive = archive()
        for number in 0..<3 { #expect(store(archive, number, 20_000)) }
        let other = try Database(file)
        try other.execute("BEGIN IMMEDIATE")
        archive.capacity = capacity
        try other.execute("COMMIT")
        #expect(archive.flush())
        #expect((0..<3).filter { body(self.archive(), $0) != nil } == (capacity == 0 ? [] : [2]))
        #expect(self.archive().usage <= capacity)
    }

    @Test("on a full disk", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted")) func fullDisk() throws
    {
        let disk = try SmallDisk(size: 2_000_000)
        let scene = StorageScene(path: disk.path)
        let archive = ResponseArchive(in: scene.directory, capacity: 100_000_000, notify: scene.notify)
        let stored = (0..<100).filter { store(archive, $0, 100_000) }
        #expect(stored.count > 5 && stored.count < 20)
        for number in stored { #expect(body(archive, number) == ResponseSteps.body(0, 100_000)) }
        #expect(scene.messages.count == 1)
        for number in stored.prefix(3) { archive.remove(ResponseSteps.key(number)) }
        #expect(store(archive, 200, 100_000))
        #expect(body(archive, 200) == ResponseSteps.body(0, 100_000))
    }

    @Test("no usable folder") func noUsableFolder() throws {
        let archive = ResponseArchive(
            in: StorageDirectory(path: "/sys/kernel/url-loading"), capacity: 1 << 20, notify: scene.notify)
        #expect(!store(archive, 1, 10))
        #expect(!store(archive, 1, 100_000))
        #expect(archive.entry(for: ResponseSteps.key(1)) == nil)
        #expect(archive.usage == 0)
        archive.removeAll()
        archive.capacity = 0
        #expect(scene.messages.count <= 2)
    }
}
