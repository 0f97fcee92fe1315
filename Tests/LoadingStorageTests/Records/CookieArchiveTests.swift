import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@Suite(.leakChecked) struct CookieArchiveTests {
    /// A cookie with a value for each attribute.
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
    @Test("every attribute of a cookie is restored") func wholeCookies() throws {
        let scene = try StorageScene()
        var bare = Cookie.persistent("", "v")
        bare.ports = []
        #expect(scene.cookies.apply([.stored(Self.full), .stored(bare)]))
        #expect(scene.storedCookies() == [Self.full, bare])
        #expect(scene.messages.events == [])
    }

    // COOK-19
    @Test("a session cookie is not written, and removes the stored one that it replaces") func sessionCookies() throws {
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
    @Test("a cookie replaces one of the same identity, compared by octets") func replacement() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        // Two normal forms of one letter are two names.
        archive.apply([.stored(.persistent("e\u{301}", "1")), .stored(.persistent("\u{E9}", "2"))])
        archive.apply([.stored(.persistent("E", "3"))])
        archive.apply([.stored(.persistent("E", "4")), .stored(.persistent("E", "5", partition: "p"))])
        archive.apply([.stored(.persistent("E", "6", partition: ""))])
        #expect(scene.cookies.load().map(\.value).sorted() == ["1", "2", "4", "5", "6"])
        archive.apply([.removed(Cookie.persistent("E").identity)])
        #expect(scene.cookies.load().map(\.value).sorted() == ["1", "2", "5", "6"])
    }

    // S-89: nor in a file that was moved aside
    @Test("removed cookies leave no bytes in any file") func removal() throws {
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
    @Test("cookies removed during another process's read leave no bytes afterwards", arguments: [false, true])
    func removalWhileRead(isFlushed: Bool) throws {
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
        // A storage that is used looks for changes of others.
        if isFlushed { #expect(archive.flush()) } else { _ = archive.hasExternalChanges() }
        #expect(!isThere())
    }

    @Test("an archive creates its file at the first store") func noFile() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        #expect(archive.load() == [])
        #expect(!archive.hasExternalChanges())
        #expect(archive.apply([.removed(Cookie.persistent("a").identity)]))
        #expect(names(scene.directory.path) == [])
    }

    // C-36: also the files that SQLite creates
    @Test("files are accessible to their owner only") func modes() throws {
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

    // For rows, two archives of one process are equivalent to two processes.
    @Test("two concurrent writers keep and notice each other's changes") func twoArchives() throws {
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
        // The other archive's change is still noticed.
        #expect(one.hasExternalChanges())
        #expect(Set(one.load()) == [.persistent("a", "3"), .persistent("c", "2")])
        #expect(!one.hasExternalChanges())
        #expect(other.hasExternalChanges())
        #expect(Set(other.load()) == Set(one.load()))
    }

    // COOK-17: the last removal wins
    @Test("a removal includes records that another process stored after the last read", arguments: [false, true])
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

    @Test("a file that was removed meanwhile is created again") func removedFile() throws {
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
