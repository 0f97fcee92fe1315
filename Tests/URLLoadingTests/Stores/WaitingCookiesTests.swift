import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// Cookies of responses that came before the list of public suffixes was read, for which no loop waits.
@Suite(.leavesNothing) struct WaitingCookiesTests {
    private let suffixes = HeldSuffixes()
    private let keeper = ScriptedKeeper<Cookie>([])
    private let storage: HTTPCookieStorage

    init() {
        storage = HTTPCookieStorage(suffixes: suffixes.list, unlessEmpty: { false }, keeper: { [keeper] in keeper })
    }

    private func request(_ host: String) throws -> CookieRequest { CookieRequest(try HTTPURL("https://\(host)/")) }

    /// As the loader does it.
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
    @Test("who asks the storage finds what responses have set") func asked() throws {
        try receive("a=1", "b=1")
        try receive("a=2")
        #expect(storage.isEmptyIfLoaded == nil)
        #expect(all == ["a=2", "b=1"])
        #expect(storage.isEmptyIfLoaded == false)
        try receive("c=3")
        let url = try #require(URL(string: "https://www.example.org/"))
        #expect(storage.cookies(for: url)?.map(\.name) == ["a", "b", "c"])
        // Whoever was to do it finds it done.
        suffixes.letGo()
        #expect(all == ["a=2", "b=1", "c=3"])
    }

    // COOK-17
    @Test("what the program does after a response comes after what the response has set") func programsOwn() throws {
        try receive("set=1", "deleted=1")
        storage.setCookie(try cookie("set", "2"))
        storage.deleteCookie(try cookie("deleted", "1"))
        suffixes.letGo()
        #expect(all == ["set=2"])
        try receive("late=1")
        #expect(all == ["set=2", "late=1"])
    }

    // S-89, COOK-18
    @Test("what is removed comes not back", arguments: [Date.distantPast, Date(timeIntervalSince1970: 1000)])
    func removed(since date: Date) async throws {
        try receive("a=1; Max-Age=1000")
        storage.removeCookies(since: date)
        suffixes.letGo()
        await flush()
        #expect(all == [])
        #expect(keeper.kept == [])
    }

    // S-88
    @Test("a flush is told of when what responses have set is written, and waits for nothing itself") func flushed()
        async throws
    {
        let told = EventRecorder<[String]>()
        try receive("a=1; Max-Age=1000")
        storage.flush { [keeper] in told.record(keeper.kept.map(\.name)) }
        #expect(told.events == [])
        suffixes.letGo()
        #expect(try await told.waitFor(count: 1) == [["a"]])
    }

    // COOK-23: of one host nothing need be waited for, of the other the list
    @Test("what came first is set first, whatever it waits for") func order() throws {
        // From now on all is at hand but the list.
        #expect(all == [])
        try receive("a=0", from: "www.example.org")
        try receive("a=1", from: "localhost")
        try receive("a=2", from: "localhost")
        let field = EventRecorder<String?>()
        let localhost = try request("localhost")
        storage.whenLoaded(for: localhost) { [storage] in field.record(storage.field(for: localhost)) }
        #expect(field.events == [])
        suffixes.letGo()
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
        suffixes.letGo()
    }

    // COOK-17, S-89
    @Test("a cookie is as old as its response, and ends by that time") func time() async throws {
        let before = HTTPCookieStorage.now
        try receive("a=1; Max-Age=1000")
        let after = HTTPCookieStorage.now
        // So it was made before, however long the reading takes.
        storage.removeCookies(since: Date(timeIntervalSince1970: after + 0.000_001))
        suffixes.letGo()
        await flush()
        let kept = try #require(keeper.kept.first)
        #expect((before...after).contains(kept.created))
        #expect(kept.expires == kept.created + 1000)
    }

    // COOK-23
    @Test("a request that waits carries what a response sets meanwhile") func meanwhile() throws {
        #expect(all == [])
        let field = EventRecorder<String?>()
        let request = try request("www.example.org")
        storage.whenLoaded(for: request) { [storage] in field.record(storage.field(for: request)) }
        try receive("a=1")
        #expect(field.events == [])
        suffixes.letGo()
        #expect(field.events == ["a=1"])
    }

    // COOK-17, COOK-23
    @Test("nothing is lost, and nothing set twice, whoever takes it") func manyThreads() async {
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<100 {
                try? receive("n=\(number)", from: "h\(thread).example")
                if thread == 0, number == 50 { suffixes.letGo() }
                // In the order of setting, also for who asks in between.
                if thread < 5 { continue }
                let own = storage.cookies?.first { $0.domain == "h\(thread).example" }
                #expect(own?.value == "\(number)")
            }
        }
        await flush()
        #expect(all == [String](repeating: "n=99", count: 8))
    }

    // COOK-17
    @Test("nobody reads the list with the lock held that loops wait for", arguments: 0..<6) func lock(call: Int) throws
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
        suffixes.letGo()
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
