import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// Cookies of responses that arrived before the public suffix list was read.
@Suite(.leavesNothing) struct PendingCookiesTests {
    private let suffixes = DeferredSuffixes()
    private let recordStore = ScriptedRecordStore<Cookie>([])
    private let storage: HTTPCookieStorage

    init() {
        storage = HTTPCookieStorage(
            suffixes: suffixes.list, unlessEmpty: { false }, recordStore: { [recordStore] in recordStore })
    }

    private func request(_ host: String) throws -> CookieRequest { CookieRequest(try HTTPURL("https://\(host)/")) }

    /// Sets cookies like the loader.
    private func receive(_ fields: String..., from host: String = "www.example.org") throws {
        let request = try request(host)
        if storage.isLoaded(for: request) {
            _ = storage.receive(fields, from: request, policy: .always)
        } else {
            storage.receiveWhenLoaded(fields, from: request, policy: .always)
        }
    }

    private var all: [String] { (storage.cookies ?? []).map { "\($0.name)=\($0.value)" } }

    private func cookie(_ name: String, _ value: String) throws -> HTTPCookie {
        try #require(
            HTTPCookie(properties: [.name: name, .value: value, .domain: "www.example.org", .path: "/"]))
    }

    private func flush() async {
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
    }

    // COOK-23: such as a completion handler
    @Test("the storage returns pending cookies of responses") func asked() throws {
        try receive("a=1", "b=1")
        try receive("a=2")
        #expect(storage.isEmptyIfLoaded == nil)
        #expect(all == ["a=2", "b=1"])
        #expect(storage.isEmptyIfLoaded == false)
        try receive("c=3")
        let url = try #require(URL(string: "https://www.example.org/"))
        #expect(storage.cookies(for: url)?.map(\.name) == ["a", "b", "c"])
        // The scheduled work finds it done.
        suffixes.finishReading()
        #expect(all == ["a=2", "b=1", "c=3"])
    }

    // COOK-17
    @Test("changes of the program after a response follow its cookies") func programsOwn() throws {
        try receive("set=1", "deleted=1")
        storage.setCookie(try cookie("set", "2"))
        storage.deleteCookie(try cookie("deleted", "1"))
        suffixes.finishReading()
        #expect(all == ["set=2"])
        try receive("late=1")
        #expect(all == ["set=2", "late=1"])
    }

    // S-89, COOK-18
    @Test("removed cookies do not return", arguments: [Date.distantPast, Date(timeIntervalSince1970: 1000)])
    func removed(since date: Date) async throws {
        try receive("a=1; Max-Age=1000")
        storage.removeCookies(since: date)
        suffixes.finishReading()
        await flush()
        #expect(all == [])
        #expect(recordStore.kept == [])
    }

    // S-88
    @Test("a flush completes when pending cookies are written, without blocking") func flushed()
        async throws
    {
        let flushed = EventRecorder<[String]>()
        try receive("a=1; Max-Age=1000")
        storage.flush { [recordStore] in flushed.record(recordStore.kept.map(\.name)) }
        #expect(flushed.events == [])
        suffixes.finishReading()
        #expect(try await flushed.waitFor(count: 1) == [["a"]])
    }

    // COOK-23: of one host nothing need be waited for, of the other the list
    @Test("cookies are set in order of arrival") func order() throws {
        // From now on all is at hand but the list.
        #expect(all == [])
        try receive("a=0", from: "www.example.org")
        try receive("a=1", from: "localhost")
        try receive("a=2", from: "localhost")
        let field = EventRecorder<String?>()
        let localhost = try request("localhost")
        storage.whenLoaded(for: localhost) { [storage] in field.record(storage.field(for: localhost)) }
        #expect(field.events == [])
        suffixes.finishReading()
        #expect(field.events == ["a=2"])
        #expect(all == ["a=0", "a=2"])
    }

    // COOK-13
    @Test("the policy is that of the time when the response came") func policy() throws {
        try receive("a=1")
        storage.cookieAcceptPolicy = .never
        try receive("b=1")
        storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
        #expect(all == ["a=1"])
        suffixes.finishReading()
    }

    // COOK-17, S-89
    @Test("a cookie is as old as its response, and ends by that time") func time() async throws {
        let before = HTTPCookieStorage.now
        try receive("a=1; Max-Age=1000")
        let after = HTTPCookieStorage.now
        // So it was made before, however long the reading takes.
        storage.removeCookies(since: Date(timeIntervalSince1970: after + 0.000_001))
        suffixes.finishReading()
        await flush()
        let kept = try #require(recordStore.kept.first)
        #expect((before...after).contains(kept.created))
        #expect(kept.expires == kept.created + 1000)
    }

    // COOK-23
    @Test("a waiting request has the cookies of later responses") func meanwhile() throws {
        #expect(all == [])
        let field = EventRecorder<String?>()
        let request = try request("www.example.org")
        storage.whenLoaded(for: request) { [storage] in field.record(storage.field(for: request)) }
        try receive("a=1")
        #expect(field.events == [])
        suffixes.finishReading()
        #expect(field.events == ["a=1"])
    }

    // COOK-17, COOK-23
    @Test("no cookie is lost or set twice with concurrent access") func manyThreads() async {
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<100 {
                try? receive("n=\(number)", from: "h\(thread).example")
                if thread == 0, number == 50 { suffixes.finishReading() }
                // In order, also for concurrent readers.
                if thread < 5 { continue }
                let own = storage.cookies?.first { $0.domain == "h\(thread).example" }
                #expect(own?.value == "\(number)")
            }
        }
        await flush()
        #expect(all == [String](repeating: "n=99", count: 8))
    }

    // COOK-17
    @Test("the suffix list is not read while the storage's lock is held", arguments: 0..<6) func lock(call: Int) throws
    {
        let url = try #require(URL(string: "https://www.example.org/"))
        try receive("early=1")
        switch call {
        case 0: _ = storage.cookies
        case 1: storage.setCookie(try cookie("a", "1"))
        case 2: storage.deleteCookie(try cookie("a", "1"))
        case 3: storage.removeCookies(since: .now)
        case 4: storage.setCookies([try cookie("a", "1")], for: url, mainDocumentURL: url)
        default: _ = storage.cookies(for: url)
        }
        #expect(suffixes.askedEarly == [])
        // Otherwise they wait for ever, and keep the storage.
        suffixes.finishReading()
    }

    // COOK-17
    @Test("nor where no response has set anything", arguments: 0..<3) func lockWithoutEarly(call: Int) throws {
        let url = try #require(URL(string: "https://www.example.org/"))
        switch call {
        case 0: storage.setCookie(try cookie("a", "1"))
        case 1: storage.deleteCookie(try cookie("a", "1"))
        default: storage.setCookies([try cookie("a", "1")], for: url, mainDocumentURL: url)
        }
        _ = storage.cookies(for: url)
        #expect(suffixes.askedEarly == [])
    }
}
