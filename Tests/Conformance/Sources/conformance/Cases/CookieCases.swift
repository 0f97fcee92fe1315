import Foundation
import FoundationNetworking

/// Sets cookies at `/set`, and answers everything.
private func server(_ cookies: String..., status: Int = 200) throws -> Server {
    try Server { request in
        request.path.hasPrefix("/set") ? Response(status, cookies.map { ("Set-Cookie", $0) }) : Response(200)
    }
}

/// The `Cookie` field of a request after one that set cookies.
private func sent(_ cookies: String..., to path: String = "/", _ set: (URLSessionConfiguration) -> Void = { _ in })
    async throws -> String?
{
    let server = try Server { request in
        request.path.hasPrefix("/set") ? Response(200, cookies.map { ("Set-Cookie", $0) }) : Response(200)
    }
    let session = makeSession(nil, set)
    _ = await session.load(server.url("/set"))
    _ = await session.load(server.url(path))
    return server.requests.last?.value("Cookie")
}

private func cookie(_ properties: [HTTPCookiePropertyKey: Any] = [:]) throws -> HTTPCookie {
    let all: [HTTPCookiePropertyKey: Any] = [.name: "a", .value: "b", .domain: "a.example", .path: "/"]
    return try unwrap(HTTPCookie(properties: all.merging(properties) { $1 }), "cookie")
}

private func storage() throws -> HTTPCookieStorage {
    try unwrap(URLSessionConfiguration.ephemeral.httpCookieStorage, "storage")
}

private func url(_ text: String) throws -> URL { try unwrap(URL(string: text), "URL") }

private func parsed(_ field: String, _ address: String = "http://a.example/x/y") throws -> [HTTPCookie] {
    HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: try url(address))
}

