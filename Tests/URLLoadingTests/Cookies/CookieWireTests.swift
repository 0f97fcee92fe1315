import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import URLLoading

/// Cookies between a session and a server.
@Suite(.leavesNothing) struct CookieWireTests {
    /// `/set` sets the cookies of its query, `/to` redirects with the cookies of its query, `/user` requires
    /// authentication. The body of other responses is the request's `Cookie` field.
    static func answer(_ request: ReceivedRequest) -> CannedResponse {
        let received = request["Cookie"] ?? "-"
        let field = (request.query ?? "").removingPercentEncoding ?? ""
        switch request.path {
        case "/set": return .text(received).with(field: "Set-Cookie", field)
        case "/twice":
            return .text(received).with(field: "Set-Cookie", "one=1").with(field: "Set-Cookie", "two=2; Path=/")
        case "/redirect": return .redirect(to: "/end").with(field: "Set-Cookie", field)
        case "/user" where request["Authorization"] == nil:
            return .text("", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
                .with(field: "Set-Cookie", field)
        case "/missing": return .text(received, status: 404).with(field: "Set-Cookie", field)
        default: return .text(received)
        }
    }

    private let server: ScriptedServer
    private let configuration = URLSessionConfiguration.ephemeral

    init() throws {
        server = try ScriptedServer.answering { Self.answer($0) }
    }

    private var storage: HTTPCookieStorage { get throws { try #require(configuration.httpCookieStorage) } }

    private func url(_ path: String, setting field: String? = nil) -> URL {
        let query = field?.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        return server.url(path + (query.map { "?" + $0 } ?? ""))
    }

    /// The `Cookie` fields of all requests.
    private func load(_ requests: [URLRequest]) async throws -> [String] {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        var received: [String] = []
        for request in requests {
            received.append(String(decoding: try await session.data(for: request).0, as: UTF8.self))
        }
        return received
    }

    private func load(_ urls: URL...) async throws -> [String] { try await load(urls.map { URLRequest(url: $0) }) }

    // COOK-16, COOK-20, COOK-23
    @Test("a cookie that a response sets is sent with the next request")
    func next() async throws {
        #expect(
            try await load(
                url("/set", setting: "a=b"), url("/end"), url("/set", setting: "a=; Max-Age=0"), url("/end"))
                == ["-", "a=b", "a=b", "-"])
    }

    // COOK-12, COOK-16: the default path is the directory of the request; the longest path comes first
    @Test("paths")
    func paths() async throws {
        #expect(
            try await load(
                url("/set", setting: "root=1"), url("/set", setting: "deep=2; Path=/deep"), url("/deep/er"),
                url("/deepest"))
                == ["-", "root=1", "deep=2; root=1", "root=1"])
    }

    // COOK-10, COOK-23
    @Test("several fields in one response")
    func severalFields() async throws {
        #expect(try await load(url("/twice"), url("/end")) == ["-", "one=1; two=2"])
    }

    // COOK-23
    @Test("responses that the caller never sees set cookies too")
    func unseenResponses() async throws {
        let user = URL(
            string: url("/user", setting: "asked=1").absoluteString.replacing("http://", with: "http://u:p@"))
        #expect(
            try await load(url("/redirect", setting: "led=1"), try #require(user), url("/missing", setting: "lost=1"))
                == ["led=1", "led=1; asked=1", "led=1; asked=1"])
        #expect(try storage.cookies?.map(\.name) == ["led", "asked", "lost"])
    }

    // COOK-20: nothing that a server may not set
    @Test(
        "refused",
        arguments: [
            "a=b; Secure", "__Secure-a=b", "__Host-a=b; Path=/", "a=b; Domain=example.com", "a=b; SameSite=None",
            "a=b; Partitioned", "=", "a=\u{1}",
        ])
    func refused(_ field: String) async throws {
        #expect(try await load(url("/set", setting: field), url("/end")) == ["-", "-"])
        #expect(try storage.cookies == [])
    }

    // COOK-21, COOK-22: a request's own field is sent, and gives way to what the storage has
    @Test("the request's own field")
    func ownField() async throws {
        let own = URLRequest(url: url("/end")).with { $0.setValue("own=1", forHTTPHeaderField: "Cookie") }
        #expect(
            try await load([own, URLRequest(url: url("/set", setting: "a=b")), own]) == ["own=1", "-", "a=b"])
    }

