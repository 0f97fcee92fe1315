import CLoadingSQLite
import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import LoadingStorage

/// Files that are damaged, foreign, locked or read-only: the store continues, loses only the damaged records,
/// and reports it.
@Suite(.leakChecked) struct BadStateTests {
    private static let cookies = (0..<300).map { Cookie.persistent("c\($0)", String(repeating: "v\($0)", count: 10)) }

    /// A closed cookie archive.
    private static func image(_ cookies: [Cookie] = Self.cookies) throws -> Data {
        let scene = try StorageScene()
        scene.cookies.apply(cookies.map { .stored($0) })
        return try Data(contentsOf: URL(fileURLWithPath: scene.cookieFile))
    }

    private func scene(_ image: Data) throws -> StorageScene {
        let scene = try StorageScene()
        try image.write(to: URL(fileURLWithPath: scene.cookieFile))
        return scene
    }

    /// Writes until the disk is full.
    private func fill(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        while write(descriptor, Array(repeating: UInt8(0), count: 4096), 4096) > 0 {}
        close(descriptor)
    }

    /// Opens a damaged file and checks that the remaining cookies are unchanged and the store works.
    private func check(_ image: Data, atLeast count: Int, _ comment: Comment) throws {
        let scene = try scene(image)
        let archive = scene.cookies
        let loaded = archive.load()
        #expect(Set(loaded).subtracting(Self.cookies) == [], comment)
        #expect(loaded.count >= count, comment)
        #expect(archive.apply([.stored(.persistent("new")), .removed(Self.cookies[0].identity)]), comment)
        let expected = Set(loaded).subtracting(Self.cookies.prefix(1)).union([.persistent("new")])
        #expect(scene.storedCookies() == expected, comment)
        // A loss is reported; damage that a rewrite repaired need not be.
        let isSaid = scene.messages.events.contains { if case .repaired = $0 { true } else { false } }
        #expect(isSaid || loaded.count == Self.cookies.count, comment)
        #expect(scene.messages.count <= 1, comment)
        #expect(
            Set(names(scene.directory.path)).subtracting(
                ["", "-journal", ".damaged"].map { "url-loading-cookies.sqlite" + $0 }) == [])
    }

    @Test("damage at every 512 bytes", arguments: [UInt8(0), 0x55])
    func damagedEverywhere(filler: UInt8) throws {
        let image = try Self.image()
        // The most cookies that share a page of 4096 bytes.
        for place in stride(from: 0, to: image.count, by: 512) {
            var damaged = image
            damaged.replaceSubrange(place..<place + 512, with: repeatElement(filler, count: 512))
            try check(damaged, atLeast: 240, "\(place) of \(image.count)")
        }
    }

    @Test("a flipped bit at any position") func flippedBits() throws {
        let image = try Self.image()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<80 {
            let place = Int.random(in: 0..<image.count, using: &random)
            let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
            var damaged = image
            damaged[place] ^= bit
            try check(damaged, atLeast: 240, "bit \(bit) of \(place)")
        }
    }

    /// Overwrites the page that has the text, in the same file.
    private func damagePage(with text: String, of path: String) throws {
        let content = try #require(contents(path))
        let place = try #require(content.range(of: Data(text.utf8))).lowerBound
        let descriptor = open(path, O_WRONLY)
        defer { close(descriptor) }
        try #require(
            pwrite(descriptor, [UInt8](repeating: 0x55, count: 4096), 4096, off_t(place / 4096 * 4096)) == 4096)
    }

    // COOK-19
    @Test("records that a repair of a file in use cannot save are reported lost once") func damagedInUse() throws {
        let scene = try scene(Self.image())
        let archive = scene.cookies
        #expect(archive.load().count == Self.cookies.count)
        #expect(!archive.hasLostFile())
        // A change by another connection invalidates the page cache.
        let other = try Database(scene.cookieFile)
        try other.run("DELETE FROM cookies WHERE name = 'c299'")
        try damagePage(with: Self.cookies[150].value, of: scene.cookieFile)
        #expect(archive.apply([.stored(.persistent("c150", "new")), .removed(Self.cookies[149].identity)]))
        #expect(archive.hasLostFile())
        #expect(!archive.hasLostFile())
        let stored = scene.storedCookies()
        #expect(stored.contains(.persistent("c150", "new")) && stored.count < Self.cookies.count - 2)
    }

    // COOK-19
    @Test("a file removed while it is closed after an error is reported lost") func removedInTrouble() throws {
        let scene = try StorageScene()
        let file = PersistentDatabase(Cookie.schema, in: scene.directory, notify: scene.notify)
        let work = { (_: Database) throws(StorageFailure) in }
        #expect(file.write(work) != nil)
        let fail = { (_: Database) throws(StorageFailure) in
            throw StorageFailure(.read, scene.cookieFile, .system(EIO))
        }
        #expect(file.read(fail) == nil)
        #expect(file.write(work) != nil)
        #expect(!file.hasLostFile())
        #expect(file.read(fail) == nil)
        // Records that cannot be read may exist.
        try scene.hide()
        #expect(!file.hasLostFile())
        try scene.show()
        unlink(scene.cookieFile)
        #expect(file.write(work) != nil)
        #expect(file.hasLostFile())
        #expect(!file.hasLostFile())
    }

    @Test("a record too large for the file does not prevent others from being stored") func tooLarge() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        archive.apply([.stored(.persistent("a", "old"))])
        let large = String(repeating: "x", count: 70_000_000)
        #expect(
            archive.apply([.stored(.persistent("a", large)), .stored(.persistent("b")), .stored(.persistent(large))]))
        // The record that it replaces is removed too.
        #expect(scene.storedCookies() == [.persistent("b")])
        #expect(archive.apply([.removed(Cookie.persistent(large).identity), .stored(.persistent("c"))]))
        #expect(scene.storedCookies() == [.persistent("b"), .persistent("c")])
        #expect(
            scene.messages.events
                == [.inMemory(StorageFailure(.write, scene.cookieFile, .database(SQLITE_TOOBIG)))])
    }

    @Test("a truncated file") func truncated() throws {
        let image = try Self.image()
        // SQLite treats a file of one byte as empty, and an empty file as new.
        for length in [2, 15, 16, 99, 100, 511, 4095] + Array(stride(from: 512, to: image.count, by: 1536)) {
            let rest = image.prefix(length)
            // The cookies of each remaining page are found, without its parent pages too. The last pages are an index.
            let saved = Self.cookies.filter { rest.range(of: Data($0.value.utf8)) != nil }.count
            try check(rest, atLeast: saved - 40, "\(length) of \(image.count)")
        }
    }

    @Test("a file that is not a database is moved aside") func noDatabase() throws {
        let scene = try scene(Data("no database at all, and longer than a header is, by far. ".utf8 + [UInt8](0...255)))
        let before = contents(scene.cookieFile)
        #expect(scene.cookies.load() == [])
        #expect(
            scene.messages.events
                == [.repaired(path: scene.cookieFile, saved: 0, putAside: scene.cookieFile + ".damaged")])
        #expect(contents(scene.cookieFile + ".damaged") == before)
        #expect(scene.cookies.apply([.stored(.persistent("a"))]))
        #expect(scene.storedCookies() == [.persistent("a")])
    }

    @Test("another program's database is moved aside unchanged, and never overwritten") func foreignDatabase() throws {
        let scene = try StorageScene()
        try StorageDirectory.claimFile(scene.cookieFile)
        try Database(scene.cookieFile).execute("CREATE TABLE cookies (theirs); INSERT INTO cookies VALUES (1)")
        let theirs = contents(scene.cookieFile)
        #expect(scene.cookies.apply([.stored(.persistent("a"))]))
        #expect(contents(scene.cookieFile + ".foreign") == theirs)
        #expect(scene.storedCookies() == [.persistent("a")])
        // The name for a second one is taken: it is not moved.
        try theirs?.write(to: URL(fileURLWithPath: scene.cookieFile))
        let archive = scene.cookies
        #expect(!archive.apply([.stored(.persistent("b"))]))
        #expect(archive.load() == [.persistent("b")])
        #expect(contents(scene.cookieFile) == theirs)
        #expect(scene.messages.events.last == .inMemory(StorageFailure(.open, scene.cookieFile, .foreign)))
    }

    @Test("a symbolic link instead of the file is moved aside, and its target is unchanged") func link() throws {
        let scene = try StorageScene()
        let target = scene.file("target")
        symlink(target, scene.cookieFile)
        #expect(scene.cookies.apply([.stored(.persistent("a"))]))
        #expect(scene.storedCookies() == [.persistent("a")])
        #expect(mode(target) == nil)
        #expect(mode(scene.cookieFile) == 0o600)
    }

    @Test("a folder instead of the file") func folder() throws {
        let scene = try StorageScene()
        mkdir(scene.cookieFile, 0o700)
        let archive = scene.cookies
        #expect(!archive.apply([.stored(.persistent("a"))]))
        #expect(archive.load() == [.persistent("a")])
        #expect(scene.messages.count == 1)
        rmdir(scene.cookieFile)
        #expect(archive.flush())
        #expect(scene.storedCookies() == [.persistent("a")])
        #expect(scene.messages.events.last == .writableAgain(path: scene.cookieFile))
    }

    @Test("a file of a later release is not changed") func newerVersion() throws {
        let scene = try scene(Self.image())
        try Database(scene.cookieFile).execute("PRAGMA user_version=2; ALTER TABLE cookies ADD COLUMN later")
        let before = contents(scene.cookieFile)
        let archive = scene.cookies
        #expect(archive.load() == [])
        #expect(!archive.apply([.stored(.persistent("a"))]))
        #expect(!archive.apply([.everythingRemoved, .stored(.persistent("b"))]))
        #expect(archive.load() == [.persistent("b")])
        #expect(
            scene.messages.events == [.inMemory(StorageFailure(.open, scene.cookieFile, .newer(version: 2)))])
        #expect(contents(scene.cookieFile) == before)
        #expect(names(scene.directory.path) == ["url-loading-cookies.sqlite"])
    }

    @Test("changes wait while another process has locked the file") func locked() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        archive.apply([.stored(.persistent("a")), .stored(.persistent("b"))])
        _ = archive.load()
        let other = try Database(scene.cookieFile)
        try other.execute("BEGIN IMMEDIATE")
        #expect(!archive.apply([.stored(.persistent("c")), .removed(Cookie.persistent("a").identity)]))
        #expect(!archive.apply([.stored(.persistent("c", "2"))]))
        #expect(Set(archive.load()) == [.persistent("b"), .persistent("c", "2")])
        #expect(archive.writeFailure?.isBusy == true)
        #expect(scene.messages.count == 1)
        try other.execute("COMMIT")
        #expect(archive.apply([.stored(.persistent("d"))]))
        #expect(scene.storedCookies() == [.persistent("b"), .persistent("c", "2"), .persistent("d")])
        #expect(scene.messages.events.last == .writableAgain(path: scene.cookieFile))
        #expect(scene.messages.count == 2)
    }

    // Any number of records offered while no write succeeds
    @Test("pending changes are bounded by the records and a limit of removals") func boundedWait() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        archive.apply([.stored(.persistent("a"))])
        _ = archive.load()
        let other = try Database(scene.cookieFile)
        try other.execute("BEGIN IMMEDIATE")
        for number in 0..<30 {
            let cookies = (0..<1000).map { Cookie.persistent("n\(number)-\($0)") }
            archive.apply(cookies.map { .stored($0) })
            archive.apply(cookies.map { .removed($0.identity) })
        }
        #expect(archive.pendingCount == 20_000)
        archive.apply([.removed(Cookie.persistent("a").identity)])
        try other.execute("COMMIT")
        #expect(archive.flush())
        #expect(scene.storedCookies() == [])
    }

    @Test("on a full disk", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted")) func fullDisk() throws
    {
        let disk = try SmallDisk(size: 8_000_000)
        let ballast = disk.path + "/ballast"
        try Data(count: 7_600_000).write(to: URL(fileURLWithPath: ballast))
        let scene = StorageScene(path: disk.path)
        let archive = scene.cookies
        let all = (0..<3000).map { Cookie.persistent("c\($0)", String(repeating: "x", count: 400)) }
        var written = 0
        for start in stride(from: 0, to: all.count, by: 100) {
            if archive.apply(all[start..<start + 100].map { .stored($0) }) { written = start + 100 }
        }
        #expect(written > 0 && written < all.count)
        #expect(archive.writeFailure != nil)
        #expect(scene.messages.count == 1)
        #expect(Set(archive.load()) == Set(all))
        // Another connection reads the written records.
        #expect(Set(all.prefix(written)).subtracting(scene.storedCookies()) == [])
        unlink(ballast)
        #expect(archive.apply(all.dropFirst(50).map { .removed($0.identity) }))
        #expect(scene.storedCookies() == Set(all.prefix(50)))
        #expect(scene.messages.events.last == .writableAgain(path: scene.cookieFile))
    }

    @Test(
        "a disk that is full from the beginning", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func fullFromTheBeginning() throws {
        let disk = try SmallDisk(size: 65536)
        let ballast = disk.path + "/ballast"
        fill(ballast)
        let scene = StorageScene(path: disk.path)
        let archive = scene.cookies
        #expect(archive.load() == [])
        #expect(!archive.apply([.stored(.persistent("a"))]))
        #expect(!archive.apply([.stored(.persistent("b"))]))
        #expect(scene.messages.count == 1)
        unlink(ballast)
        #expect(archive.flush())
        #expect(scene.storedCookies() == [.persistent("a"), .persistent("b")])
    }

    @Test("a file on a read-only disk is read", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func readOnlyDisk() throws {
        let disk = try SmallDisk(size: 1_000_000)
        let scene = StorageScene(path: disk.path)
        scene.cookies.apply([.stored(.persistent("a"))])
        try disk.setReadOnly(true)
        let archive = scene.cookies
        #expect(archive.load() == [.persistent("a")])
        #expect(scene.messages.events == [])
        #expect(!archive.apply([.stored(.persistent("b"))]))
        #expect(!archive.apply([.stored(.persistent("c"))]))
        #expect(Set(archive.load()) == [.persistent("a"), .persistent("b"), .persistent("c")])
        #expect(scene.messages.count == 1)
        try disk.setReadOnly(false)
        #expect(archive.apply([.removed(Cookie.persistent("a").identity)]))
        #expect(scene.storedCookies() == [.persistent("b"), .persistent("c")])
        #expect(scene.messages.events.last == .writableAgain(path: scene.cookieFile))
    }

    @Test(
        "a write that changes nothing on a read-only disk",
        .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func nothingToWriteOnReadOnlyDisk() throws {
        let disk = try SmallDisk(size: 1_000_000)
        let scene = StorageScene(path: disk.path)
        #expect(scene.cookies.apply([.stored(.persistent("a"))]))
        // A disk with a file that is open for writing cannot become read-only.
        try disk.setReadOnly(true)
        let archive = scene.cookies
        #expect(!archive.apply([.stored(.persistent("b"))]))
        #expect(scene.messages.count == 1)
        // The change that was not written yet is undone, and the file has no such record.
        archive.apply([.removed(Cookie.persistent("b").identity)])
        archive.apply([.removed(Cookie.persistent("none").identity)])
        archive.flush()
        #expect(scene.messages.count == 1)
        try disk.setReadOnly(false)
        #expect(archive.apply([.stored(.persistent("c"))]))
        #expect(scene.messages.events.last == .writableAgain(path: scene.cookieFile))
    }

    @Test("no usable folder") func noUsableFolder() {
        for path in ["/sys/kernel/url-loading", "", "/dev/null/x"] {
            let scene = StorageScene(path: path)
            let archive = scene.cookies
            #expect(archive.load() == [])
            #expect(!archive.apply([.stored(.persistent("a"))]))
            #expect(archive.load() == [.persistent("a")])
            #expect(!archive.hasExternalChanges())
            #expect(scene.messages.count == 1)
        }
    }
}
