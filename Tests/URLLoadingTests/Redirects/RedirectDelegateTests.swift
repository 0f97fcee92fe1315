import Foundation
import TestSupport
import Testing
import URLLoading

/// Redirects with a delegate.
@Suite(.leavesNothing) struct RedirectDelegateTests {
    private func server() throws -> ScriptedServer {
        try ScriptedServer.answering { request in
            switch request.path {
            case "/start": CannedResponse.text("moved", status: 302).with(field: "Location", "/next")
            case "/next": .redirect(to: "/end", status: 307)
            default: .text(request.summary)
            }
        }
    }

    /// The callbacks of a request to `/start`.
    private func calls(
        _ delegate: RecordingDelegate, _ request: URLRequest, _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> (calls: [Call], task: URLSessionTask) {
        let session = URLSession(delegate, configure)
        let task = session.dataTask(with: request)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return (calls, task)
    }

    // S-58, S-59, T-32, R-19, T-12
    @Test("each redirect is proposed, without further callbacks") func eachRedirectIsProposedWithoutFurtherCallbacks()
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let seen = EventRecorder<String>()
        delegate.during = { call, _, task in
            guard case .redirect = call else { return }
            seen.record("\(task?.currentRequest?.url?.path ?? "") \(task?.response == nil)")
        }
        var request = URLRequest(url: server.url("/start"), cachePolicy: .reloadIgnoringLocalCacheData)
        request.timeoutInterval = 17
        request.mainDocumentURL = URL(string: "http://main.example/")
        request.networkServiceType = .video
        request.allowsCellularAccess = false
        request.allowsExpensiveNetworkAccess = false
        request.allowsConstrainedNetworkAccess = false
        request.httpShouldHandleCookies = false
        request.setValue("1", forHTTPHeaderField: "X-Own")
        request.setValue("Basic x", forHTTPHeaderField: "Authorization")
        let (calls, task) = try await calls(delegate, request)
        #expect(
            calls == [
                .created(1), .redirect(1, 302), .redirect(1, 307), .response(1, 200), .data(1, "GET /end "),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        // All as it was, but for the address and what no redirect keeps (R-9).
        let expected = request.with { $0.setValue(nil, forHTTPHeaderField: "Authorization") }
        let proposals = ["/next", "/end"].map { path in expected.with { $0.url = server.url(path) } }
        #expect(delegate.proposed.events == proposals)
        // Not before it is followed.
        #expect(seen.events == ["/start true", "/next true"])
        #expect(task.originalRequest == request)
        #expect(task.currentRequest == expected.with { $0.url = server.url("/end") })
    }

    // R-13, R-18: what `URL` would encode anew, and the escapes with it, is encoded before
    @Test(
        "a delegate that passes on a location that is no URL",
        arguments: [
            ("/a[1]?b[]=c%20d", "/a%5B1%5D?b%5B%5D=c%20d"), ("/100%/%20", "/100%25/%20"), ("/%20|", "/%20%7C"),
        ])
    func aLocationThatIsNoURL(location: String, target: String) async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/start" ? .redirect(to: location) : .text(request.target)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let (calls, task) = try await calls(delegate, URLRequest(url: server.url("/start")))
        #expect(calls.contains(.data(1, target)))
        #expect(delegate.proposed.events.map(\.url) == [server.url(target)])
        #expect(task.currentRequest == delegate.proposed.events.last)
        #expect(server.requests.map(\.target) == ["/start", target])
    }

