import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@Suite(.leakChecked) struct CookieArchiveTests {
    /// One with something in each of its members.
    private static let full: Cookie = {
        var cookie = Cookie(
            name: "näme", value: "a=\"b\"\0", domain: "example.org", isHostOnly: false, path: "/p;ä", created: 12.125)
        cookie.isSecure = true
        cookie.isHTTPOnly = true
        cookie.sameSite = .strict
        cookie.expires = 1e10
        cookie.partition = "https://top.example"
        cookie.ports = [80, 443]
        cookie.annotations = ["Comment": "c", "": "\u{1F36A}", "CommentURL": "http://c/"]
        return cookie
    }()

    // COOK-19, COOK-24
    @Test("every member of a cookie comes back") func wholeCookies() throws {
        let scene = try StorageScene()
        var bare = Cookie.persistent("", "v")
        bare.ports = []
        #expect(scene.cookies.apply([.stored(Self.full), .stored(bare)]))
        #expect(scene.storedCookies() == [Self.full, bare])
        #expect(scene.messages.events == [])
    }

    // COOK-19
    @Test("what ends with the session is not written, and takes out what it replaces") func sessionCookies() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        var session = Cookie.persistent("a", "secret-of-the-session")
        session.expires = nil
        #expect(archive.apply([.stored(session)]))
        #expect(!FileManager.default.fileExists(atPath: scene.cookieFile))
        #expect(archive.apply([.stored(.persistent("a")), .stored(.persistent("b"))]))
        #expect(archive.apply([.stored(session)]))
        #expect(scene.storedCookies() == [.persistent("b")])
        for name in names(scene.directory.path) {
            #expect(contents(scene.file(name))?.range(of: Data("secret-of-the-session".utf8)) == nil)
        }
    }

    // COOK-15
    @Test("a cookie takes the place of its identity's, by octets") func replacement() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        // The same letter in two spellings is two names.
        archive.apply([.stored(.persistent("e\u{301}", "1")), .stored(.persistent("\u{E9}", "2"))])
        archive.apply([.stored(.persistent("E", "3"))])
        archive.apply([.stored(.persistent("E", "4")), .stored(.persistent("E", "5", partition: "p"))])
        archive.apply([.stored(.persistent("E", "6", partition: ""))])
        #expect(scene.cookies.load().map(\.value).sorted() == ["1", "2", "4", "5", "6"])
        archive.apply([.removed(Cookie.persistent("E").identity)])
        #expect(scene.cookies.load().map(\.value).sorted() == ["1", "2", "5", "6"])
    }

    // S-89: nor in what was put aside
    @Test("what was removed is in no file any more") func removal() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        archive.apply((0..<50).map { .stored(.persistent("c\($0)", "needle-\($0)")) })
        for end in [".damaged", ".new", ".new-journal"] {
            try Data("needle".utf8).write(to: URL(fileURLWithPath: scene.cookieFile + end))
        }
        #expect(names(scene.directory.path).contains { contents(scene.file($0))?.holds("needle") == true })
        archive.apply([.everythingRemoved, .stored(.persistent("new", "hay"))])
        #expect(scene.storedCookies() == [.persistent("new", "hay")])
        for name in names(scene.directory.path) { #expect(contents(scene.file(name))?.holds("needle") == false) }
    }

    // S-89
    @Test("what was removed while another reads it is in no file any more when that one is done")
    func removalWhileRead() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        archive.apply([.stored(.persistent("a", "needle"))])
        let reader = try Database(scene.cookieFile, .read)
        func isThere() -> Bool {
            names(scene.directory.path).contains { contents(scene.file($0))?.holds("needle") == true }
        }
        try reader.execute("BEGIN; SELECT * FROM cookies")
        archive.apply([.everythingRemoved])
        #expect(isThere())
        try reader.execute("COMMIT")
        #expect(archive.flush())
        #expect(!isThere())
    }

    @Test("an archive that nobody has stored in makes no file") func noFile() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        #expect(archive.load() == [])
        #expect(!archive.hasExternalChanges())
        #expect(archive.apply([.removed(Cookie.persistent("a").identity)]))
        #expect(names(scene.directory.path) == [])
    }

    // C-36: also those that SQLite makes
    @Test("files are for their owner alone") func modes() throws {
        let scene = try StorageScene()
        let before = umask(0)
        defer { umask(before) }
        let archive = scene.cookies
        archive.apply([.stored(.persistent("a"))])
        let files = names(scene.directory.path)
        #expect(files == ["", "-journal"].map { "url-loading-cookies.sqlite" + $0 })
        for file in files { #expect(mode(scene.file(file)) == 0o600) }
        withExtendedLifetime(archive) {}
    }

    // Two of one process stand for two processes as far as rows go.
    @Test("two that write at one time lose nothing of each other's, and notice") func twoArchives() throws {
        let scene = try StorageScene()
        let (one, other) = (scene.cookies, scene.cookies)
        one.apply([.stored(.persistent("a", "1")), .stored(.persistent("b", "1"))])
        #expect(other.hasExternalChanges())
        #expect(other.load().count == 2)
        #expect(!other.hasExternalChanges())
        other.apply([.stored(.persistent("c", "2"))])
        #expect(!other.hasExternalChanges())
        #expect(one.hasExternalChanges())
        one.apply([.stored(.persistent("a", "3")), .removed(Cookie.persistent("b").identity)])
        // What the other has written is still news.
        #expect(one.hasExternalChanges())
        #expect(Set(one.load()) == [.persistent("a", "3"), .persistent("c", "2")])
        #expect(!one.hasExternalChanges())
        #expect(other.hasExternalChanges())
        #expect(Set(other.load()) == Set(one.load()))
    }

    // COOK-17: who was asked last to remove it has his way
    @Test("what another has stored since the file was read is removed too", arguments: [false, true])
    func removedUnseen(bySessionCookie: Bool) throws {
        let scene = try StorageScene()
        let (one, other) = (scene.cookies, scene.cookies)
        one.apply([.stored(.persistent("a"))])
        #expect(one.load().count == 1)
        other.apply([.stored(.persistent("b"))])
        var session = Cookie.persistent("b", "newer")
        session.expires = nil
        one.apply([.stored(session)] + (bySessionCookie ? [] : [.removed(session.identity)]))
        #expect(scene.storedCookies() == [.persistent("a")])
    }

    @Test("a file that is removed meanwhile is made again") func removedFile() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        archive.apply([.stored(.persistent("a"))])
        try FileManager.default.removeItem(atPath: scene.directory.path)
        #expect(archive.apply([.stored(.persistent("b"))]))
        #expect(scene.storedCookies() == [.persistent("b")])
        #expect(archive.hasExternalChanges())
        #expect(archive.load() == [.persistent("b")])
        #expect(scene.messages.events == [])
    }
}

extension Data {
    fileprivate func holds(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
