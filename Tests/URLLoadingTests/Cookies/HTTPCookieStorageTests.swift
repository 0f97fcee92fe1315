import Foundation
import TestSupport
import Testing

@testable import URLLoading

@Suite struct HTTPCookieStorageTests {
    let storage = HTTPCookieStorage()

    private func cookie(
        _ name: String, _ value: String = "v", domain: String = "example.com", path: String = "/",
        more: [HTTPCookiePropertyKey: Any] = [:]
    ) throws -> HTTPCookie {
        try #require(
            HTTPCookie(
                properties: [.name: name, .value: value, .domain: domain, .path: path].merging(more) { $1 }))
    }

    private func names(_ address: String) throws -> [String] {
        let url = try #require(URL(string: address))
        return try #require(storage.cookies(for: url)).map(\.name)
    }

    // COOK-15
    @Test func sameNameDomainAndPathReplace() throws {
        storage.setCookie(try cookie("a", "1"))
        storage.setCookie(try cookie("a", "2"))
        storage.setCookie(try cookie("a", "3", path: "/p"))
        storage.setCookie(try cookie("a", "4", domain: ".example.com"))
        #expect(Set(storage.cookies?.map(\.value) ?? []) == ["2", "3", "4"])
        storage.deleteCookie(try cookie("a", "other"))
        #expect(Set(storage.cookies?.map(\.value) ?? []) == ["3", "4"])
    }

    // COOK-4, COOK-5, COOK-6, COOK-16
    @Test func onlyMatchingCookiesAreFound() throws {
        storage.setCookie(try cookie("host"))
        storage.setCookie(try cookie("wide", domain: ".example.com"))
        storage.setCookie(try cookie("secure", more: [.secure: "TRUE"]))
        storage.setCookie(try cookie("deep", path: "/a/b"))
        storage.setCookie(try cookie("port", more: [.port: "8080"]))
        storage.setCookie(try cookie("past", more: [.expires: Date(timeIntervalSinceNow: -1)]))
        storage.setCookie(try cookie("foreign", domain: "example.org"))
        #expect(try names("https://example.com/") == ["host", "wide", "secure"])
        #expect(try names("http://EXAMPLE.com") == ["host", "wide"])
        #expect(try names("http://www.example.com/") == ["wide"])
        #expect(try names("http://example.com/a/b/c") == ["deep", "host", "wide"])
        #expect(try names("http://example.com/a/bc") == ["host", "wide"])
        #expect(try names("http://example.com:8080/") == ["host", "wide", "port"])
        #expect(try names("http://notexample.com/") == [])
        #expect(try names("http://com/") == [])
        #expect(try names("wss://example.com/") == ["host", "wide", "secure"])
    }

    // COOK-4, COOK-27: as programs copy the cookies of a response that they have read themselves
    @Test("a cookie of a server of this machine is found, however it was stored") func localServers() throws {
        let url = try #require(URL(string: "http://localhost:8080/"))
        let fields = ["Set-Cookie": "a=b; Domain=localhost"]
        for cookie in HTTPCookie.cookies(withResponseHeaderFields: fields, for: url) { storage.setCookie(cookie) }
        #expect(try names("http://localhost:8080/") == ["a"])
        #expect(try names("http://app.localhost/") == [])
    }

    // COOK-15, COOK-16: whatever the fraction of a second with which it ends
    @Test("found cookies equal the stored ones") func whatIsFoundIsEqual() throws {
        for number in 1...200 {
            let given = try cookie("a", more: [.expires: Date(timeIntervalSinceNow: 1000 + Double(number) * .pi)])
            storage.setCookie(given)
            #expect(storage.cookies == [given])
            #expect(storage.cookies?.first.map(\.hash) == given.hash)
        }
    }

    @Test func expiredCookieRemovesItsPredecessor() throws {
        storage.setCookie(try cookie("a"))
        storage.setCookie(try cookie("a", more: [.expires: Date(timeIntervalSince1970: 0)]))
        #expect(storage.cookies == [])
    }

    // COOK-13
    @Test func neverMeansNever() throws {
        storage.cookieAcceptPolicy = .never
        storage.setCookie(try cookie("a"))
        storage.setCookies([try cookie("b")], for: URL(string: "http://example.com"), mainDocumentURL: nil)
        #expect(storage.cookies == [])
        #expect(HTTPCookieStorage().cookieAcceptPolicy == .always)
    }

    // COOK-14
    @Test(
        arguments: [
            ("http://example.com", nil, true), ("http://example.com", "http://www.example.com/page", true),
            ("http://example.com", "http://example.com", true), ("http://www.example.com", "http://example.com", false),
            ("http://example.com", "http://notexample.com", false), ("http://example.com", "http://example.org", false),
        ] as [(String, String?, Bool)])
    func mainDocumentDomain(_ address: String, _ document: String?, _ isAccepted: Bool) throws {
        storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
        let cookie = try cookie("a", domain: ".example.com")
        storage.setCookies(
            [cookie], for: URL(string: address), mainDocumentURL: document.flatMap { URL(string: $0) })
        #expect(storage.cookies == (isAccepted ? [cookie] : []))
    }

    /// Accesses the storage in each of its properties.
    private final class AskingCookie: HTTPCookie, @unchecked Sendable {
        let asked = Watched<HTTPCookieStorage?>(nil)
        override var value: String {
            _ = asked.current?.cookies
            return super.value
        }
    }

    // COOK-17, AUTH-24: no code of the caller's runs under a lock
    @Test("a cookie of the caller's class may ask the storage that it is given to") func askingCookies() async throws {
        let cookie = try #require(
            AskingCookie(properties: [.name: "a", .value: "v", .domain: "example.com", .path: "/"]))
        cookie.asked.withValue { $0 = storage }
        let done = Signal("all was stored")
        Thread.detachNewThread { [storage] in
            storage.setCookies([cookie], for: URL(string: "http://example.com/"), mainDocumentURL: nil)
            storage.setCookie(cookie)
            storage.deleteCookie(cookie)
            storage.setCookies([cookie], for: URL(string: "http://example.com/"), mainDocumentURL: nil)
            done.fire()
        }
        try await done.wait()
        #expect(storage.cookies?.map(\.name) == ["a"])
        cookie.asked.withValue { $0 = nil }
    }

    @Test func responsesCannotSetCookiesOfOtherDomains() throws {
        let all = [
            try cookie("own", domain: "www.example.com"), try cookie("parent", domain: ".example.com"),
            try cookie("sibling", domain: "other.example.com"), try cookie("foreign", domain: ".example.org"),
            try cookie("host", domain: "example.com"),
        ]
        storage.setCookies(all, for: URL(string: "http://www.example.com/"), mainDocumentURL: nil)
        #expect(Set(storage.cookies?.map(\.name) ?? []) == ["own", "parent"])
        storage.setCookies(all, for: nil, mainDocumentURL: nil)
        #expect(storage.cookies?.count == 2)
    }

    // COOK-18
    @Test func changesAreAnnounced() throws {
        nonisolated(unsafe) var count = 0
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
        ) { _ in count += 1 }
        defer { NotificationCenter.default.removeObserver(observer) }
        let cookie = try cookie("a")
        storage.setCookie(cookie)
        storage.deleteCookie(cookie)
        storage.deleteCookie(cookie)
        storage.removeCookies(since: .distantPast)
        storage.cookieAcceptPolicy = .never
        storage.setCookie(cookie)
        #expect(count == 2)
    }

    // COOK-19
    @Test func removalSinceADate() throws {
        storage.setCookie(try cookie("old", more: [.created: Date(timeIntervalSince1970: 100)]))
        storage.setCookie(try cookie("new", more: [.created: Date(timeIntervalSince1970: 200)]))
        storage.removeCookies(since: Date(timeIntervalSince1970: 200))
        #expect(storage.cookies?.map(\.name) == ["old"])
    }

    @Test func sharedAndGroupStorages() {
        #expect(HTTPCookieStorage.shared === HTTPCookieStorage.shared)
        let group = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "g")
        #expect(group === HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "g"))
        #expect(group !== HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "h"))
        #expect(group !== HTTPCookieStorage.shared)
    }

    @Test func sorting() throws {
        for name in ["b", "c", "a"] { storage.setCookie(try cookie(name)) }
        let descriptor = NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: false)
        #expect(storage.sortedCookies(using: [descriptor]).map(\.name) == ["c", "b", "a"])
    }

    private final class LoadingTask: URLSessionTask, @unchecked Sendable {
        var request: URLRequest?
        override var currentRequest: URLRequest? { request }
    }

    // COOK-17, COOK-24
    @Test func tasksGoThroughTheirPartition() async throws {
        let url = try #require(URL(string: "http://example.com/"))
        let task = LoadingTask()
        task.request = URLRequest(url: url)
        storage.storeCookies([try cookie("common")], for: task)
        task.request?.cookiePartitionIdentifier = "p"
        storage.storeCookies([try cookie("own")], for: task)
        #expect(await storage.cookies(for: task)?.map(\.name) == ["own"])
        #expect(storage.cookies(for: url)?.map(\.name) == ["common"])
        task.request = nil
        #expect(await storage.cookies(for: task) == nil)
    }

    // COOK-17: a subclass that keeps cookies elsewhere is what tasks see.
    @Test func subclassesReplaceTheJar() async throws {
        final class Fixed: HTTPCookieStorage, @unchecked Sendable {
            override func cookies(for URL: URL) -> [HTTPCookie]? {
                HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": "fixed=1"], for: URL)
            }
        }
        let task = LoadingTask()
        task.request = URLRequest(url: try #require(URL(string: "http://example.com/")))
        #expect(await Fixed().cookies(for: task)?.map(\.name) == ["fixed"])
    }

    @Test func concurrentUse() async throws {
        let storage = storage
        let url = try #require(URL(string: "http://example.com/"))
        let cookie = try cookie("a")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<100 {
                        storage.setCookie(cookie)
                        _ = storage.cookies(for: url)
                        storage.deleteCookie(cookie)
                    }
                }
            }
        }
        #expect(storage.cookies == [])
    }
}
