import Foundation
import FoundationNetworking

private func url(_ text: String) throws -> URL { try unwrap(URL(string: text), "URL") }

let errorCases: [Case] = [
    Case("ERR-5", name: "a refused connection is -1004") {
        try equal(await makeSession().load(try refusedURL()).code, NSURLErrorCannotConnectToHost, "error")
    },
    Case("ERR-5", name: "a host that does not exist is -1003") {
        try equal(await makeSession().load(try url("http://host.invalid/")).code, NSURLErrorCannotFindHost, "error")
    },
    Case("ERR-5", name: "an unknown scheme is -1002") {
        try equal(await makeSession().load(try url("unknown://host/")).code, NSURLErrorUnsupportedURL, "error")
    },
    Case("ERR-5", "T-48", name: "a connection that ends without a response is -1005") {
        let outcome = await makeSession().load(request(try Server(.nothing).url(), "POST", body: "a"))
        try equal(outcome.code, NSURLErrorNetworkConnectionLost, "error")
    },
    Case("ERR-5", name: "a reset in mid-body is -1005") {
        let server = try Server { connection, _ in
            _ = try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome")
            usleep(100_000)
            connection.reset()
        }
        try equal(await makeSession().load(server.url()).code, NSURLErrorNetworkConnectionLost, "error")
    },
    Case("ERR-2", name: "an error names the failing URL") {
        let url = try refusedURL()
        let error = try unwrap(await makeSession().load(url).error, "error")
        try equal(error.domain, NSURLErrorDomain, "domain")
        try equal(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL, url, "NSErrorFailingURLKey")
        try equal(
            error.userInfo["NSErrorFailingURLStringKey"] as? String, url.absoluteString, "NSErrorFailingURLStringKey")
    },
    Case("ERR-2", "ERR-14", name: "an error is a URLError with a failing URL") {
        let url = try refusedURL()
        let found = Locked<URLError??>(nil)
        makeSession().dataTask(with: url) { found.value = .some($2 as? URLError) }.resume()
        await until { found.value != nil }
        let error = try unwrap(found.value ?? nil, "URLError")
        try equal(error.code, .cannotConnectToHost, "code")
        try equal(error.failingURL, url, "failingURL")
    },
    Case("ERR-4", name: "the description of a cancelled task") {
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: try refusedURL())
        task.cancel()
        await recorder.completion()
        try equal(recorder.seen.errors[0]?.localizedDescription, "cancelled", "description")
    },
    Case("ERR-4", name: "the description of an unsupported URL") {
        let error = await makeSession().load(try url("unknown://host/")).error
        try equal(error?.localizedDescription, "unsupported URL", "description")
    },
    Case("ERR-4", name: "the description of a timeout") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        var request = URLRequest(url: server.url())
        request.timeoutInterval = 1
        try equal(
            await makeSession().load(request).error?.localizedDescription, "The request timed out.", "description")
    },
    Case("ERR-4", name: "the description of too many redirects") {
        let server = try Server { _ in .redirect(302, to: "/") }
        let error = await makeSession().load(server.url()).error
        try equal(error?.localizedDescription, "too many HTTP redirects", "description")
    },
    Case("ERR-9", name: "a GET with a body fails with -1103, and nothing is sent") {
        let server = try Server(Response(200))
        let outcome = await makeSession().load(request(server.url(), "GET", body: "abc"))
        try equal(outcome.code, NSURLErrorDataLengthExceedsMaximum, "error")
        try equal(server.requests.count, 0, "requests")
    },
    Case("ERR-9", name: "a GET with an empty body is sent") {
        let server = try Server(Response(200, [], "a"))
        try equal(await makeSession().load(request(server.url(), "GET", body: "")).summary, "200 a", "load")
    },
    Case("ERR-8", "MISC-15", name: "a file that is not there is -1100") {
        let outcome = await makeSession().load(URL(fileURLWithPath: "/nowhere/file"))
        try equal(outcome.code, NSURLErrorFileDoesNotExist, "error")
    },
    Case("ERR-15", name: "a host that cannot be one is an error") {
        let outcome = await makeSession().load(try url("http://this%20is%20not%20a%20host/"))
        try check(outcome.error != nil, "no error: \(outcome.summary)")
    },
    Case("ERR-5", name: "a URL without a scheme is -1002") {
        try equal(await makeSession().load(try url("relative")).code, NSURLErrorUnsupportedURL, "error")
    },
]
