import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Proxy authentication, for requests and tunnels.
@Suite(.leavesNothing) struct ProxyChallengeTests {
    private func session(
        _ authProxy: ScriptedProxy, _ delegate: (any URLSessionDelegate)? = nil, _ more: [AnyHashable: Any] = [:],
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.connectionProxyDictionary = authProxy.settings(more)
        configure(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func secureServer() throws -> ScriptedServer {
        try .answering(tls: try TrustedAuthority.server()) { .text("in " + $0.target) }
    }

    private func delegate(
        _ answer:
            @escaping @Sendable (URLAuthenticationChallenge) -> (
                URLSession.AuthChallengeDisposition, URLCredential?
            )
    ) -> RecordingDelegate {
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            // Of the server behind it.
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            let (disposition, credential) = answer(challenge)
            reply(disposition, credential)
        }
        return delegate
    }

    private func load(_ session: URLSession, _ url: URL) async throws -> (text: String, status: Int) {
        let (data, response) = try await session.data(from: url)
        return (String(decoding: data, as: UTF8.self), (response as? HTTPURLResponse)?.statusCode ?? 0)
    }

    private func address(_ isTunnel: Bool, _ server: ScriptedServer, _ path: String = "/a") throws -> URL {
        isTunnel ? server.url(path, host: "localhost") : try #require(URL(string: "http://far.test" + path))
    }

    // AUTH-28, AUTH-8, AUTH-12, AUTH-14, PROXY-2, PROXY-11
    @Test("the delegate is asked, once", arguments: [false, true]) func asked(isTunnel: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let seen = EventRecorder<URLAuthenticationChallenge>()
        let delegate = delegate { challenge in
            seen.record(challenge)
            return (.useCredential, ScriptedProxy.basicAuth.credential)
        }
        let session = session(authProxy, delegate)
        let (url, other) = (try address(isTunnel, server), try address(isTunnel, server, "/b"))
        #expect(try await load(session, url).text == (isTunnel ? "in /a" : "for http://far.test/a"))
        #expect(try await load(session, other).status == 200)
        // A new connection: the proxy gets the credential at once.
        await session.flush()
        #expect(try await load(session, url).status == 200)
        session.finishTasksAndInvalidate()
        let challenge = try #require(seen.events.first)
        #expect(seen.count == 1)
        let space = challenge.protectionSpace
        let type = isTunnel ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy
        #expect(space == authProxy.space(type))
        #expect(space.isProxy() && space.proxyType == type && space.protocol == nil)
        #expect(space.realm == "r" && space.port == authProxy.server.port && space.host == "127.0.0.1")
        #expect(challenge.previousFailureCount == 0 && challenge.proposedCredential == nil)
        let refusal = try #require(challenge.failureResponse as? HTTPURLResponse)
        #expect(refusal.statusCode == 407 && refusal.url == url)
        let field = ScriptedProxy.basicAuth.field()
        if isTunnel {
            #expect(authProxy.authorizations == ["CONNECT -", "CONNECT \(field)", "CONNECT \(field)"])
            // The question and its answer over one connection.
            #expect(authProxy.server.connectionCount == 2)
            #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
        } else {
            #expect(authProxy.authorizations == ["GET -", "GET \(field)", "GET \(field)", "GET \(field)"])
            #expect(authProxy.server.connectionCount == 2)
        }
        _ = try await delegate.callsUntilInvalid()
    }

    // AUTH-9, AUTH-8
    @Test("after a rejection the challenge is repeated with a failure count", arguments: [false, true])
    func refusedAgain(isTunnel: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let seen = EventRecorder<String>()
        let delegate = delegate { challenge in
            seen.record("\(challenge.previousFailureCount) \(challenge.proposedCredential?.password ?? "-")")
            let passwords = ["wrong", "still wrong", "Circle of Life"]
            return (.useCredential, URLCredential("Mufasa", passwords[challenge.previousFailureCount]))
        }
        let session = session(authProxy, delegate)
        #expect(try await load(session, try address(isTunnel, server)).status == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(seen.events == ["0 -", "1 wrong", "2 still wrong"])
        #expect(authProxy.server.connectionCount == 1)
    }

    // AUTH-4, AUTH-6, AUTH-7, AUTH-28, AUTH-29, PROXY-10
    @Test("without a credential", arguments: [0, 1, 2, 3], [false, true])
    func without(disposition: Int, isTunnel: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let delegate = delegate { _ in
            (URLSession.AuthChallengeDisposition(rawValue: disposition) ?? .performDefaultHandling, nil)
        }
        let session = session(authProxy, delegate)
        let url = try address(isTunnel, server)
        if disposition == 2 {
            let error = await #expect(throws: URLError.self) { try await load(session, url) }
            #expect(error?.code == .cancelled)
        } else if isTunnel {
            let error = await #expect(throws: URLError.self) { try await load(session, url) }
            #expect(error?.code == .cannotConnectToHost)
            let cause = error?.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect(cause?.domain == "kCFErrorDomainCFNetwork" && cause?.code == 310)
        } else {
            let (text, status) = try await load(session, url)
            #expect(status == 407 && text == "who are you?")
        }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(delegate.calls.events.filter { if case .challenge = $0 { true } else { false } }.count == 1)
        #expect(authProxy.authorizations == [isTunnel ? "CONNECT -" : "GET -"])
        #expect(server.requests.isEmpty)
    }

    // AUTH-7, AUTH-11, AUTH-13, AUTH-32: without a delegate what the storage has is used
    @Test("the storage has the credential", arguments: [false, true], [false, true])
    func storage(isTunnel: Bool, isPlain: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let session = session(authProxy)
        let type = isTunnel && !isPlain ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy
        let method = isPlain ? NSURLAuthenticationMethodDefault : NSURLAuthenticationMethodHTTPBasic
        session.configuration.urlCredentialStorage?.setDefaultCredential(
            ScriptedProxy.basicAuth.credential, for: authProxy.space(type, method: method))
        defer { session.invalidateAndCancel() }
        #expect(try await load(session, try address(isTunnel, server)).status == 200)
        #expect(authProxy.authorizations.count == 2)
    }

    // AUTH-22
    @Test("accepted credentials are stored") func kept() async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let session = session(authProxy, delegate { _ in (.useCredential, ScriptedProxy.basicAuth.credential) })
        defer { session.invalidateAndCancel() }
        #expect(try await load(session, try address(true, server)).status == 200)
        let storage = try #require(session.configuration.urlCredentialStorage)
        #expect(
            storage.defaultCredential(for: authProxy.space(NSURLProtectionSpaceHTTPSProxy))
                == ScriptedProxy.basicAuth.credential)
        // What the caller takes out again is not said any more.
        storage.remove(ScriptedProxy.basicAuth.credential, for: authProxy.space(NSURLProtectionSpaceHTTPSProxy))
        await session.flush()
        _ = try await load(session, try address(true, server))
        #expect(authProxy.authorizations.suffix(2).first == "CONNECT -")
    }

    // PROXY-2: no challenge callback while they are accepted
    @Test("the settings' user is tried first", arguments: [false, true], [false, true])
    func settings(isTunnel: Bool, isRight: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let seen = EventRecorder<Int>()
        let delegate = delegate { challenge in
            seen.record(challenge.previousFailureCount)
            return (.useCredential, ScriptedProxy.basicAuth.credential)
        }
        let password = isRight ? "Circle of Life" : "wrong"
        let session = session(
            authProxy, delegate, [kCFProxyUsernameKey: "Mufasa", kCFProxyPasswordKey: password])
        #expect(try await load(session, try address(isTunnel, server)).status == 200)
        await session.flush()
        #expect(try await load(session, try address(isTunnel, server)).status == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(seen.events == (isRight ? [] : [0]))
        let method = isTunnel ? "CONNECT" : "GET"
        let right = "\(method) \(ScriptedProxy.basicAuth.field())"
        #expect(
            authProxy.authorizations
                == (isRight ? [right, right] : ["\(method) \(ScriptedProxy.basicAuth.field("wrong"))", right, right]))
    }

    // AUTH-18, AUTH-26, PROXY-2: also for the credentials of the settings, without a callback
    @Test("Digest", arguments: [false, true], [false, true])
    func digest(isTunnel: Bool, isOfSettings: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        var rules = DigestAuthResponder.Rules()
        rules.source = .proxy
        rules.algorithm = "SHA-256"
        let digest = DigestAuthResponder(rules)
        let authProxy = try ScriptedProxy(to: server) { digest.answer($0) }
        defer { authProxy.stop() }
        let session = session(
            authProxy,
            delegate { _ in
                isOfSettings
                    ? (.cancelAuthenticationChallenge, nil) : (.useCredential, ScriptedProxy.basicAuth.credential)
            },
            isOfSettings ? [kCFProxyUsernameKey: "Mufasa", kCFProxyPasswordKey: "Circle of Life"] : [:])
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            #expect(try await load(session, try address(isTunnel, server)).status == 200)
            if isTunnel { await session.flush() }
        }
        let target = isTunnel ? "localhost:\(server.port)" : "http://far.test/a"
        #expect(
            digest.verdicts.events == [
                "-", "\(target) 00000001 n1", "\(target) 00000002 n1", "\(target) 00000003 n1",
            ])
    }

    // AUTH-18
    @Test("a stale nonce is no refusal, and a proof that is wrong is one of the proxy", arguments: [false, true])
    func staleAndWrong(isTunnel: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        var rules = DigestAuthResponder.Rules()
        rules.source = .proxy
        rules.uses = 1
        let stale = DigestAuthResponder(rules)
        rules.uses = .max
        rules.proof = { _ in "0123" }
        let wrong = DigestAuthResponder(rules)
        for digest in [stale, wrong] {
            let authProxy = try ScriptedProxy(to: server) { digest.answer($0) }
            defer { authProxy.stop() }
            let seen = EventRecorder<Int>()
            let delegate = delegate { challenge in
                seen.record(challenge.previousFailureCount)
                return (.useCredential, ScriptedProxy.basicAuth.credential)
            }
            let session = session(authProxy, delegate)
            if digest === stale {
                #expect(try await load(session, try address(isTunnel, server)).status == 200)
                await session.flush()
                #expect(try await load(session, try address(isTunnel, server)).status == 200)
            } else {
                let url = try address(isTunnel, server)
                let error = await #expect(throws: URLError.self) { try await load(session, url) }
                #expect(error?.code == (isTunnel ? .cannotConnectToHost : .badServerResponse))
            }
            session.finishTasksAndInvalidate()
            _ = try await delegate.callsUntilInvalid()
            #expect(seen.events == [0])
        }
    }

    // PROXY-11: a server is no proxy, whatever it says
    @Test("a server that answers 407", arguments: [false, true]) func impostor(isTunnel: Bool) async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in ScriptedProxy.refusal }
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let count = Watched(0)
        let delegate = delegate { _ in
            count.withValue { $0 += 1 }
            return (.useCredential, ScriptedProxy.basicAuth.credential)
        }
        let session = session(authProxy, delegate) { if !isTunnel { $0.connectionProxyDictionary = [:] } }
        #expect(try await load(session, server.url(host: "localhost")).status == 407)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(count.current == (isTunnel ? 1 : 0))
        #expect(server.requests.count == 1)
        #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
    }

    // AUTH-28: the proxy asks, and then the server behind it
    @Test("both ask", arguments: [false, true]) func both(isTunnel: Bool) async throws {
        let inner = BasicAuthResponder(realm: "inner", user: "Simba", password: "Hakuna")
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { inner.answer($0) }
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { request in
            let answer = ScriptedProxy.answer(request)
            return answer.status == 407 || isTunnel ? answer : inner.answer(request)
        }
        defer { authProxy.stop() }
        let seen = EventRecorder<String>()
        let delegate = delegate { challenge in
            let space = challenge.protectionSpace
            seen.record("\(space.realm ?? "-") \(space.isProxy()) \(challenge.previousFailureCount)")
            return (.useCredential, space.isProxy() ? ScriptedProxy.basicAuth.credential : inner.credential)
        }
        let session = session(authProxy, delegate)
        #expect(try await load(session, try address(isTunnel, server)).status == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(seen.events == ["r true 0", "inner false 0"])
        if isTunnel {
            #expect(authProxy.server.requests.allSatisfy { $0["Authorization"] == nil })
            #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
        }
    }

    // AUTH-28: a proxy that closes behind its question is connected to anew
    @Test("a proxy that closes", arguments: [false, true]) func closes(isTunnel: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { request in
            var answer = ScriptedProxy.answer(request)
            if answer.status == 407 { answer.keepsAlive = false }
            return answer
        }
        defer { authProxy.stop() }
        let session = session(authProxy, delegate { _ in (.useCredential, ScriptedProxy.basicAuth.credential) })
        defer { session.invalidateAndCancel() }
        #expect(try await load(session, try address(isTunnel, server)).status == 200)
        #expect(authProxy.server.connectionCount == 2)
    }

    // AUTH-28, CONN-24: a slow delegate may answer after the connection was closed
    @Test("a late answer", arguments: ["stays", "closes", "sends"]) func late(what: String) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let gone = Signal()
        let proxy = try ScriptedServer { connection in
            let request = try connection.readRequest()
            if request["Proxy-Authorization"] == nil {
                try connection.send(ScriptedProxy.refusal, to: request)
                if what == "sends" { try connection.send("HTTP/1.1 200 OK\r\n\r\n") }
                if what == "closes" { try connection.finishSending() }
                gone.fire()
                if what != "stays" { return _ = try? connection.waitForClose() }
                _ = try connection.readRequest()
            }
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
        defer { proxy.stop() }
        let delegate = RecordingDelegate()
        let held = Watched<RecordingDelegate.ChallengeHandler?>(nil)
        delegate.challenge = { challenge, reply in
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            held.withValue { $0 = reply }
        }
        let stepped = try SteppedLoop()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.loop = stepped.loop
        configuration.connectionProxyDictionary = [
            "HTTPSEnable": 1, "HTTPSProxy": "127.0.0.1", "HTTPSPort": proxy.port, "ExceptionsList": ["<-loopback>"],
        ]
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        async let loaded = load(session, server.url("/a", host: "localhost")).text
        let reply = try await held.wait(for: "the question") { $0 }
        held.withValue { $0 = nil }
        try await gone.wait()
        // Beyond the time that silence may take.
        try await stepped.step(by: TimeLimits.seconds(1000))
        reply(.useCredential, ScriptedProxy.basicAuth.credential)
        #expect(try await loaded == "in /a")
        #expect(proxy.connectionCount == (what == "stays" ? 1 : 2))
    }

    // T-5, T-7, AUTH-28: in each state the end comes once, and the proxy's connection goes
    @Test("cancelled while asked", arguments: [false, true]) func cancelled(isTunnel: Bool) async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let held = Watched<RecordingDelegate.ChallengeHandler?>(nil)
        let delegate = RecordingDelegate()
        delegate.challenge = { _, reply in held.withValue { $0 = reply } }
        let session = session(authProxy, delegate)
        let task = session.dataTask(with: try address(isTunnel, server))
        task.resume()
        let reply = try await held.wait(for: "the question") { $0 }
        task.cancel()
        let calls = try await delegate.calls(untilCompletions: 1)
        #expect(calls.last == .completed(1, .cancelled))
        // Too late to have an effect.
        reply(.useCredential, ScriptedProxy.basicAuth.credential)
        // The response that asks is read, so its connection can be used again; one that waits for a tunnel
        // cannot.
        if isTunnel { _ = try await authProxy.server.connection(0).waitForEnd() }
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid().filter { if case .completed = $0 { true } else { false } }.count == 1
        )
        #expect(authProxy.authorizations.count == 1)
    }

    // AUTH-28, CONN-24: others that wait for the same connection are asked in their turn
    @Test("several tasks, the first of which is cancelled") func several() async throws {
        let server = try secureServer()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let asked = EventRecorder<Int>()
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            asked.record(0)
            if asked.count == 1 {
                reply(.cancelAuthenticationChallenge, nil)
            } else {
                reply(.useCredential, ScriptedProxy.basicAuth.credential)
            }
        }
        let session = session(authProxy, delegate)
        for index in 0..<4 { session.dataTask(with: try address(true, server, "/\(index)")).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        let errors = calls.compactMap { call -> Int? in
            if case .completed(_, let code) = call { code.map { $0.rawValue } ?? 0 } else { nil }
        }
        #expect(errors.sorted() == [-999, 0, 0, 0])
    }

    // AUTH-28: a proxy that rejects every credential, without a delegate
    @Test("endless questions end", arguments: ["same", "realms", "stale", "bomb", "huge"], [false, true])
    func hostile(what: String, isTunnel: Bool) async throws {
        let count = Watched(0)
        let proxy = try ScriptedServer { connection in
            do {
                while let request = try connection.nextRequest() {
                    let number = count.withValue { count in
                        count += 1
                        return count
                    }
                    var answer = CannedResponse.text("no", status: 407)
                    switch what {
                    case "realms":
                        answer = answer.with(field: "Proxy-Authenticate", "Basic realm=\"r\(number)\"")
                            .with(field: "Proxy-Authenticate", "Digest realm=\"r\(number)\", nonce=\"n\"")
                    case "stale":
                        answer = answer.with(
                            field: "Proxy-Authenticate", "Digest realm=\"r\", nonce=\"n\(number)\", stale=true")
                    case "bomb":
                        let many = (0..<500).map { "Basic realm=\"r\($0)\"" }.joined(separator: ", ")
                        answer = answer.with(field: "Proxy-Authenticate", many)
                    case "huge":
                        try connection.send(
                            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\n"
                                + "Transfer-Encoding: chunked\r\n\r\n")
                        while true { try connection.sendChunk([UInt8](repeating: 0, count: 65_536)) }
                    default: answer = answer.with(field: "Proxy-Authenticate", "Basic realm=\"r\"")
                    }
                    try connection.send(answer, to: request)
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { proxy.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 20
        var settings: [AnyHashable: Any] = [kCFProxyUsernameKey: "Mufasa", kCFProxyPasswordKey: "Circle of Life"]
        for name in ["HTTP", "HTTPS"] {
            settings["\(name)Enable"] = 1
            settings["\(name)Proxy"] = "127.0.0.1"
            settings["\(name)Port"] = proxy.port
        }
        configuration.connectionProxyDictionary = settings
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: isTunnel ? "https://far.test/" : "http://far.test/"))
        if isTunnel {
            let error = await #expect(throws: URLError.self) { try await load(session, url) }
            #expect(error?.code == .cannotConnectToHost)
            #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 310)
        } else if what == "huge" {
            // What would be the result has no end; it is read as it comes.
            let (bytes, response) = try await session.bytes(from: url)
            #expect((response as? HTTPURLResponse)?.statusCode == 407)
            bytes.task.cancel()
        } else {
            #expect(try await load(session, url).status == 407)
        }
        #expect(count.current <= 65)
    }

    // PROXY-11, R-10: what was said to a proxy, by whomever, is not said where no proxy is
    @Test("a redirect leads past the proxy", arguments: [true, false]) func redirectPast(isOfCaller: Bool) async throws
    {
        let server = try ScriptedServer.answering { .text("at " + $0.target) }
        defer { server.stop() }
        let authProxy = try ScriptedProxy { request in
            let answer = ScriptedProxy.answer(request)
            return answer.status == 200 ? .redirect(to: server.url("/b").absoluteString) : answer
        }
        defer { authProxy.stop() }
        let session = session(
            authProxy, delegate { _ in (.useCredential, ScriptedProxy.basicAuth.credential) },
            ["ExceptionsList": ["127.0.0.1"]])
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: try #require(URL(string: "http://far.test/a")))
        if isOfCaller { request.setValue(ScriptedProxy.basicAuth.field(), forHTTPHeaderField: "Proxy-Authorization") }
        #expect(try await session.data(for: request).0 == Data("at /b".utf8))
        let field = ScriptedProxy.basicAuth.field()
        #expect(authProxy.authorizations == (isOfCaller ? ["GET \(field)"] : ["GET -", "GET \(field)"]))
        #expect(server.requests.map { $0["Proxy-Authorization"] } == [nil])
    }
}
