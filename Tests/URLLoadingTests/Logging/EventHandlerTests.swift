import Foundation
import LoadingEvents
import TestSupport
import Testing

@testable import URLLoading

/// Answers each challenge with a password.
private final class Answering: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.useCredential, URLCredential(user: "u", password: "very-secret", persistence: .none))
    }
}

/// The process's `eventHandler`.
@Suite(.leavesNothing) struct EventHandlerTests {
    /// Sets the handler while `body` runs. Events of other tests' tasks, which may still end, are not among them.
    private func recording(
        _ session: URLSession, _ body: (EventRecorder<URLSessionEvent>) async throws -> Void
    ) async throws {
        let events = EventRecorder<URLSessionEvent>()
        let number = session.core.number
        URLSession.eventHandler = { event in if event.session == number || event.session == nil { events.record(event) }
        }
        defer { URLSession.eventHandler = nil }
        try await body(events)
        session.invalidateAndCancel()
    }

    // MISC-28
    @Test("a redirect that sets a cookie, and what of it is secret") func redirect() async throws {
        let server = try ScriptedServer.answering { request in
            if request.target.hasPrefix("/next") { return .text("hello") }
            return .text("", status: 302).with(field: "Location", "/next?token=very-secret")
                .with(field: "Set-Cookie", "a=very-secret")
        }
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        try await recording(session) { events in
            let url = try #require(URL(string: server.url("/first?key=very-secret#x").absoluteString))
            _ = try await session.data(from: url)
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            #expect(
                all.map(\.name.rawValue) == [
                    "request", "transaction.began", "request", "cache.decision", "connect.began", "connect.ended",
                    "connection", "request.head", "request.ended", "response.began", "response.head",
                    "cookies.received", "cookie.decision", "response.ended", "transaction.ended", "transaction.began",
                    "request",
                    "cookies.sent", "cache.decision", "connection", "request.head", "request.ended", "response.began",
                    "response.head", "response.ended", "transaction.ended", "task.ended",
                ])
            #expect(all.allSatisfy { $0.session == session.core.number && $0.task == 1 })
            let ends = all.filter { $0.name == .transactionEnded }
            #expect(ends.map { $0.attributes["http.response.status_code"] } == ["302", "200"])
            #expect(ends.allSatisfy { $0.level == .info && $0.attributes["server.address"] == url.host })
            #expect(ends.last?.message == "GET \(server.url("/next").absoluteString)?...: 200")
            #expect(all.last?.attributes["error.type"] == nil)
            #expect(all.filter { $0.name == .connection }.map { $0.attributes["reused"] } == ["false", "true"])
            #expect(all.first { $0.name == .cookiesSent }?.attributes == ["count": "1"])
            for event in all { #expect(!"\(event) \(event.attributes)".contains("secret")) }
            // The end of the task comes after its transactions, and counts from its beginning.
            let last = try #require(all.last)
            #expect(ends.allSatisfy { $0.elapsed <= last.elapsed && $0.date <= last.date })
        }
    }

    // MISC-28, WS-3: scripts in browsers send tokens as subprotocols, and servers send them back
    @Test("a subprotocol is not logged") func subprotocol() async throws {
        let server = try ScriptedServer.webSocketEcho(answer: WebSocketAnswer.firstSubprotocol)
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        try await recording(session) { events in
            let task = session.webSocketTask(with: server.webSocketURL(), protocols: ["bearer.very-secret"])
            task.resume()
            try await task.send(.string("a"))
            _ = try await task.receive()
            task.cancel(with: .normalClosure, reason: nil)
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            #expect(
                all.filter { $0.name == .webSocketOpened }.map(\.message) == ["WebSocket: open, with a subprotocol"])
            for event in all { #expect(!"\(event) \(event.attributes)".contains("secret")) }
        }
    }

    // MISC-28, COOK-1, COOK-3: what becomes of each cookie, without its value
    @Test("decisions about cookies") func cookies() async throws {
        let fields = [
            "kept=secret; Path=/", "kept=secret; Max-Age=0", "shop=secret; Domain=elsewhere.example", "__Host-a=secret",
            "secret; name=secret", "locked=secret; Secure",
        ]
        let server = try ScriptedServer.answering { _ in
            fields.reduce(.text("hello")) { $0.with(field: "Set-Cookie", $1) }
        }
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        try await recording(session) { events in
            _ = try await session.data(from: server.url())
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            let decisions = all.filter { $0.name == .cookieDecision }.map(\.attributes)
            #expect(
                decisions == [
                    ["name": "kept", "decision": "stored"], ["name": "kept", "decision": "removed"],
                    ["name": "shop", "decision": "refused", "reason": "the response is of another domain"],
                    [
                        "name": "__Host-a", "decision": "refused",
                        "reason": "it lacks what the prefix of its name requires",
                    ],
                    ["name": "", "decision": "refused", "reason": "it has no name"],
                    ["name": "locked", "decision": "refused", "reason": "Secure over an insecure connection"],
                ])
            for event in all { #expect(!"\(event) \(event.attributes)".contains("secret")) }
            #expect(all.contains { $0.message == "cookie: shop refused, because: the response is of another domain" })
        }
    }

