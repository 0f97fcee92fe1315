import Foundation
import TestSupport
import Testing
import URLLoading

/// Redirects without a delegate, which are followed.
@Suite(.leavesNothing) struct RedirectTests {
    /// Redirects `/start` and paths below `/to` to the rest of the path; other paths return the request.
    static func answer(_ request: ReceivedRequest) -> CannedResponse {
        switch request.path {
        case "/start": .redirect(to: request.query ?? "", status: Int(request["X-Status"] ?? "") ?? 302)
        default: .text(request.summary)
        }
    }

    /// A request, and the expected redirected request.
    struct Hop: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: String
        let next: String

        var testDescription: String { "\(status) \(method)" }
    }

    static let hops: [Hop] = [
        (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (305, "GET", "GET"), (306, "GET", "GET"),
        (307, "GET", "GET"), (308, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (305, "POST", "POST body"),
        (306, "POST", "POST body"), (307, "POST", "POST body"), (308, "POST", "POST body"),
        (301, "PUT", "PUT body"), (302, "PUT", "PUT body"), (303, "PUT", "GET"), (307, "PUT", "PUT body"),
        (308, "PUT", "PUT body"), (303, "DELETE", "GET"), (302, "DELETE", "DELETE body"),
    ].map { Hop(status: $0, method: $1, next: $2) }

    // S-13, S-60, T-32, R-1 to: to the same origin over the same connection, to another over another
    @Test("each status and method", arguments: hops, [true, false])
    func eachStatusAndMethod(hop: Hop, staysHome: Bool) async throws {
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        let other = try ScriptedServer.answering { Self.answer($0) }
        defer { other.stop() }
        let target = (staysHome ? server : other).url("/end")
        let request = URLRequest(url: server.url("/start?\(target.absoluteString)")).with {
            $0.httpMethod = hop.method
            if hop.method != "GET" { $0.httpBody = Data("body".utf8) }
            $0.setValue("\(hop.status)", forHTTPHeaderField: "X-Status")
            $0.setValue("Basic x", forHTTPHeaderField: "Authorization")
            $0.setValue("text/x", forHTTPHeaderField: "Content-Type")
            $0.setValue("gzip", forHTTPHeaderField: "Content-Encoding")
            $0.setValue("a=b", forHTTPHeaderField: "Cookie")
            $0.setValue("1", forHTTPHeaderField: "X-Own")
        }
        let recorder = LoadRecorder()
        let task = recorder.start(request)
        let words = hop.next.split(separator: " ")
        let body = words.count > 1 ? "body" : ""
        #expect(
            try await recorder.finish()
                == [.response(200), .data("\(words[0]) /end \(body)"), .succeeded, .invalid])
        #expect(recorder.responses.events.map(\.url) == [target])

        // T-12, T-13
        #expect(task.originalRequest == request)
        #expect(task.currentRequest?.url == target)
        #expect(task.currentRequest?.httpMethod == String(words[0]))
        #expect(task.currentRequest?.httpBody == (body.isEmpty ? nil : Data("body".utf8)))
        #expect(task.response === recorder.responses.events.first)

        let second = try #require((staysHome ? server : other).requests.last)
        #expect(second["Authorization"] == nil)
        #expect(second["X-Own"] == "1")
        #expect(second["Cookie"] == (staysHome ? "a=b" : nil))
        // A DELETE that stays one keeps its body, and all with it.
        #expect(second["Content-Type"] == (hop.method == words[0] ? "text/x" : nil))
        #expect(second["Content-Encoding"] == (hop.method == words[0] ? "gzip" : nil))
        #expect(second["Content-Length"] == (body.isEmpty ? nil : "4"))
        #expect(server.connectionCount == 1)
        #expect(other.connectionCount == (staysHome ? 0 : 1))
    }

    // as observed, though RFC 9110 keeps it
    @Test("HEAD", arguments: [(301, "HEAD"), (302, "HEAD"), (303, "GET"), (307, "HEAD"), (308, "HEAD")])
    func head(status: Int, next: String) async throws {
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        let request = URLRequest(url: server.url("/start?/end")).with {
            $0.httpMethod = "HEAD"
            $0.setValue("\(status)", forHTTPHeaderField: "X-Status")
        }
        let body = next == "GET" ? [RecordedEvent.data("GET /end ")] : []
        #expect(try await LoadRecorder.load(request) == [.response(200)] + body + [.succeeded, .invalid])
        #expect(server.requests.map(\.method) == ["HEAD", next])
    }

    // what is the result itself, with its own body
    @Test(
        "a response that leads nowhere",
        arguments: [
            (300, "/end"), (304, "/end"), (309, "/end"), (399, "/end"), (302, nil), (302, ""), (302, "http://"),
            (302, "http://127.0.0.1:99999/"), (302, "http://[::1/"), (200, "/end"), (404, "/end"),
        ] as [(Int, String?)])
    func aResponseThatLeadsNowhere(status: Int, location: String?) async throws {
        let server = try ScriptedServer.answering { _ in
            let response = status == 304 ? CannedResponse.status(304) : .text("here", status: status)
            return location.map { response.with(field: "Location", $0) } ?? response
        }
        defer { server.stop() }
        let body = status == 304 ? [] : [RecordedEvent.data("here")]
        let recorder = LoadRecorder()
        #expect(
            try await recorder.run(URLRequest(url: server.url("/start")))
                == [.response(status)] + body + [.succeeded, .invalid])
        #expect(recorder.responses.events.map { $0.value(forHTTPHeaderField: "Location") } == [location])
        #expect(server.requests.map(\.target) == ["/start"])
    }

    // relative to the address that was asked for, verbatim, with the fragment that was there
    @Test(
        "locations",
        arguments: [
            ("/end", "/end", "/end#part"), ("end", "/dir/end", "/dir/end#part"), ("../end", "/end", "/end#part"),
            ("./end/", "/dir/end/", "/dir/end/#part"), ("?b", "/dir/start?b", "/dir/start?b#part"),
            ("/a%2Fb/%7E?c=%20d&e=+", "/a%2Fb/%7E?c=%20d&e=+", "/a%2Fb/%7E?c=%20d&e=+#part"),
            ("/end#own", "/end", "/end#own"), ("#own", "/dir/start?a", "/dir/start?a#own"),
            ("//HOST/end", "/end", "/end#part"), ("http://HOST/end", "/end", "/end#part"),
            ("HTTP://HOST", "/", "#part"), ("http://me:secret@HOST/end", "/end", "/end#part"),
            ("/a[1]%20?b[]=%7E", "/a%5B1%5D%20?b%5B%5D=%7E", "/a%5B1%5D%20?b%5B%5D=%7E#part"),
            (" /end ", "/end", "/end#part"), ("/a b\u{FC}", "/a%20b%C3%BC", "/a%20b%C3%BC#part"),
        ])
    func locations(location: String, target: String, shown: String) async throws {
        let count = Watched(0)
        let server = try ScriptedServer.answering { request in
            let isFirst = count.withValue {
                $0 += 1
                return $0 == 1
            }
            let location = location.replacingOccurrences(of: "HOST", with: request["Host"] ?? "")
            return isFirst ? .redirect(to: location) : .text(request.target)
        }
        defer { server.stop() }
        let start = try #require(URL(string: server.url("/dir/start?a").absoluteString + "#part"))
        let recorder = LoadRecorder()
        let task = recorder.start(URLRequest(url: start))
        #expect(try await recorder.finish() == [.response(200), .data(target), .succeeded, .invalid])
        #expect(server.requests.map(\.target) == ["/dir/start?a", target])
        let end = task.currentRequest?.url?.absoluteString ?? ""
        #expect(end.dropFirst("http://127.0.0.1:\(server.port)".count) == shown)
    }

    // MARK: Too many

    /// Redirects from each number to the next.
    private static func count(_ request: ReceivedRequest, to last: Int) -> CannedResponse {
        guard let number = Int(request.path.dropFirst()), number < last else { return .text("here") }
        return .redirect(to: "/\(number + 1)")
    }

    //
    @Test("twenty are followed") func twentyAreFollowed() async throws {
        let server = try ScriptedServer.answering { Self.count($0, to: 20) }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url("/0"))
                == [.response(200), .data("here"), .succeeded, .invalid])
        #expect(server.requests.map(\.path) == (0...20).map { "/\($0)" })
    }

    // T-48, ERR-4, ERR-5: whether a delegate approves of each or not
    @Test("one more is too many", arguments: [true, false]) func oneMoreIsTooMany(asks: Bool) async throws {
        let server = try ScriptedServer.answering { Self.count($0, to: 21) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = asks ? URLSession(delegate) : URLSession { _ in }
        let handled = EventRecorder<Call>()
        let failing = Watched<URLError?>(nil)
        let task = session.dataTask(with: server.url("/0")) { data, response, error in
            failing.withValue { $0 = error as? URLError }
            handled.handler(data, response, error)
        }
        task.resume()
        #expect(try await handled.waitFor(count: 1) == [.handled(nil, nil, .httpTooManyRedirects)])
        // that of the last request, which the delegate was asked about last
        #expect(failing.current?.failingURL == server.url("/20"))
        #expect(failing.current?.userInfo["NSErrorFailingURLStringKey"] as? String == server.url("/20").absoluteString)
        #expect(failing.current?.localizedDescription == "too many HTTP redirects")
        #expect(server.requests.map(\.path) == (0...20).map { "/\($0)" })
        if asks {
            session.finishTasksAndInvalidate()
            #expect(
                try await delegate.callsUntilInvalid()
                    == [.created(1)] + Array(repeating: .redirect(1, 302), count: 20) + [.metrics(1), .invalid])
            #expect(delegate.metrics.events.first?.redirectCount == 20)
            #expect(delegate.metrics.events.first?.transactionMetrics.count == 21)
        } else {
            session.invalidateAndCancel()
        }
    }

    // R-8, T-38: and through the delegate
    @Test("a circle") func aCircle() async throws {
        let server = try ScriptedServer.answering(.redirect(to: "/"))
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == [.failed(.httpTooManyRedirects), .invalid])
        #expect(server.requests.count == 21)
        #expect(server.connectionCount == 1)
    }

    // MARK: Elsewhere

    // a server must not read local files
    @Test(
        "a redirect to something else than HTTP",
        arguments: ["file:///etc/passwd", "data:text/plain,x", "ftp://127.0.0.1/", "about:blank", "x-app:open"])
    func aRedirectToSomethingElseThanHTTP(location: String) async throws {
        let server = try ScriptedServer.answering(.redirect(to: location))
        defer { server.stop() }
        try await URLSession.using { session in
            do {
                _ = try await session.data(from: server.url())
                Issue.record("no error")
            } catch let error as URLError {
                #expect(error.code == .unsupportedURL)
                #expect(error.failingURL?.absoluteString == location)
            }
        }
        #expect(server.requests.count == 1)
    }

    // R-16, ERR-5, T-38: the next address has errors of its own
    @Test("a redirect to an unreachable server") func aRedirectToAnUnreachableServer() async throws {
        let refusing = try RefusingPort()
        let target = "http://127.0.0.1:\(refusing.port)/"
        let server = try ScriptedServer.answering(.redirect(to: target))
        defer { server.stop() }
        // If another address had failed, the error would be its error.
        #expect(try await LoadRecorder.load(server.url()) == [.failed(.cannotConnectToHost), .invalid])
    }

    // each hop has the timeout of the first
    @Test("a redirect to a silent server") func aRedirectToASilentServer() async throws {
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            guard request.path == "/start" else { try connection.stopReading() }
            try connection.send(.redirect(to: "/end").closing(), to: request)
        }
        defer { server.stop() }
        let request = URLRequest(url: server.url("/start"), timeoutInterval: 0.3)
        #expect(try await LoadRecorder.load(request) == [.failed(.timedOut), .invalid])
    }

    // T-32: what a redirect brings along is neither reported nor counted
    @Test("the body of a redirect is not delivered", arguments: ["length", "chunks", "close", "none"])
    func theBodyOfARedirectIsNotDelivered(framing: String) async throws {
        let text = String(repeating: "moved ", count: 1_000)
        let server = try ScriptedServer.answering { request in
            guard request.path == "/start" else { return .text("here") }
            let response: CannedResponse =
                switch framing {
                case "length": .text(text, status: 302)
                case "chunks": CannedResponse(302, body: .chunks([Array(text.utf8)], trailers: []))
                case "close": CannedResponse(302, body: .untilClose(Array(text.utf8)))
                default: .status(302)
                }
            return response.with(field: "Location", "/end")
        }
        defer { server.stop() }
        let recorder = LoadRecorder()
        let task = recorder.start(URLRequest(url: server.url("/start")))
        #expect(try await recorder.finish() == [.response(200), .data("here"), .succeeded, .invalid])
        #expect(task.countOfBytesReceived == 4)
        #expect(task.countOfBytesExpectedToReceive == 4)
        #expect(server.requests.map(\.path) == ["/start", "/end"])
        // Chunks may still be on their way when the next request goes out.
        if framing != "chunks" { #expect(server.connectionCount == (framing == "close" ? 2 : 1)) }
    }

    // S-60, T-47, T-55: the same by handler and async
    @Test("by handler and async") func byHandlerAndAsync() async throws {
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        try await URLSession.using { session in
            let handled = EventRecorder<Call>()
            session.dataTask(with: server.url("/start?/end"), completionHandler: handled.handler).resume()
            #expect(try await handled.waitFor(count: 1) == [.handled("GET /end ", 200, nil)])
            let (data, response) = try await session.data(from: server.url("/start?/end"))
            #expect(String(decoding: data, as: UTF8.self) == "GET /end ")
            #expect(response.url == server.url("/end"))
            let (bytes, _) = try await session.bytes(from: server.url("/start?/end"))
            var text = ""
            for try await byte in bytes { text.append(Character(UnicodeScalar(byte))) }
            #expect(text == "GET /end ")
        }
        #expect(server.connectionCount == 1)
    }
}

extension ReceivedRequest {
    /// Method, target and body.
    var summary: String { "\(method) \(target) \(bodyText)" }
}
