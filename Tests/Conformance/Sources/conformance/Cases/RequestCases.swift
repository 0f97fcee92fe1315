import Foundation
import FoundationNetworking

private func url(_ text: String) throws -> URL { try unwrap(URL(string: text), "URL") }

/// The request as the server gets it.
private func sent(_ request: (URL) -> URLRequest, path: String = "/") async throws -> Request {
    let server = try Server(Response(200))
    let outcome = await makeSession().load(request(server.url(path)))
    try equal(outcome.error, nil, "error")
    return try unwrap(server.requests.first, "request")
}

let requestCases: [Case] = [
    Case("MISC-20", name: "the defaults of a request") {
        let request = URLRequest(url: try url("http://a.example/"))
        try equal(request.timeoutInterval, 60, "timeoutInterval")
        try equal(request.cachePolicy, .useProtocolCachePolicy, "cachePolicy")
        try equal(request.httpMethod, "GET", "httpMethod")
        try equal(request.httpShouldHandleCookies, true, "httpShouldHandleCookies")
        try equal(request.allowsCellularAccess, true, "allowsCellularAccess")
        try equal(request.networkServiceType, .default, "networkServiceType")
        try equal(request.allHTTPHeaderFields ?? [:], [:], "allHTTPHeaderFields")
        try check(request.httpBody == nil && request.httpBodyStream == nil && request.mainDocumentURL == nil, "not nil")
    },
    Case("MISC-7", name: "fields are found without regard to case; set replaces and add appends") {
        var request = URLRequest(url: try url("http://a.example/"))
        request.setValue("1", forHTTPHeaderField: "X-Name")
        request.setValue("2", forHTTPHeaderField: "x-name")
        request.addValue("3", forHTTPHeaderField: "X-NAME")
        try equal(request.value(forHTTPHeaderField: "x-NAME"), "2,3", "value")
        try equal(request.allHTTPHeaderFields?.count, 1, "fields")
        request.setValue(nil, forHTTPHeaderField: "X-Name")
        try equal(request.value(forHTTPHeaderField: "X-Name"), nil, "value after nil")
    },
    Case("MISC-7", name: "allHTTPHeaderFields replaces all fields") {
        var request = URLRequest(url: try url("http://a.example/"))
        request.setValue("1", forHTTPHeaderField: "X-One")
        request.allHTTPHeaderFields = ["X-Two": "2"]
        try equal(request.allHTTPHeaderFields, ["X-Two": "2"], "fields")
    },
    Case("MISC-20", name: "a body and a stream exclude each other") {
        var request = URLRequest(url: try url("http://a.example/"))
        request.httpBody = Data("a".utf8)
        request.httpBodyStream = InputStream(data: Data("b".utf8))
        try check(request.httpBody == nil, "the body is still there")
        request.httpBody = Data("a".utf8)
        try check(request.httpBodyStream == nil, "the stream is still there")
    },
    Case("MISC-22", name: "get and post are upper-cased, patch is not") {
        let methods = ["get", "post", "patch", "Custom"].map { method in
            var request = URLRequest(url: URL(fileURLWithPath: "/"))
            request.httpMethod = method
            return request.httpMethod
        }
        try equal(methods, ["GET", "POST", "patch", "Custom"], "methods")
    },
    Case("MISC-20", name: "requests are values") {
        let first = URLRequest(url: try url("http://a.example/"))
        var second = first
        try equal(first, second, "a copy")
        second.setValue("1", forHTTPHeaderField: "X-Name")
        try equal(first.value(forHTTPHeaderField: "X-Name"), nil, "field of the original")
    },
    Case("MISC-21", name: "a request is copied when its task is made") {
        let server = try Server(Response(200))
        let request = NSMutableURLRequest(url: server.url())
        request.setValue("before", forHTTPHeaderField: "X-Name")
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: request as URLRequest)
        request.setValue("after", forHTTPHeaderField: "X-Name")
        task.resume()
        await recorder.completion()
        try equal(server.requests.first?.value("X-Name"), "before", "X-Name")
    },
    Case("MISC-1", name: "default fields are sent") {
        let first = try await sent { URLRequest(url: $0) }
        try check(first.value("Host")?.hasPrefix("127.0.0.1:") == true, "Host: \(first.value("Host") ?? "none")")
        try equal(first.value("Accept"), "*/*", "Accept")
        for name in ["Accept-Language", "Accept-Encoding", "User-Agent"] {
            try check(first.value(name)?.isEmpty == false, "no \(name)")
        }
    },
    Case("MISC-1", name: "the application's User-Agent and Accept are sent once") {
        let first = try await sent { request($0, "GET", ["user-agent": "own/1", "accept": "text/plain"]) }
        try equal(first.value("User-Agent"), "own/1", "User-Agent")
        try equal(first.value("Accept"), "text/plain", "Accept")
    },
    Case("MISC-4", name: "a POST with a body has a default Content-Type") {
        let first = try await sent { request($0, "POST", body: "a=b") }
        try equal(first.value("Content-Type"), "application/x-www-form-urlencoded", "Content-Type")
    },
    Case("MISC-4", name: "the application's Content-Type is sent") {
        let first = try await sent { request($0, "POST", ["Content-Type": "application/json"], body: "{}") }
        try equal(first.value("Content-Type"), "application/json", "Content-Type")
    },
    Case("MISC-5", name: "an empty POST has Content-Length: 0") {
        let first = try await sent { request($0, "POST") }
        try equal(first.value("Content-Length"), "0", "Content-Length")
    },
    Case("MISC-5", name: "a GET has no Content-Length") {
        let first = try await sent { URLRequest(url: $0) }
        try equal(first.value("Content-Length"), nil, "Content-Length")
    },
    Case("MISC-22", name: "any method is sent as given") {
        for method in ["PATCH", "OPTIONS", "DELETE", "PROPFIND", "custom"] {
            try equal(try await sent { request($0, method) }.method, method, "method")
        }
    },
    Case("MISC-27", name: "the fragment is not sent, and an empty path is /") {
        let server = try Server(Response(200))
        let session = makeSession()
        _ = await session.load(server.url("/a?b=c#d"))
        _ = await session.load(server.url(""))
        try equal(server.lines, ["GET /a?b=c", "GET /"], "requests")
    },
    Case("MISC-27", name: "a path that is not ASCII is percent-encoded once") {
        let server = try Server(Response(200))
        let session = makeSession()
        for path in ["/ü", "/%C3%BC", "/a%2Fb"] { _ = await session.load(server.url(path)) }
        try equal(server.lines, ["GET /%C3%BC", "GET /%C3%BC", "GET /a%2Fb"], "requests")
    },
    Case("MISC-27", name: "user and password are not in Host and target") {
        let server = try Server(Response(200))
        _ = await makeSession().load(try url("http://user:secret@127.0.0.1:\(server.port)/a"))
        try equal(server.requests.first?.value("Host"), "127.0.0.1:\(server.port)", "Host")
        try equal(server.lines, ["GET /a"], "requests")
    },
    Case("MISC-24", name: "a request survives an archive") {
        var request = request(try url("http://a.example/"), "POST", ["X-Name": "a"], body: "body")
        request.timeoutInterval = 5
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: request as NSURLRequest, requiringSecureCoding: true)
        let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURLRequest.self, from: data) as URLRequest?
        try equal(again?.url, request.url, "url")
        try equal(again?.httpMethod, "POST", "httpMethod")
        try equal(again?.value(forHTTPHeaderField: "X-Name"), "a", "X-Name")
        try equal(again?.timeoutInterval, 5, "timeoutInterval")
    },
    Case("MISC-5", name: "a PUT with a body on a data task") {
        let first = try await sent { request($0, "PUT", body: "abc") }
        try equal(text(first.body), "abc", "body")
        try equal(first.value("Content-Length"), "3", "Content-Length")
    },
]