    // MISC-28, COOK-4
    @Test("cookies that are not sent") func withheldCookies() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        for (name, path) in [("here", "/"), ("there", "/elsewhere")] {
            let cookie = try #require(
                HTTPCookie(properties: [.name: name, .value: "secret", .domain: "127.0.0.1", .path: path]))
            configuration.httpCookieStorage?.setCookie(cookie)
        }
        let session = URLSession(configuration: configuration)
        try await recording(session) { events in
            _ = try await session.data(from: server.url())
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            #expect(
                all.filter { $0.name == .cookieDecision }.map(\.attributes) == [
                    ["name": "there", "decision": "withheld", "reason": "it is for another path"]
                ])
            #expect(all.first { $0.name == .cookiesSent }?.attributes == ["count": "1"])
            for event in all { #expect(!"\(event) \(event.attributes)".contains("secret")) }
        }
    }

    // MISC-28, CONN-10: a kept connection that the server closes with the request
    @Test("a request that is sent again") func retry() async throws {
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if connection.index == 0, request.path == "/second" { return connection.reset() }
                try connection.send(.text("hello"), to: request)
            }
        }
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        _ = try await session.data(from: server.url("/first"))
        try await recording(session) { events in
            _ = try await session.data(from: server.url("/second"))
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            #expect(
                all.filter { $0.name == .transactionBegan }.map { $0.attributes["reason"] } == ["first", "retry"])
            #expect(all.filter { $0.name == .connection }.map { $0.attributes["reused"] } == ["true", "false"])
            let ends = all.filter { $0.name == .transactionEnded }
            #expect(ends.map { $0.attributes["http.response.status_code"] } == [nil, "200"])
        }
    }

    // MISC-28, AUTH-6, S-54
    @Test(
        "decisions about the trust in a server",
        arguments: [
            (.useCredential, nil, "useCredential"), (.performDefaultHandling, nil, "performDefaultHandling"),
            (.cancelAuthenticationChallenge, "-999", "cancelAuthenticationChallenge"),
        ] as [(URLSession.AuthChallengeDisposition, String?, String)])
    func trust(_ disposition: URLSession.AuthChallengeDisposition, _ error: String?, _ word: String) async throws {
        let server = try ScriptedServer.answering(.text("hello"), tls: TrustedAuthority.server())
        defer { server.stop() }
        let session = URLSession(
            configuration: .ephemeral, delegate: TrustDelegate(disposition), delegateQueue: nil)
        try await recording(session) { events in
            _ = try? await session.data(from: server.url())
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            let challenge = try #require(all.first { $0.name == .challenge })
            #expect(
                challenge.attributes == [
                    "method": NSURLAuthenticationMethodServerTrust, "server.address": server.url().host,
                    "server.port": "\(server.port)", "failures": "0",
                ])
            #expect(all.filter { $0.name == .challengeAnswered }.map(\.attributes) == [["disposition": word]])
            #expect(all.last?.attributes["error.type"] == error)
        }
    }

    // MISC-28
    @Test("a task that fails") func failure() async throws {
        let session = URLSession(configuration: .ephemeral)
        try await recording(session) { events in
            let server = try ScriptedServer.answering(.text("hello"))
            let url = server.url()
            server.stop()
            await #expect(throws: URLError.self) { try await session.data(from: url) }
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            let end = try #require(all.last)
            #expect(end.level == .warning)
            #expect(end.attributes["error.type"] == "-1004")
            #expect(end.message.hasPrefix("GET \(url.absoluteString): failed -1004, "))
            #expect(all.filter { $0.name == .transactionEnded }.map { $0.attributes["error.type"] } == ["-1004"])
            #expect(!all.contains { $0.name == .connection })
        }
    }

    // MISC-28, AUTH-9
    @Test("a challenge and its answer") func challenge() async throws {
        let server = try ScriptedServer.answering { request in
            if request["Authorization"] != nil { return .text("hello") }
            return .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
        }
        defer { server.stop() }
        let delegate = Answering()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        try await recording(session) { events in
            _ = try await session.data(from: server.url())
            let all = try await events.waitUntil("the end") { $0.last?.name == .taskEnded }
            #expect(
                all.filter { [.challenge, .challengeAnswered].contains($0.name) }.map(\.attributes) == [
                    [
                        "method": NSURLAuthenticationMethodHTTPBasic, "server.address": "127.0.0.1",
                        "server.port": "\(server.port)", "failures": "0",
                    ], ["disposition": "useCredential"],
                ])
            for event in all { #expect(!"\(event) \(event.attributes)".contains("secret")) }
        }
    }

    // MISC-28
    @Test("messages go to the handler that threads have set at once") func manySetters() async throws {
        let recorded = Watched(0)
        let handler: @Sendable (URLSessionEvent) -> Void = { _ in recorded.withValue { $0 += 1 } }
        defer { URLSession.eventHandler = nil }
        for round in 1...100 {
            let done = (0..<8).map { Signal("thread \($0)") }
            for (index, done) in done.enumerated() {
                Thread {
                    for turn in 0..<400 { URLSession.eventHandler = (index + turn) % 2 == 0 ? handler : nil }
                    done.fire()
                }.start()
            }
            for done in done { try await done.wait() }
            // The round counts if the handler was set last.
            if URLSession.eventHandler == nil { continue }
            let before = recorded.current
            StandardError.report("round \(round)")
            try await recorded.wait(for: "the message") { $0 > before ? true : nil }
        }
    }

    // MISC-28, C-36
    @Test("messages of stores go to the handler") func messages() async throws {
        let session = URLSession(configuration: .ephemeral)
        try await recording(session) { events in
            StandardError.report("a file\ncannot be written")
            let all = try await events.waitUntil("the message") { !$0.isEmpty }
            #expect(all.map(\.name) == [.message])
            #expect(all.map(\.message) == ["a file\\u{A}cannot be written"])
            #expect(all.first?.level == .error && all.first?.session == nil)
        }
    }

    // MISC-28
    @Test("a slow handler loses events, and gets their number") func slow() async throws {
        let delivery = EventDelivery()
        let (begun, mayGo) = (Signal("the first event"), Signal("the rest"))
        let events = EventRecorder<URLSessionEvent>()
        delivery.handler = { event in
            events.record(event)
            begun.fire()
            try? mayGo.wait()
        }
        delivery.add(URLSessionEvent(message: "0"))
        try await begun.wait()
        for number in 1...10_000 { delivery.add(URLSessionEvent(message: "\(number)")) }
        mayGo.fire()
        let all = try await events.waitUntil("the loss") { $0.last?.name == .eventsLost }
        #expect(all.count == 1 + 8192 + 1)
        #expect(all.last?.attributes == ["count": "1808"])
        #expect(all.dropLast().map(\.message) == (0...8192).map { "\($0)" })
        // It goes on.
        delivery.add(URLSessionEvent(message: "more"))
        _ = try await events.waitUntil("the next one") { $0.last?.message == "more" }
        // Without a handler nothing is kept.
        delivery.handler = nil
        #expect(!delivery.isWanted)
        delivery.add(URLSessionEvent(message: "unheard"))
        delivery.handler = { events.record($0) }
        delivery.add(URLSessionEvent(message: "heard"))
        let last = try await events.waitUntil("another handler") { $0.last?.message == "heard" }
        #expect(!last.contains { $0.message == "unheard" })
        delivery.handler = nil
    }

    // MISC-28
    @Test("a handler that is taken away gets no more events") func takenAway() async throws {
        let delivery = EventDelivery()
        defer { delivery.handler = nil }
        let (begun, mayGo) = (Signal("the first event"), Signal("the rest"))
        let before = EventRecorder<String>()
        delivery.handler = { event in
            if event.message == "0" {
                begun.fire()
                try? mayGo.wait()
            } else {
                delivery.handler = nil
            }
            before.record(event.message)
        }
        delivery.add(URLSessionEvent(message: "0"))
        try await begun.wait()
        for number in 1...3 { delivery.add(URLSessionEvent(message: "\(number)")) }
        mayGo.fire()
        _ = try await before.waitFor(count: 2)
        // All come on one queue.
        let after = EventRecorder<String>()
        delivery.handler = { after.record($0.message) }
        delivery.add(URLSessionEvent(message: "4"))
        #expect(try await after.waitFor(count: 1) == ["4"])
        #expect(before.events == ["0", "1"])
    }
}
