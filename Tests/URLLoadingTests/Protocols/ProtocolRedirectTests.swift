import Foundation
import LoadingTransport
import TestSupport
import Testing

@testable import URLLoading

/// Redirects of custom protocols, and redirects to URLs of custom protocols.
@Suite(.leavesNothing) struct ProtocolRedirectTests {
    private func calls(_ url: URL, _ delegate: RecordingDelegate = RecordingDelegate()) async throws -> [Call] {
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private func script(redirecting status: Int = 302, to url: URL) -> ScriptedProtocol.Script {
        ScriptedProtocol.script { $0.redirect(status, to: url) }
    }

    // R-27: the delegate is asked, and a new load begins; the protocol is stopped once
    @Test("from one protocol to another") func fromOneProtocolToAnother() async throws {
        let goal = ScriptedProtocol.script { $0.answer("goal") }
        let start = script(to: goal.url("/there"))
        let delegate = RecordingDelegate()
        #expect(
            try await calls(start.url(), delegate) == [
                .created(1), .redirect(1, 302), .response(1, 200), .data(1, "goal"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        #expect(delegate.proposed.events == [URLRequest(url: goal.url("/there"))])
        #expect(try await start.calls.waitFor(count: 2) == ["start", "stop"])
        #expect(try await goal.calls.waitFor(count: 2) == ["start", "stop"])
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map(\.request.url) == [start.url(), goal.url("/there")])
    }

    // R-27, R-18
    @Test("from a protocol to a server, and elsewhere on it") func fromAProtocolToAServer() async throws {
        let server = try ScriptedServer.answering(.text("served"))
        defer { server.stop() }
        let start = script(to: server.url("/proposed"))
        let delegate = RecordingDelegate()
        delegate.redirect = { _, answer in answer(URLRequest(url: server.url("/chosen"))) }
        #expect(
            try await calls(start.url(), delegate) == [
                .created(1), .redirect(1, 302), .response(1, 200), .data(1, "served"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        #expect(server.requests.map(\.target) == ["/chosen"])
    }

    // R-27, T-33: the response that redirects is the result then
    @Test("a redirect that is refused") func aRedirectThatIsRefused() async throws {
        let start = script(redirecting: 307, to: try #require(URL(string: "mock://nowhere/")))
        let delegate = RecordingDelegate()
        delegate.redirect = { $1(nil) }
        #expect(
            try await calls(start.url(), delegate) == [
                .created(1), .redirect(1, 307), .response(1, 307), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(try await start.calls.waitFor(count: 2) == ["start", "stop"])
    }

    // R-27, S-60: without a method to ask it is followed; handlers get the last response
    @Test("a redirect without a delegate") func aRedirectWithoutADelegate() async throws {
        let goal = ScriptedProtocol.script { $0.answer("goal") }
        let start = script(to: goal.url())
        let recorder = EventRecorder<Call>()
        let session = URLSession { $0.usesScripts() }
        let task = session.dataTask(with: start.url(), completionHandler: recorder.handler)
        task.resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled("goal", 200, nil)])
        #expect(task.originalRequest?.url == start.url())
        #expect(task.currentRequest?.url == goal.url())
    }

    // R-16: no redirect can read local files
    @Test("a redirect to a file", arguments: ["file:///etc/hostname", "data:,x", "gopher://x/"])
    func aRedirectToAFile(target: String) async throws {
        let url = try #require(URL(string: target))
        let start = script(to: url)
        #expect(
            try await calls(start.url()) == [
                .created(1), .redirect(1, 302), .metrics(1), .completed(1, .unsupportedURL), .invalid,
            ])
        let server = try ScriptedServer.answering(.redirect(to: target))
        defer { server.stop() }
        let recorder = EventRecorder<Call>()
        URLSession { $0.usesScripts() }.dataTask(with: server.url(), completionHandler: recorder.handler).resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled(nil, nil, .unsupportedURL)])
    }

    // R-16: a protocol may take what a server redirects to
    @Test("from a server to a protocol") func fromAServerToAProtocol() async throws {
        let goal = ScriptedProtocol.script {
            $0.answer("\($0.request.value(forHTTPHeaderField: "Authorization") ?? "nothing secret")")
        }
        let server = try ScriptedServer.answering(.redirect(to: goal.url("/taken").absoluteString))
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.setValue("secret", forHTTPHeaderField: "Authorization")
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 302), .response(1, 200), .data(1, "nothing secret"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(delegate.proposed.events.map(\.url) == [goal.url("/taken")])
        let recorder = EventRecorder<Call>()
        URLSession { $0.usesScripts() }.dataTask(with: server.url(), completionHandler: recorder.handler).resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled("nothing secret", 200, nil)])
    }

    // R-16, T-33
    @Test("a server's way to a protocol is refused") func aServersWayToAProtocolIsRefused() async throws {
        let goal = ScriptedProtocol.script { $0.answer("never") }
        let server = try ScriptedServer.answering(.redirect(to: goal.url().absoluteString))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.redirect = { $1(nil) }
        #expect(
            try await calls(server.url(), delegate) == [
                .created(1), .redirect(1, 302), .response(1, 302), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(goal.calls.events == [])
    }

    private final class TakesPaths: ScriptedProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/mine" }
        override func startLoading() { answer("taken over") }
        override func stopLoading() {}
    }

    // R-27: the classes are asked about the target of a server's redirect too
    @Test("a protocol takes over in mid-way", arguments: [true, false])
    func aProtocolTakesOver(isAsked: Bool) async throws {
        let server = try ScriptedServer.answering(.redirect(to: "/mine"))
        defer { server.stop() }
        let recorder = EventRecorder<Call>()
        let session = URLSession { $0.protocolClasses = [TakesPaths.self] }
        let delegate = RecordingDelegate()
        let task = session.dataTask(with: server.url("/theirs"), completionHandler: recorder.handler)
        if isAsked { task.delegate = delegate }
        task.resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled("taken over", 200, nil)])
        #expect(server.requests.map(\.target) == ["/theirs"])
        #expect(delegate.calls.events.contains(.redirect(1, 302)) == isAsked)
    }

    // R-7, R-8: protocols that lead to each other for ever
    @Test("a circle of protocols") func aCircleOfProtocols() async throws {
        let circle = ScriptedProtocol.script { $0.redirect(to: $0.request.url ?? URL(fileURLWithPath: "/")) }
        let error = await #expect(throws: URLError.self) {
            try await URLSession { $0.usesScripts() }.data(from: circle.url())
        }
        #expect(error?.code == .httpTooManyRedirects)
        #expect(circle.calls.events.count { $0 == "start" } == 21)
    }

    // R-7, R-27: the redirects of both count together
    @Test("a circle of a server and a protocol") func aCircleOfAServerAndAProtocol() async throws {
        let target = Watched(URL(fileURLWithPath: "/"))
        let half = ScriptedProtocol.script { $0.redirect(to: target.current) }
        let server = try ScriptedServer.answering { request in
            .redirect(to: request.target == "/first" ? "/second" : half.url().absoluteString)
        }
        defer { server.stop() }
        target.withValue { $0 = server.url("/first") }
        let error = await #expect(throws: URLError.self) {
            try await URLSession { $0.usesScripts() }.data(from: server.url("/first"))
        }
        #expect(error?.code == .httpTooManyRedirects)
        // Three redirects in each turn.
        #expect(server.requests.count == 14)
        #expect(half.calls.events.count { $0 == "start" } == 7)
    }

    // R-27, T-5: cancelled without an answer
    @Test("cancelling while the delegate is asked") func cancellingWhileTheDelegateIsAsked() async throws {
        let start = script(to: try #require(URL(string: "mock://nowhere/")))
        let delegate = RecordingDelegate()
        let answers = Watched<[@Sendable (URLRequest?) -> Void]>([])
        delegate.redirect = { _, answer in answers.withValue { $0.append(answer) } }
        let session = URLSession(delegate) { $0.usesScripts() }
        let task = session.dataTask(with: start.url())
        task.resume()
        session.finishTasksAndInvalidate()
        let answer = try await answers.wait(for: "the question") { $0.first }
        task.cancel()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 302), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        answer(URLRequest(url: start.url()))
        #expect(try await start.calls.waitFor(count: 2) == ["start", "stop"])
    }

    // R-18, R-27: the request that a protocol leads to is used as it is given, its body included
    @Test("an upload that a protocol redirects", arguments: ["given", nil])
    func anUploadThatAProtocolRedirects(body: String?) async throws {
        let server = try ScriptedServer.answering { .text("got \(String(decoding: $0.body, as: UTF8.self))") }
        defer { server.stop() }
        // A script outlives its test, and must not keep the server.
        let there = server.url("/there")
        let start = ScriptedProtocol.script { loading in
            var request = URLRequest(url: there)
            request.httpMethod = "PUT"
            request.httpBody = body.map { Data($0.utf8) }
            guard let url = loading.request.url,
                let response = HTTPURLResponse(url: url, statusCode: 307, httpVersion: nil, headerFields: nil)
            else { return }
            loading.client?.urlProtocol(loading, wasRedirectedTo: request, redirectResponse: response)
        }
        var request = URLRequest(url: start.url())
        request.httpMethod = "PUT"
        let (data, _) = try await URLSession { $0.usesScripts() }.upload(for: request, from: Data("first".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "got \(body ?? "")")
        #expect(server.requests.map(\.target) == ["/there"])
    }

    // R-9, R-10, R-27: secrets of the configuration are not sent to another origin
    @Test("the configuration's own fields", arguments: [true, false])
    func theConfigurationsOwnFields(isAsked: Bool) async throws {
        let server = try ScriptedServer.answering { request in
            request.target == "/first" ? .redirect(to: "/last") : .text("served")
        }
        defer { server.stop() }
        let start = script(to: server.url("/first"))
        let delegate = RecordingDelegate()
        if isAsked { delegate.redirect = { $1($0) } }
        let session = URLSession(delegate) {
            $0.usesScripts()
            $0.httpAdditionalHeaders = [
                "authorization": "secret", "Cookie": "a=b", "Proxy-Authorization": "secret", "Origin": "here",
                "X-Own": "kept",
            ]
        }
        session.dataTask(with: start.url()).resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(server.requests.map(\.target) == ["/first", "/last"])
        for request in server.requests {
            for name in ["Authorization", "Cookie", "Proxy-Authorization", "Origin"] { #expect(request[name] == nil) }
            #expect(request["X-Own"] == "kept")
        }
    }

    private final class LeadsOn: ScriptedProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/mine" }
        override func startLoading() {
            guard let url = request.url, let target = URL(string: "/theirs", relativeTo: url)?.absoluteURL else {
                return
            }
            var next = URLRequest(url: target)
            next.setValue("c=d", forHTTPHeaderField: "Cookie")
            guard let response = HTTPURLResponse(url: url, statusCode: 303, httpVersion: nil, headerFields: nil) else {
                return
            }
            client?.urlProtocol(self, wasRedirectedTo: next, redirectResponse: response)
        }
        override func stopLoading() {}
    }

    // R-5, R-9, R-27: what the protocol itself gives is sent, and within one place so are all but credentials
    @Test("fields of a request that a protocol leads to") func fieldsOfARequestThatAProtocolLeadsTo() async throws {
        let server = try ScriptedServer.answering(.text("served"))
        defer { server.stop() }
        let session = URLSession {
            $0.protocolClasses = [LeadsOn.self]
            $0.httpAdditionalHeaders = [
                "Authorization": "secret", "Cookie": "a=b", "Origin": "here", "Content-Language": "de",
            ]
        }
        var request = URLRequest(url: server.url("/mine"))
        request.httpMethod = "POST"
        _ = try await session.data(for: request)
        let sent = try #require(server.requests.first)
        #expect(sent.method == "GET")
        #expect(sent["Authorization"] == nil)
        #expect(sent["Cookie"] == "c=d")
        #expect(sent["Origin"] == "here")
        #expect(sent["Content-Language"] == nil)
    }

    // C-23, MISC-18, R-9, R-27: a protocol gets the fields that a server would get, and hands none of the secrets among
    // them on by copying its request
    @Test("fields of the configuration in the request of a protocol") func fieldsInTheRequestOfAProtocol() async throws
    {
        let server = try ScriptedServer.answering(.text("served"))
        defer { server.stop() }
        let target = server.url("/there")
        let seen = EventRecorder<[String: String]>()
        let script = ScriptedProtocol.script { loading in
            seen.record(loading.request.allHTTPHeaderFields ?? [:])
            guard let url = loading.request.url,
                let response = HTTPURLResponse(url: url, statusCode: 307, httpVersion: nil, headerFields: nil)
            else { return }
            let next = loading.request.with { $0.url = target }
            loading.client?.urlProtocol(loading, wasRedirectedTo: next, redirectResponse: response)
        }
        let session = URLSession {
            $0.usesScripts()
            $0.httpAdditionalHeaders = ["Authorization": "secret", "X-Own": "kept", "x-both": "configuration"]
        }
        let request = URLRequest(url: script.url()).with { $0.setValue("request", forHTTPHeaderField: "X-Both") }
        #expect(try await session.data(for: request).0 == Data("served".utf8))
        session.invalidateAndCancel()
        #expect(seen.events == [["Authorization": "secret", "X-Own": "kept", "X-Both": "request"]])
        let sent = try #require(server.requests.first)
        #expect(sent["Authorization"] == nil)
        #expect(sent["X-Own"] == "kept")
        #expect(sent["X-Both"] == "request")
    }

    // R-27, T-1: the load is failing, since its file is being closed, when the delegate answers
    @Test("a redirect that is answered after the task was cancelled") func answeredTooLate() async throws {
        let goal = ScriptedProtocol.script { $0.answer("goal") }
        let start = ScriptedProtocol.script {
            $0.respond()
            $0.load("some")
            $0.redirect(to: goal.url())
        }
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        let loop = session.core.loop
        let task = session.downloadTask(with: start.url())
        delegate.redirect = { _, answer in
            // Both come in one turn of the loop, and a file is closed between two turns.
            let isBlocked = Signal("the loop waits")
            let mayGoOn = Signal("the loop goes on")
            loop.post {
                isBlocked.fire()
                try? mayGoOn.wait()
            }
            try? isBlocked.wait()
            task.cancel()
            answer(URLRequest(url: goal.url()))
            mayGoOn.fire()
        }
        task.resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(goal.calls.events == [])
    }
}
