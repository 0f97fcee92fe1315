import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// Cookie storages that share a file, like those of two programs.
@Suite(.leavesNothing) struct PersistentCookiesTests {
    private let directory: TemporaryDirectory
    private let place: StorageDirectory

    init() throws {
        directory = try TemporaryDirectory()
        place = StorageDirectory(path: directory.path + "/store")
    }

    private func cookie(_ name: String, _ value: String = "v", lasts: Bool = true) throws -> HTTPCookie {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .domain: "example.org", .path: "/", .secure: "TRUE",
        ]
        if lasts { properties[.expires] = Date(timeIntervalSinceNow: 3600) }
        return try #require(HTTPCookie(properties: properties))
    }

    private func flush(_ storage: HTTPCookieStorage) async {
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
    }

    private func names(_ storage: HTTPCookieStorage) -> [String] { (storage.cookies ?? []).map(\.name).sorted() }

    // COOK-19
    @Test("a new storage has the same cookies")
    func reopened() async throws {
        let old = HTTPCookieStorage(in: place, checkInterval: 0)
        let kept = try cookie("kept")
        old.setCookie(kept)
        old.setCookie(try cookie("passing", lasts: false))
        await flush(old)
        let new = HTTPCookieStorage(in: place, checkInterval: 0)
        let found = try #require(new.cookies)
        #expect(found.map(\.name) == ["kept"])
        #expect(found.first?.isSecure == true && found.first?.domain == "example.org" && found.first?.path == "/")
        let times = (found.first?.expiresDate?.timeIntervalSince1970, kept.expiresDate?.timeIntervalSince1970)
        #expect(times.0 == times.1)
    }

    // COOK-15, COOK-19
    @Test("a cookie that now ends with the process takes the place of one that lasts")
    func replacedByPassing() async throws {
        let old = HTTPCookieStorage(in: place, checkInterval: 0)
        old.setCookie(try cookie("a"))
        old.setCookie(try cookie("a", lasts: false))
        await flush(old)
        #expect(names(HTTPCookieStorage(in: place, checkInterval: 0)) == [])
    }

    // COOK-18, COOK-19
    @Test("changes of another program are read and posted")
    func otherProgram() async throws {
        let mine = HTTPCookieStorage(in: place, checkInterval: 0)
        let other = HTTPCookieStorage(in: place, checkInterval: 0)
        #expect(names(mine) == [])
        let isNotified = Signal("a change by others")
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: mine, queue: nil
        ) { _ in isNotified.fire() }
        defer { NotificationCenter.default.removeObserver(observer) }
        other.setCookie(try cookie("a"))
        try await eventually { names(mine) == ["a"] }
        try await isNotified.wait()
        mine.setCookie(try cookie("b"))
        mine.deleteCookie(try cookie("a"))
        try await eventually { names(other) == ["b"] }
    }

    // COOK-19: by the next look at the file, and by the next change
    @Test("a removed folder is created again, with the cookies in memory")
    func removedFolder() async throws {
        let storage = HTTPCookieStorage(in: place, checkInterval: 0)
        let other = HTTPCookieStorage(in: place, checkInterval: 0)
        storage.setCookie(try cookie("a"))
        await flush(storage)
        #expect(names(other) == ["a"])
        try FileManager.default.removeItem(atPath: place.path)
        try await eventually {
            let isKept = names(storage) == ["a"]
            return isKept && CookieArchive(in: place).load().map(\.name) == ["a"]
        }
        other.setCookie(try cookie("b"))
        await flush(other)
        try FileManager.default.removeItem(atPath: place.path)
        storage.setCookie(try cookie("c"))
        await flush(storage)
        #expect(Set(CookieArchive(in: place).load().map(\.name)).isSuperset(of: ["a", "c"]))
        // None of them loses what the others have.
        try await eventually { [names(storage), names(other)].allSatisfy { $0 == ["a", "b", "c"] } }
        #expect(Set(CookieArchive(in: place).load().map(\.name)) == ["a", "b", "c"])
    }

    // COOK-19
    @Test("cookies in memory survive a damaged page")
    func damagedPage() async throws {
        // It does not look between the two steps below: what it read before the damage would not show that.
        let storage = HTTPCookieStorage(in: place)
        for number in 0..<150 {
            storage.setCookie(try cookie("n\(number)", "value-\(number)-" + String(repeating: "v", count: 40)))
        }
        await flush(storage)
        #expect(names(storage).count == 150)
        // Another one stores something, so that pages are read anew.
        let file = place.path + "/url-loading-cookies.sqlite"
        do {
            let other = CookieArchive(in: place)
            var extra = Cookie(name: "extra", value: "v", domain: "example.org", created: 1000)
            extra.expires = Date().timeIntervalSince1970 + 3600
            #expect(other.apply([.stored(extra)]))
            #expect(try Database(file).value("PRAGMA wal_checkpoint(TRUNCATE)") == .integer(0))
        }
        let content = try Data(contentsOf: URL(fileURLWithPath: file))
        let found = try #require(content.range(of: Data("value-0-".utf8))).lowerBound
        let descriptor = open(file, O_WRONLY)
        #expect(pwrite(descriptor, [UInt8](repeating: 0x55, count: 4096), 4096, off_t(found / 4096 * 4096)) == 4096)
        close(descriptor)
        try await eventually { names(storage).count == 151 }
        try await eventually { CookieArchive(in: place).load().count == 151 }
        #expect(names(storage).count == 151)
    }

    // COOK-19
    @Test("cookies created before 1970 survive removal since 1970")
    func removedSinceTheBeginning() async throws {
        let storage = HTTPCookieStorage(in: place, checkInterval: 0)
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "old", .value: "v", .domain: "example.org", .path: "/", .expires: Date(timeIntervalSinceNow: 3600),
            .created: Date(timeIntervalSince1970: -1000),
        ]
        storage.setCookie(try #require(HTTPCookie(properties: properties)))
        storage.setCookie(try cookie("new"))
        storage.removeCookies(since: Date(timeIntervalSince1970: 0))
        await flush(storage)
        #expect(names(storage) == ["old"])
        #expect(CookieArchive(in: place).load().map(\.name) == ["old"])
        storage.removeCookies(since: .distantPast)
        await flush(storage)
        #expect(CookieArchive(in: place).load() == [])
    }

    // COOK-19, S-89
    @Test("removed cookies are erased from the file")
    func removed() async throws {
        let storage = HTTPCookieStorage(in: place, checkInterval: 0)
        storage.setCookie(try cookie("a", "treasure"))
        await flush(storage)
        storage.removeCookies(since: .distantPast)
        await flush(storage)
        #expect(names(HTTPCookieStorage(in: place, checkInterval: 0)) == [])
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path + "/store") {
            let data = try Data(contentsOf: directory.file("store/" + name))
            #expect(data.range(of: Data("treasure".utf8)) == nil, "\(name)")
        }
    }

    @Test("expired cookies are removed from the file when it is read")
    func ended() async throws {
        var short = Cookie(name: "short", value: "treasure", domain: "example.org", created: 1000)
        short.expires = 2000
        CookieArchive(in: place).apply([.stored(short)])
        try #require(CookieArchive(in: place).load().count == 1)
        let new = HTTPCookieStorage(in: place, checkInterval: 0)
        #expect(names(new) == [])
        await flush(new)
        let archive = CookieArchive(in: place)
        #expect(archive.load().isEmpty)
    }

    // COOK-19
    @Test("groups have one storage a name, each with a file of its own")
    func groups() async throws {
        let first = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: Loading.cookieGroup)
        first.setCookie(try cookie("group"))
        await flush(first)
        defer { first.removeCookies(since: .distantPast) }
        let home = try #require(ProcessInfo.processInfo.environment["XDG_DATA_HOME"])
        #expect(
            FileManager.default.fileExists(atPath: home + "/%group-\(Loading.cookieGroup)/url-loading-cookies.sqlite"))
        #expect(names(.sharedCookieStorage(forGroupContainerIdentifier: "org.example.other")) == [])
    }

    // S-89
    @Test("where nothing is kept, removing all makes no file")
    func removedFromNothing() async throws {
        let storage = HTTPCookieStorage(in: place, checkInterval: 0)
        storage.removeCookies(since: .distantPast)
        await flush(storage)
        #expect(!FileManager.default.fileExists(atPath: place.path + "/url-loading-cookies.sqlite"))
    }

    @Test("where nothing can be written, cookies are kept in memory")
    func readOnly() async throws {
        let storage = HTTPCookieStorage(in: StorageDirectory(path: "/proc/nothing"))
        storage.setCookie(try cookie("a"))
        await flush(storage)
        #expect(names(storage) == ["a"])
    }
}
