import Foundation
import TestSupport
import Testing

@testable import LoadingStorage

/// Folders that another user of the system can change: nothing is written there.
@Suite(.leakChecked, .enabled(if: geteuid() == 0, "only root can give files away")) struct TrustedFolderTests {
    private let temporary: TemporaryDirectory
    private static let overflowID: uid_t = 65534

    init() throws { temporary = try TemporaryDirectory() }

    private func folder(_ name: String, _ mode: mode_t = 0o700, owner: uid_t = 0, group: gid_t = 0) throws -> String {
        let path = temporary.file(name).path
        try #require(mkdir(path, 0o700) == 0)
        try #require(chown(path, owner, group) == 0 && chmod(path, mode) == 0)
        return path
    }

    private func failure(_ directory: StorageDirectory) -> StorageFailure? {
        do throws(StorageFailure) {
            _ = try directory.make()
            return nil
        } catch {
            return error
        }
    }

    // C-36
    @Test("a folder of another user is not written to, as parent or as the caller's choice") func othersFolder() throws
    {
        let home = try folder("home", 0o755, owner: Self.overflowID, group: Self.overflowID)
        let refused = StorageFailure(.open, home, .untrusted)
        #expect(failure(StorageDirectory(.data, application: "app") { _ in home }) == refused)
        #expect(failure(StorageDirectory(path: home)) == refused)
        #expect(failure(StorageDirectory(path: home + "/a/b")) == refused)
        let own = try folder("home/own", 0o755)
        #expect(failure(StorageDirectory(path: own)) == refused)
    }

    // C-36
    @Test(
        "a folder that others may write to",
        arguments: [
            (0o777, 0, .no), (0o775, 65534, .no), (0o1777, 0, .above), (0o1775, 65534, .above), (0o775, 0, .yes),
            (0o755, 65534, .yes),
        ] as [(mode_t, gid_t, Trust)])
    func openFolder(mode: mode_t, group: gid_t, trust: Trust) throws {
        let path = try folder("open", mode, group: group)
        let refused = StorageFailure(.open, path, .untrusted)
        #expect(failure(StorageDirectory(path: path)) == (trust == .yes ? nil : refused))
        #expect(failure(StorageDirectory(.data, application: "app") { _ in path }) == (trust == .no ? refused : nil))
        #expect(modeOf(path) == mode)
    }

    enum Trust {
        case no
        /// Has the store's own folder in it: in a sticky folder other users can create entries, but not replace ours.
        case above
        case yes
    }

    private func modeOf(_ path: String) -> mode_t? { LoadingStorageTests.mode(path) }

    // C-36: cookies are then in memory only, and a message reports it
    @Test("no cookie goes to a file in another user's folder") func cookies() throws {
        let path = try folder("store", 0o777, owner: Self.overflowID)
        let scene = StorageScene(path: path)
        let archive = scene.cookies
        #expect(!archive.apply([.stored(.persistent("a"))]))
        #expect(archive.load() == [.persistent("a")])
        #expect(names(path) == [])
        let failure = StorageFailure(.open, path, .untrusted)
        #expect(scene.messages.events == [.inMemory(failure)])
        #expect(failure.description == "cannot open \(path): another user owns it or may replace it")
    }

    // C-36
    @Test("side files of another user are removed", arguments: ["-journal", "-wal", "-shm"])
    func sideFiles(end: String) throws {
        let scene = try StorageScene()
        scene.cookies.apply([.stored(.persistent("a"))])
        let file = scene.cookieFile + end
        let spy: Int32
        do {
            unlink(file)
            spy = open(file, O_RDWR | O_CREAT, 0o666)
            try #require(spy >= 0 && fchown(spy, Self.overflowID, Self.overflowID) == 0 && fchmod(spy, 0o666) == 0)
        }
        defer { close(spy) }
        #expect(scene.cookies.apply([.stored(.persistent("secret", "needle")), .everythingRemoved]))
        #expect(scene.cookies.apply([.stored(.persistent("b"))]))
        #expect(scene.storedCookies() == [.persistent("b")])
        // A process that has it open reads nothing new.
        var status = stat()
        #expect(fstat(spy, &status) == 0 && status.st_size == 0 && status.st_nlink == 0)
        #expect(mode(file) == (end == "-journal" ? 0o600 : nil))
    }

    // C-36: possible in a sticky folder of root
    @Test("side files that cannot be removed") func stuckSideFile() throws {
        let scene = try StorageScene()
        let stuck = scene.cookieFile + "-journal"
        mkdir(stuck, 0o700)
        mkdir(stuck + "/full", 0o700)
        let archive = scene.cookies
        #expect(!archive.apply([.stored(.persistent("a"))]))
        #expect(scene.messages.events == [.inMemory(StorageFailure(.open, stuck, .untrusted))])
        rmdir(stuck + "/full")
        #expect(archive.flush())
        #expect(scene.storedCookies() == [.persistent("a")])
    }

    // C-36: a user namespace with a single mapped user shows the system's folders like this
    @Test("owners that are not mapped in the user namespace") func unknownOwners() {
        let all = UserNamespace(map: "         0          0 4294967295\n", overflow: "65534\n")
        #expect(!all.isUnmapped(65534) && !all.isUnmapped(1000))
        let one = UserNamespace(map: "         0       1000          1\n", overflow: "65534\n")
        #expect(one.isUnmapped(65534) && !one.isUnmapped(0) && !one.isUnmapped(1000))
        let several = UserNamespace(map: "0 1000 1\n1 100000 65536\n", overflow: "65534\n")
        #expect(!several.isUnmapped(65534))
        let unreadable = UserNamespace(map: "", overflow: "65534\n")
        #expect(!unreadable.isUnmapped(65534))
    }
}