    // R-21: a request whose URL is spelled differently
    @Test("an address without a path is no redirect") func anAddressWithoutAPathIsNoRedirect() async throws {
        let server = try server()
        defer { server.stop() }
        let url = try #require(URL(string: "HTTP://127.0.0.1:\(server.port)"))
        let (calls, task) = try await calls(RecordingDelegate(), URLRequest(url: url))
        #expect(
            calls == [.created(1), .response(1, 200), .data(1, "GET / "), .metrics(1), .completed(1, nil), .invalid])
        #expect(task.currentRequest?.url == url)
    }

    // R-2, R-5, R-6: with what is left of a body
    @Test("a proposal after a body", arguments: [(302, "GET", nil), (307, "POST", "abc")] as [(Int, String, String?)])
    func aProposalAfterABody(status: Int, method: String, body: String?) async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/start" ? .redirect(to: "/end", status: status) : .text(request.summary)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let request = URLRequest(url: server.url("/start")).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data("abc".utf8)
            $0.setValue("text/x", forHTTPHeaderField: "Content-Type")
        }
        let (calls, _) = try await calls(delegate, request)
        let proposed = try #require(delegate.proposed.events.first)
        #expect(proposed.httpMethod == method)
        #expect(proposed.httpBody == body.map { Data($0.utf8) })
        #expect(proposed.value(forHTTPHeaderField: "Content-Type") == (body == nil ? nil : "text/x"))
        // The body is sent again, and that is reported again (T-29).
        let again: [Call] = body == nil ? [] : [.sent(1, 3, 3)]
        let end: [Call] = [
            .response(1, 200), .data(1, "\(method) /end \(body ?? "")"), .metrics(1), .completed(1, nil), .invalid,
        ]
        #expect(calls == [.created(1), .sent(1, 3, 3), .redirect(1, status)] + again + end)
    }

    // S-58, R-18, R-9
    @Test("another request is loaded as it is") func anotherRequestIsLoadedAsItIs() async throws {
        let server = try server()
        defer { server.stop() }
        let other = try ScriptedServer.answering { .text($0.summary) }
        defer { other.stop() }
        let delegate = RecordingDelegate()
        let instead = URLRequest(url: other.url("/elsewhere")).with {
            $0.httpMethod = "PUT"
            $0.httpBody = Data("own".utf8)
            $0.setValue("Basic again", forHTTPHeaderField: "Authorization")
            $0.setValue("c=d", forHTTPHeaderField: "Cookie")
        }
        delegate.redirect = { _, handler in handler(instead) }
        let (calls, task) = try await calls(
            delegate, URLRequest(url: server.url("/start")).with { $0.setValue("1", forHTTPHeaderField: "X-Own") })
        #expect(
            calls == [
                .created(1), .redirect(1, 302), .sent(1, 3, 3), .response(1, 200), .data(1, "PUT /elsewhere own"),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(task.currentRequest == instead)
        #expect(task.countOfBytesExpectedToSend == 3)
        #expect(server.requests.map(\.path) == ["/start"])
        let second = try #require(other.requests.first)
        #expect(second["Authorization"] == "Basic again")
        #expect(second["Cookie"] == "c=d")
        #expect(second["X-Own"] == nil)
    }

    // R-9, R-10, R-18: what the configuration adds is as secret as what a request has
    @Test("fields of the configuration do not follow to another origin", arguments: [false, true])
    func fieldsOfTheConfigurationDoNotFollowToAnotherOrigin(hasProtocols: Bool) async throws {
        let server = try server()
        defer { server.stop() }
        let other = try ScriptedServer.answering(.text("end"))
        defer { other.stop() }
        let delegate = RecordingDelegate()
        let instead = URLRequest(url: other.url("/elsewhere"))
        delegate.redirect = { _, handler in handler(instead) }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url("/start"))) {
            $0.httpAdditionalHeaders = [
                "Authorization": "Basic x", "Cookie": "a=b", "Origin": "http://own.example", "X-Own": "1",
            ]
            if hasProtocols { $0.protocolClasses = [Uninterested.self] }
        }
        #expect(calls.last == .invalid)
        let names = ["Authorization", "Cookie", "Origin", "X-Own"]
        let sent = { (server: ScriptedServer) in
            server.requests.map { request in names.map { request[$0] } }
        }
        #expect(sent(server) == [["Basic x", "a=b", "http://own.example", "1"]])
        #expect(sent(other) == [[nil, nil, nil, "1"]])
    }

    /// A protocol class that loads nothing, but is queried.
    private final class Uninterested: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { false }
    }

    // T-33, R-23: and the connection is kept
    @Test("refused, the redirect itself is the result") func refusedTheRedirectItselfIsTheResult() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.redirect = { _, handler in handler(nil) }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/start"))
        task.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        session.dataTask(with: server.url("/plain")).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.of(1) == [
                .created(1), .redirect(1, 302), .response(1, 302), .data(1, "moved"), .metrics(1), .completed(1, nil),
            ])
        #expect(task.currentRequest == task.originalRequest)
        #expect((task.response as? HTTPURLResponse)?.url == server.url("/start"))
        #expect(delegate.metrics.events.first?.redirectCount == 0)
        #expect(server.requests.map(\.path) == ["/start", "/plain"])
        #expect(server.connectionCount == 1)
    }

    // T-33: a body that is too large to drain
    @Test("refused, a large body of it is whole") func refusedALargeBodyOfItIsWhole() async throws {
        let bytes = [UInt8].pattern(count: 3_000_000)
        let server = try ScriptedServer.answering { _ in
            CannedResponse.bytes(bytes, status: 302).with(field: "Location", "/end")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.redirect = { _, handler in Thread { handler(nil) }.start() }
        let session = URLSession(delegate)
        let handled = Watched<Data?>(nil)
        session.dataTask(with: server.url()) { data, _, _ in handled.withValue { $0 = data } }.resume()
        #expect(try await handled.wait(for: "the body") { $0 } == Data(bytes))
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid() == [.created(1), .redirect(1, 302), .metrics(1), .invalid])
    }

    // T-47, R-18: the only call of a task with a handler besides its metrics
    @Test("a task with a handler asks too") func aTaskWithAHandlerAsksToo() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url("/start"), completionHandler: delegate.calls.handler).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 302), .redirect(1, 307), .metrics(1), .handled("GET /end ", 200, nil),
                .invalid,
            ])
    }

    // T-24, S-58: a task's own delegate, by the async spelling
    @Test("a task's own delegate is asked") func aTasksOwnDelegateIsAsked() async throws {
        final class Own: NSObject, URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest
            ) async -> URLRequest? {
                response.statusCode == 302 ? request : nil
            }
        }
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let (data, response) = try await session.data(from: server.url("/start"), delegate: Own())
        #expect(data.isEmpty)
        #expect((response as? HTTPURLResponse)?.statusCode == 307)
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .invalid])
    }

    // T-34, C-8
    @Test("without an answer the resource timer ends the task") func withoutAnAnswerTheResourceTimerEndsTheTask()
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.redirect = { _, _ in }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url("/start"))) {
            $0.timeoutIntervalForRequest = 0.1
            $0.timeoutIntervalForResource = 0.5
        }
        #expect(
            calls == [.created(1), .redirect(1, 302), .metrics(1), .completed(1, .timedOut), .invalid])
        #expect(server.requests.count == 1)
    }

    // T-5, T-67: an answer after the end does nothing, and neither does a second one
    @Test("cancelled while it is asked") func cancelledWhileItIsAsked() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let answers = Watched<[@Sendable (URLRequest?) -> Void]>([])
        delegate.redirect = { _, handler in answers.withValue { $0.append(handler) } }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/start"))
        task.resume()
        try await delegate.calls.wait(for: .redirect(1, 302))
        task.cancel()
        _ = try await delegate.calls(untilCompletions: 1)
        for answer in answers.current { answer(URLRequest(url: server.url("/late"))) }
        await session.flush()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 302), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(server.requests.map(\.path) == ["/start"])
    }

    // T-67
    @Test("only the first answer counts") func onlyTheFirstAnswerCounts() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.redirect = { request, handler in
            handler(nil)
            handler(request)
        }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url("/start")))
        #expect(
            calls == [
                .created(1), .redirect(1, 302), .response(1, 302), .data(1, "moved"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
    }

    // T-2: while it is suspended nothing is sent
    @Test("suspended while it is asked") func suspendedWhileItIsAsked() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let asked = Signal("the question")
        let answer = Watched<(@Sendable () -> Void)?>(nil)
        delegate.redirect = { request, handler in
            answer.withValue { $0 = { handler(request) } }
            asked.fire()
        }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/start"))
        task.resume()
        try await asked.wait()
        task.suspend()
        delegate.redirect = { $1($0) }
        answer.current?()
        // One more task through the loop shows that the first one did nothing meanwhile.
        let other = try ScriptedServer.answering(.text("x"))
        defer { other.stop() }
        session.dataTask(with: other.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        #expect(server.requests.map(\.path) == ["/start"])
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(1).suffix(2) == [.metrics(1), .completed(1, nil)])
        #expect(server.requests.map(\.path) == ["/start", "/next", "/end"])
    }

    // R-18, ERR-5, ERR-9: a request that cannot be loaded
    @Test(
        "an answer that cannot be loaded",
        arguments: [
            ("file:///etc/passwd", "GET", URLError.Code.unsupportedURL), ("http:///x", "GET", .badURL),
            ("http://127.0.0.1/", "GET body", .dataLengthExceedsMaximum),
        ])
    func anAnswerThatCannotBeLoaded(text: String, method: String, code: URLError.Code) async throws {
        let server = try server()
        defer { server.stop() }
        let url = try #require(URL(string: text))
        let delegate = RecordingDelegate()
        delegate.redirect = { _, handler in
            handler(URLRequest(url: url).with { if method != "GET" { $0.httpBody = Data("x".utf8) } })
        }
        let (calls, task) = try await calls(delegate, URLRequest(url: server.url("/start")))
        #expect(calls == [.created(1), .redirect(1, 302), .metrics(1), .completed(1, code), .invalid])
        #expect((task.error as? URLError)?.failingURL == url)
        #expect(server.requests.count == 1)
    }
}
