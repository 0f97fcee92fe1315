import Foundation
import FoundationNetworking

let configurationCases: [Case] = [
    Case("C-1", name: "each default and ephemeral configuration is independent") {
        let first = URLSessionConfiguration.default
        first.timeoutIntervalForRequest = 5
        first.httpAdditionalHeaders = ["A": "b"]
        try equal(URLSessionConfiguration.default.timeoutIntervalForRequest, 60, "timeout of another")
        try equal(URLSessionConfiguration.default.httpAdditionalHeaders?.count ?? 0, 0, "fields of another")
        try check(URLSessionConfiguration.ephemeral !== URLSessionConfiguration.ephemeral, "the same object")
    },
    Case("C-5", "C-6", "C-8", name: "default policy and timeouts") {
        let configuration = URLSessionConfiguration.default
        try equal(configuration.requestCachePolicy, .useProtocolCachePolicy, "requestCachePolicy")
        try equal(configuration.timeoutIntervalForRequest, 60, "timeoutIntervalForRequest")
        try equal(configuration.timeoutIntervalForResource, 604_800, "timeoutIntervalForResource")
    },
    Case("C-10", "C-14", "C-20", "C-21", "C-24", name: "other defaults") {
        let configuration = URLSessionConfiguration.default
        try equal(configuration.allowsCellularAccess, true, "allowsCellularAccess")
        try equal(configuration.isDiscretionary, false, "isDiscretionary")
        try equal(configuration.httpShouldUsePipelining, false, "httpShouldUsePipelining")
        try equal(configuration.httpShouldSetCookies, true, "httpShouldSetCookies")
        try equal(configuration.httpMaximumConnectionsPerHost, 6, "httpMaximumConnectionsPerHost")
    },
    Case("C-22", "COOK-13", name: "configurations accept cookies of the main document's domain, storages all") {
        try equal(URLSessionConfiguration.default.httpCookieAcceptPolicy, .onlyFromMainDocumentDomain, "configuration")
        try equal(HTTPCookieStorage.shared.cookieAcceptPolicy, .always, "storage")
    },
    Case("C-25", "C-26", "C-27", name: "a default configuration has the shared stores, an ephemeral one its own") {
        let shared = URLSessionConfiguration.default
        try check(shared.httpCookieStorage === HTTPCookieStorage.shared, "other cookies")
        try check(shared.urlCache === URLCache.shared, "another cache")
        try check(shared.urlCredentialStorage === URLCredentialStorage.shared, "other credentials")
        let own = URLSessionConfiguration.ephemeral
        try check(
            own.httpCookieStorage != nil && own.httpCookieStorage !== HTTPCookieStorage.shared,
            "cookies of the ephemeral")
        try check(own.urlCache != nil && own.urlCache !== URLCache.shared, "cache of the ephemeral")
        try check(
            own.urlCredentialStorage != nil && own.urlCredentialStorage !== URLCredentialStorage.shared,
            "credentials of the ephemeral")
    },
    Case("C-5", name: "requestCachePolicy applies to the tasks of the session") {
        let server = try Server(Response(200, [("Cache-Control", "max-age=600")], "a"))
        let session = makeSession { $0.requestCachePolicy = .reloadIgnoringLocalCacheData }
        _ = await session.load(server.url())
        await quiet(100)
        _ = await session.load(server.url())
        try equal(server.requests.count, 2, "requests")
    },
    Case("C-6", name: "timeoutIntervalForRequest ends an idle task with -1001") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        let outcome = await makeSession { $0.timeoutIntervalForRequest = 1 }.load(server.url())
        try equal(outcome.code, NSURLErrorTimedOut, "error")
    },
    Case("C-6", "S-91", name: "each arrival of data restarts timeoutIntervalForRequest") {
        let server = try Server { connection, _ in
            _ = try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            for _ in 0..<5 {
                usleep(500_000)
                try connection.send("a")
            }
            connection.waitForEnd()
        }
        let outcome = await makeSession { $0.timeoutIntervalForRequest = 2 }.load(server.url())
        try equal(outcome.summary, "200 aaaaa", "load")
    },
    Case("C-8", "S-92", name: "timeoutIntervalForResource ends a task that still receives") {
        let server = try Server { connection, _ in
            _ = try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<25 {
                usleep(200_000)
                try connection.send("a")
            }
        }
        let outcome = await makeSession { $0.timeoutIntervalForResource = 1 }.load(server.url())
        try equal(outcome.code, NSURLErrorTimedOut, "error")
    },
    Case("C-7", name: "a request's timeoutInterval applies, also below that of the configuration") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        var request = URLRequest(url: server.url())
        request.timeoutInterval = 1
        try equal(await makeSession().load(request).code, NSURLErrorTimedOut, "error")
    },
    Case("C-21", name: "httpShouldSetCookies false attaches no cookies") {
        let server = try Server(Response(200))
        let session = makeSession { $0.httpShouldSetCookies = false }
        let cookie = try unwrap(
            HTTPCookie(properties: [.name: "a", .value: "b", .domain: "127.0.0.1", .path: "/"]), "cookie")
        session.configuration.httpCookieStorage?.setCookie(cookie)
        _ = await session.load(server.url())
        try equal(server.requests.map { $0.value("Cookie") }, [nil], "Cookie")
    },
    Case("C-23", name: "httpAdditionalHeaders are added, and a request's field of the same name wins") {
        let server = try Server(Response(200))
        let session = makeSession { $0.httpAdditionalHeaders = ["X-One": "1", "X-Two": "2"] }
        _ = await session.load(request(server.url(), "GET", ["x-two": "own"]))
        try equal(server.requests.first?.value("X-One"), "1", "X-One")
        try equal(server.requests.first?.value("X-Two"), "own", "X-Two")
    },
    Case("C-24", "CONN-1", name: "no more connections than httpMaximumConnectionsPerHost") {
        let release = Locked(false)
        let server = try Server { _ in
            while !release.value { usleep(10_000) }
            return Response(200)
        }
        let session = makeSession { $0.httpMaximumConnectionsPerHost = 2 }
        let done = Locked(0)
        for number in 0..<5 {
            session.dataTask(with: server.url("/\(number)")) { _, _, _ in done.withLock { $0 += 1 } }.resume()
        }
        await until { server.connectionCount >= 2 }
        await quiet()
        try equal(server.connectionCount, 2, "connections")
        release.value = true
        await until { done.value == 5 }
    },
    Case("C-25", name: "without a cookie storage no cookies are kept") {
        let server = try Server(Response(200, [("Set-Cookie", "a=b; Path=/")]))
        let session = makeSession { $0.httpCookieStorage = nil }
        _ = await session.load(server.url())
        _ = await session.load(server.url())
        try equal(server.requests.map { $0.value("Cookie") }, [nil, nil], "Cookie")
    },
    Case("C-27", name: "without a cache nothing is cached") {
        let server = try Server(Response(200, [("Cache-Control", "max-age=600")], "a"))
        let session = makeSession { $0.urlCache = nil }
        _ = await session.load(server.url())
        await quiet(100)
        _ = await session.load(server.url())
        try equal(server.requests.count, 2, "requests")
    },
    Case("S-86", name: "the copy of a configuration is independent") {
        let first = URLSessionConfiguration.ephemeral
        let second = try unwrap(first.copy() as? URLSessionConfiguration, "copy")
        second.timeoutIntervalForRequest = 5
        try equal(first.timeoutIntervalForRequest, 60, "timeout of the original")
    },
]