    // COOK-21
    @Test("a request without cookie handling neither sends nor keeps any")
    func requestWithoutCookies() async throws {
        let request = { (url: URL) in URLRequest(url: url).with { $0.httpShouldHandleCookies = false } }
        #expect(
            try await load([
                URLRequest(url: url("/set", setting: "a=b")), request(url("/set", setting: "c=d")),
                URLRequest(url: url("/end")),
            ]) == ["-", "-", "a=b"])
    }

    // COOK-21: what is kept depends on the accept policy alone
    @Test("httpShouldSetCookies false still stores cookies")
    func configurationWithoutCookies() async throws {
        configuration.httpShouldSetCookies = false
        #expect(try await load(url("/set", setting: "a=b"), url("/end")) == ["-", "-"])
        #expect(try storage.cookies?.map(\.name) == ["a"])
    }

    // C-25
    @Test("no storage, no cookies")
    func noStorage() async throws {
        configuration.httpCookieStorage = nil
        #expect(try await load(url("/set", setting: "a=b"), url("/end")) == ["-", "-"])
    }

    // C-22, COOK-13, COOK-14: `never` takes precedence
    @Test("policies", arguments: [HTTPCookie.AcceptPolicy.always, .never, .onlyFromMainDocumentDomain], [false, true])
    func policies(_ policy: HTTPCookie.AcceptPolicy, isStorages: Bool) async throws {
        if isStorages {
            try storage.cookieAcceptPolicy = policy
            configuration.httpCookieAcceptPolicy = .always
        } else {
            configuration.httpCookieAcceptPolicy = policy
        }
        let foreign = { (url: URL) in
            URLRequest(url: url).with { $0.mainDocumentURL = URL(string: "http://example.com/") }
        }
        let sent = try await load([foreign(url("/set", setting: "a=b")), URLRequest(url: url("/set", setting: "c=d"))])
        #expect(sent == ["-", policy == .always ? "a=b" : "-"])
        let kept: [HTTPCookie.AcceptPolicy: [String]] = [
            .always: ["a", "c"], .never: [], .onlyFromMainDocumentDomain: ["c"],
        ]
        #expect(try storage.cookies?.map(\.name) == kept[policy])
    }

    // COOK-7: a strict cookie stays at home, whatever document asks for its site
    @Test("same-site cookies")
    func sameSite() async throws {
        let foreign = URLRequest(url: url("/end")).with {
            $0.mainDocumentURL = URL(string: "http://example.com/")
        }
        let own = URLRequest(url: url("/end")).with { $0.mainDocumentURL = url("/page") }
        #expect(
            try await load([
                URLRequest(url: url("/set", setting: "s=1; SameSite=Strict")),
                URLRequest(url: url("/set", setting: "l=2; SameSite=Lax")),
                URLRequest(url: url("/set", setting: "n=3")),
                foreign, own,
            ]) == ["-", "s=1", "s=1; l=2", "n=3", "s=1; l=2; n=3"])
    }

    // COOK-24
    @Test("separate cookie jars")
    func partitions() async throws {
        let inside = { (url: URL) in URLRequest(url: url).with { $0.cookiePartitionIdentifier = "p" } }
        #expect(
            try await load([
                inside(url("/set", setting: "in=1")), URLRequest(url: url("/set", setting: "out=2")),
                inside(url("/end")),
                URLRequest(url: url("/end")),
            ]) == ["-", "-", "in=1", "out=2"])
        #expect(try storage.cookies?.map(\.name) == ["out"])
    }

    // C-34, COOK-26: sessions of one configuration share the jar; that of another is another
    @Test("sessions that share cookies")
    func sharing() async throws {
        try storage.setCookie(
            #require(
                HTTPCookie(properties: [.name: "own", .value: "1", .path: "/", .originURL: server.url("/")])))
        let other = URLSession(configuration: .ephemeral)
        defer { other.finishTasksAndInvalidate() }
        let second = URLSession(configuration: configuration)
        defer { second.finishTasksAndInvalidate() }
        #expect(String(decoding: try await other.data(from: url("/end")).0, as: UTF8.self) == "-")
        #expect(String(decoding: try await second.data(from: url("/end")).0, as: UTF8.self) == "own=1")
        #expect(try await load(url("/end")) == ["own=1"])
    }

    #if compiler(>=6.2)
        // COOK-20: before any cookie has come, and not at all where none can
        @Test("the list of public suffixes is read beside the first load") func publicSuffixes() async {
            await #expect(processExitsWith: .success) {
                let session = URLSession(configuration: .ephemeral)
                let here = try #require(URL(string: "http://127.0.0.1:1/"))
                let away = try #require(URL(string: "http://name.invalid/"))
                _ = try? await session.data(from: here)
                guard !PublicSuffixes.isSystemRead else { exit(2) }
                session.dataTask(with: away).resume()
                try await eventually { PublicSuffixes.isSystemRead }
            }
        }

        // COOK-20, COOK-17
        @Test("no loop reads the suffix list, and the next request has the cookies of the response")
        func cookiesBeforeTheList() async {
            await #expect(processExitsWith: .success) {
                let storage = HTTPCookieStorage()
                func request(_ address: String) throws -> CookieRequest {
                    CookieRequest(try HTTPURL(address), method: "GET", document: .none, partition: nil)
                }
                let (here, away) = (try request("http://127.0.0.1/"), try request("https://www.example.org/"))
                guard storage.isLoaded(for: here), !storage.isLoaded(for: away) else { exit(2) }
                guard storage.isEmptyIfLoaded == true else { exit(3) }
                storage.receiveWhenLoaded(["a=b"], from: away, policy: .always)
                storage.receiveWhenLoaded(["c=d"], from: away, policy: .always)
                let field = EventRecorder<String?>()
                if storage.isEmptyIfLoaded == true { exit(4) }
                storage.whenLoaded(for: away) { field.record(storage.field(for: away)) }
                guard try await field.waitFor(count: 1) == ["a=b; c=d"] else { exit(5) }
                try await eventually { storage.isLoaded(for: away) && storage.isEmptyIfLoaded == false }
            }
        }

        // COOK-20: before the response comes
        @Test("that list is read beside a load of this machine too, if its name has a domain") func listForLocalNames()
            async
        {
            await #expect(processExitsWith: .success) {
                let session = URLSession(configuration: .ephemeral)
                let here = try #require(URL(string: "http://app.localhost:1/"))
                session.dataTask(with: here).resume()
                try await eventually { PublicSuffixes.isSystemRead }
            }
        }

        // TLS-7: for what hosts say of themselves, where there are no cookies
        @Test("nor does a secure load without cookies wait for that list") func publicSuffixesWithoutCookies() async {
            await #expect(processExitsWith: .success) {
                let session = URLSession { $0.httpCookieStorage = nil }
                let here = try #require(URL(string: "https://127.0.0.1:1/"))
                let away = try #require(URL(string: "https://name.invalid/"))
                _ = try? await session.data(from: here)
                guard !PublicSuffixes.isSystemRead else { exit(2) }
                session.dataTask(with: away).resume()
                try await eventually { PublicSuffixes.isSystemRead }
            }
        }
    #endif

    // COOK-18
    @Test("a change is announced")
    func announcement() async throws {
        let storage = try storage
        let names = EventRecorder<[String]>()
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
        ) { notice in names.record((notice.object as? HTTPCookieStorage)?.cookies?.map(\.name) ?? []) }
        defer { NotificationCenter.default.removeObserver(observer) }
        _ = try await load(url("/set", setting: "a=b"), url("/end"), url("/set", setting: "c=d; Secure"))
        #expect(try await names.waitFor(count: 1) == [["a"]])
        #expect(names.events == [["a"]])
    }

    // COOK-18: the main thread may be the one that waits for the load
    @Test("a change is announced while the main thread is busy", arguments: [nil, OperationQueue.main])
    func announcementWithoutTheMainThread(queue: OperationQueue?) async throws {
        let received = Signal("the announcement")
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: try storage, queue: queue
        ) { _ in received.fire() }
        defer { NotificationCenter.default.removeObserver(observer) }
        let (stopped, goOn) = (Signal("the main thread is busy"), Signal("it is free"))
        DispatchQueue.main.async {
            stopped.fire()
            try? goOn.wait()
        }
        defer { goOn.fire() }
        try await stopped.wait()
        #expect(try await load(url("/set", setting: "a=b"), url("/end")) == ["-", "a=b"])
        if queue == nil { try await received.wait() } else { #expect(!received.isFired) }
        goOn.fire()
        try await received.wait()
    }

    // COOK-17: a subclass may know of URLs only
    @Test func subclassWithTheEarlierMethods() async throws {
        final class Own: HTTPCookieStorage, @unchecked Sendable {
            let kept = EventRecorder<HTTPCookie>()
            override func setCookies(_ cookies: [HTTPCookie], for URL: URL?, mainDocumentURL: URL?) {
                for cookie in cookies { kept.record(cookie) }
            }
            override func cookies(for URL: URL) -> [HTTPCookie]? { kept.events }
        }
        let own = Own()
        configuration.httpCookieStorage = own
        #expect(
            try await load(url("/redirect", setting: "led=1"), url("/set", setting: "a=b"), url("/end"))
                == ["led=1", "led=1", "led=1; a=b"])
        #expect(own.kept.events.map(\.name) == ["led", "a"])
    }

    // COOK-17: the answer of a subclass is used, however late, and it gets every response
    @Test("a storage of the caller's", arguments: [false, true])
    func subclass(answersLater: Bool) async throws {
        final class Own: HTTPCookieStorage, @unchecked Sendable {
            let stored = EventRecorder<[String]>()
            let answersLater: Bool
            init(_ answersLater: Bool) { self.answersLater = answersLater }
            override func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
                stored.record(cookies.map { "\($0.name)=\($0.value)" })
                super.storeCookies(cookies, for: task)
            }
            override func getCookiesFor(
                _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
            ) {
                super.getCookiesFor(task) { cookies in
                    let extra = HTTPCookie(properties: [
                        .name: "extra", .value: "1", .path: "/", .domain: "127.0.0.1",
                    ])
                    let answer = (cookies ?? []) + [extra].compactMap { $0 }
                    guard self.answersLater else { return completionHandler(answer) }
                    DispatchQueue.global().async {
                        completionHandler(answer)
                        completionHandler(nil)
                    }
                }
            }
        }
        let own = Own(answersLater)
        configuration.httpCookieStorage = own
        #expect(
            try await load(url("/redirect", setting: "led=1"), url("/set", setting: "a=b; Secure"), url("/end"))
                == ["led=1; extra=1", "led=1; extra=1", "led=1; extra=1"])
        // Whether a response may set a cookie is for the storage to say.
        #expect(own.stored.events == [["led=1"], ["a=b"]])
    }
}