let cookieCases: [Case] = [
    Case("COOK-17", name: "a cookie that was set is sent") {
        try equal(try await sent("a=b; Path=/"), "a=b", "Cookie")
    },
    Case("COOK-23", name: "two Set-Cookie lines set two cookies") {
        let field = try await sent("a=b; Path=/", "c=d; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT")
        try equal(field?.components(separatedBy: "; ").sorted(), ["a=b", "c=d"], "Cookie")
    },
    Case("COOK-4", "COOK-16", name: "a cookie is not sent to another host") {
        let server = try server("a=b; Path=/")
        let session = makeSession()
        _ = await session.load(server.url("/set"))
        _ = await session.load(server.localhost())
        try equal(server.requests.last?.value("Cookie"), nil, "Cookie")
    },
    Case("COOK-4", "COOK-16", name: "a cookie is sent below its path only") {
        try equal(try await sent("a=b; Path=/set", to: "/other"), nil, "Cookie of another path")
        try equal(try await sent("a=b; Path=/x", to: "/x/y"), "a=b", "Cookie of a path below")
        try equal(try await sent("a=b; Path=/x", to: "/xy"), nil, "Cookie of a path that only begins alike")
    },
    Case("COOK-5", name: "a Secure cookie is not sent over http") {
        let storage = try storage()
        storage.setCookie(try cookie([.secure: "TRUE"]))
        try equal(storage.cookies(for: try url("http://a.example/"))?.count ?? 0, 0, "http")
        try equal(storage.cookies(for: try url("https://a.example/"))?.count ?? 0, 1, "https")
    },
    Case("COOK-20", name: "Max-Age=0 and an Expires in the past delete a cookie") {
        for deletion in ["a=x; Path=/; Max-Age=0", "a=x; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"] {
            let server = try Server { request in
                switch request.path {
                case "/set": Response(200, [("Set-Cookie", "a=b; Path=/")])
                case "/delete": Response(200, [("Set-Cookie", deletion)])
                default: Response(200)
                }
            }
            let session = makeSession()
            for path in ["/set", "/delete", "/"] { _ = await session.load(server.url(path)) }
            try equal(server.requests.map { $0.value("Cookie") }, [nil, "a=b", nil], "Cookie with \(deletion)")
        }
    },
    Case("COOK-20", name: "an expired cookie is not sent") {
        let server = try server("a=b; Path=/; Max-Age=1")
        let session = makeSession()
        _ = await session.load(server.url("/set"))
        _ = await session.load(server.url())
        await quiet(1500)
        _ = await session.load(server.url())
        try equal(server.requests.map { $0.value("Cookie") }, [nil, "a=b", nil], "Cookie")
    },
    Case("COOK-20", name: "a cookie for another domain is refused") {
        let server = try server("a=b; Path=/; Domain=example.com")
        let session = makeSession()
        _ = await session.load(server.url("/set"))
        try equal(session.configuration.httpCookieStorage?.cookies?.count ?? 0, 0, "cookies")
    },
    Case("COOK-13", name: "the policy .never keeps no cookies") {
        try equal(try await sent("a=b; Path=/") { $0.httpCookieAcceptPolicy = .never }, nil, "Cookie")
    },
    Case("COOK-13", "COOK-14", name: "the policy .onlyFromMainDocumentDomain refuses cookies of others") {
        let storage = try storage()
        storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
        let origin = try url("http://a.example/")
        storage.setCookies([try cookie()], for: origin, mainDocumentURL: try url("http://other.test/"))
        try equal(storage.cookies?.count ?? 0, 0, "cookies of another document")
        storage.setCookies([try cookie()], for: origin, mainDocumentURL: origin)
        try equal(storage.cookies?.count ?? 0, 1, "cookies of the same document")
    },
    Case("COOK-21", name: "httpShouldHandleCookies false neither sends nor stores") {
        let server = try server("c=d; Path=/")
        let session = makeSession()
        session.configuration.httpCookieStorage?.setCookie(try cookie([.domain: "127.0.0.1"]))
        var request = URLRequest(url: server.url("/set"))
        request.httpShouldHandleCookies = false
        _ = await session.load(request)
        try equal(server.requests.map { $0.value("Cookie") }, [nil], "Cookie")
        try equal(session.configuration.httpCookieStorage?.cookies?.map(\.name), ["a"], "cookies")
    },
    Case("COOK-22", name: "a Cookie field of the application is sent") {
        let server = try server()
        _ = await makeSession().load(request(server.url(), "GET", ["Cookie": "own=1; two=2"]))
        try equal(server.requests.first?.value("Cookie"), "own=1; two=2", "Cookie")
    },
    Case("COOK-23", name: "cookies of a 401 and a 404 are stored") {
        for status in [401, 404] {
            let server = try server("a=b; Path=/", status: status)
            let session = makeSession()
            _ = await session.load(server.url("/set"))
            _ = await session.load(server.url())
            try equal(server.requests.last?.value("Cookie"), "a=b", "Cookie after \(status)")
        }
    },
    Case("COOK-9", name: "requestHeaderFields joins cookies") {
        let two = [try cookie(), try cookie([.name: "c", .value: "d"])]
        try equal(HTTPCookie.requestHeaderFields(with: two), ["Cookie": "a=b; c=d"], "fields")
    },
    Case("COOK-9", name: "requestHeaderFields without cookies is empty") {
        try equal(HTTPCookie.requestHeaderFields(with: []), [:], "fields")
    },
    Case("COOK-10", name: "joined Set-Cookie lines are separated, but not in dates") {
        let cookies = try parsed("a=b; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/, c=d; Path=/x, e=f")
        try equal(cookies.map { "\($0.name)=\($0.value)" }, ["a=b", "c=d", "e=f"], "cookies")
        try equal(cookies.map { $0.expiresDate?.timeIntervalSince1970 }, [4_102_444_800, nil, nil], "dates")
    },
    Case("COOK-11", name: "a cookie without = or without a name is none, and = may be in the value") {
        try equal(try parsed("novalue").count, 0, "without =")
        try equal(try parsed("=value").count, 0, "without a name")
        try equal(try parsed("a=b=c").map(\.value), ["b=c"], "value")
    },
    Case("COOK-10", name: "the usual forms of dates are read") {
        for date in [
            "Fri, 01 Jan 2100 00:00:00 GMT", "Fri, 01-Jan-2100 00:00:00 GMT", "Fri Jan  1 00:00:00 2100",
            "Friday, 01-Jan-2100 00:00:00 GMT",
        ] {
            let cookie = try parsed("a=b; Expires=\(date)").first
            try equal(cookie?.expiresDate?.timeIntervalSince1970, 4_102_444_800, date)
        }
    },
    Case("COOK-11", name: "names of attributes have no case, and a Path without a slash is /") {
        let cookie = try unwrap(
            try parsed("a=b; PATH=/x; secure; HTTPONLY; EXPIRES=Fri, 01 Jan 2100 00:00:00 GMT").first, "cookie")
        try equal(cookie.path, "/x", "path")
        try equal([cookie.isSecure, cookie.isHTTPOnly], [true, true], "isSecure and isHTTPOnly")
        try check(cookie.expiresDate != nil, "no expiresDate")
        try equal(try parsed("a=b; Path=x").first?.path, "/", "path without a slash")
    },
    Case("COOK-12", name: "without Domain and Path a cookie is of the host and /") {
        let cookie = try unwrap(try parsed("a=b").first, "cookie")
        try equal(cookie.domain, "a.example", "domain")
        try equal(cookie.path, "/", "path")
    },
    Case("COOK-5", name: "Secure and HttpOnly are read") {
        let cookies = try parsed("a=b; Secure; HttpOnly", "https://a.example/") + parsed("c=d")
        try equal(cookies.map(\.isSecure), [true, false], "isSecure")
        try equal(cookies.map(\.isHTTPOnly), [true, false], "isHTTPOnly")
    },
    Case("COOK-2", name: "a cookie with an expiry is not of the session only") {
        try equal(try parsed("a=b").map(\.expiresDate), [nil], "date of one without")
        try equal(try parsed("a=b; Max-Age=60").map(\.isSessionOnly), [false], "with Max-Age")
        try equal(
            try parsed("a=b; Expires=Fri, 01 Jan 2100 00:00:00 GMT").map(\.isSessionOnly), [false], "with Expires")
    },
    Case("COOK-1", name: "a cookie needs a name, a value, a path, and a domain or URL") {
        let all: [HTTPCookiePropertyKey: Any] = [.name: "a", .value: "b", .domain: "a.example", .path: "/"]
        for key in [HTTPCookiePropertyKey.name, .value, .domain, .path] {
            try check(HTTPCookie(properties: all.filter { $0.key != key }) == nil, "made without \(key.rawValue)")
        }
        let origin = HTTPCookie(properties: [
            .name: "a", .value: "b", .originURL: try url("http://a.example/"), .path: "/",
        ])
        try equal(origin?.domain, "a.example", "domain by the URL")
    },
    Case("COOK-4", name: "a domain with a dot includes subdomains, one without does not") {
        let storage = try storage()
        storage.setCookie(try cookie([.name: "host", .domain: "a.example"]))
        storage.setCookie(try cookie([.name: "all", .domain: ".a.example"]))
        let names = { (address: String) in try storage.cookies(for: url(address))?.map(\.name).sorted() ?? [] }
        try equal(try names("http://a.example/"), ["all", "host"], "the host itself")
        try equal(try names("http://b.a.example/"), ["all"], "a subdomain")
        try equal(try names("http://xa.example/"), [], "a host that only ends alike")
    },
    Case("COOK-6", name: "a port list is respected") {
        let storage = try storage()
        storage.setCookie(try cookie([.port: "8080", .version: "1"]))
        try equal(storage.cookies(for: try url("http://a.example:8080/"))?.count ?? 0, 1, "the port")
        try equal(storage.cookies(for: try url("http://a.example/"))?.count ?? 0, 0, "another port")
    },
    Case("COOK-15", name: "setCookie replaces name, domain and path") {
        let storage = try storage()
        storage.setCookie(try cookie())
        storage.setCookie(try cookie([.value: "new"]))
        storage.setCookie(try cookie([.path: "/x"]))
        try equal(storage.cookies?.map { "\($0.path) \($0.value)" }.sorted(), ["/ new", "/x b"], "cookies")
    },
    Case("COOK-16", name: "the longest path is first") {
        let storage = try storage()
        for path in ["/", "/x/y", "/x"] { storage.setCookie(try cookie([.name: "n", .value: path, .path: path])) }
        try equal(storage.cookies(for: try url("http://a.example/x/y/z"))?.map(\.path), ["/x/y", "/x", "/"], "paths")
    },
    Case("COOK-18", name: "a change posts a notification") {
        let posted = Locked(0)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: nil, queue: nil
        ) { _ in posted.withLock { $0 += 1 } }
        HTTPCookieStorage.shared.setCookie(try cookie())
        await quiet(500)
        NotificationCenter.default.removeObserver(observer)
        try check(posted.value > 0, "none")
    },
    Case("COOK-15", name: "deleteCookie deletes") {
        let storage = try storage()
        storage.setCookie(try cookie())
        storage.deleteCookie(try cookie())
        try equal(storage.cookies?.count ?? 0, 0, "cookies")
    },
    Case("COOK-19", name: "removeCookies(since:) removes what is newer") {
        let storage = try storage()
        storage.setCookie(try cookie())
        storage.removeCookies(since: Date(timeIntervalSinceNow: 60))
        try equal(storage.cookies?.count ?? 0, 1, "cookies, all older")
        storage.removeCookies(since: Date(timeIntervalSinceNow: -60))
        try equal(storage.cookies?.count ?? 0, 0, "cookies, all newer")
    },
    Case("COOK-19", name: "the shared storage of a group is the same for each identifier") {
        let first = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "a")
        let second = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "a")
        try check(first === second, "two objects")
    },
    Case("COOK-17", name: "cookies are percent-encoded text that is not decoded") {
        try equal(try await sent("a=b%20c\"d\"; Path=/"), "a=b%20c\"d\"", "Cookie")
    },
]
