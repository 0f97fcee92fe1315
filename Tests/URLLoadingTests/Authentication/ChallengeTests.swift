import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// HTTP authentication challenges: complete lists of callbacks, and requests on the wire.
@Suite(.leavesNothing) struct ChallengeTests {
    private let basicAuth = BasicAuthResponder()

    private func server() throws -> ScriptedServer {
        let basicAuth = basicAuth
        return try ScriptedServer.answering { basicAuth.answer($0) }
    }

    /// The callbacks of one task, which must be on the delegate queue.
    private func calls(
        _ delegate: RecordingDelegate, _ request: URLRequest, _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> (calls: [Call], task: URLSessionTask) {
        let queue = OperationQueue(name: "delegate", width: 1)
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue, configure)
        let task = session.dataTask(with: request)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return (calls, task)
    }

    // S-52, T-35, AUTH-4, AUTH-8, AUTH-12, AUTH-17, T-13, MET-15
    @Test("an answered challenge is not delivered as a response") func anAnsweredChallengeIsNotAResponse() async throws
    {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let seen = EventRecorder<URLAuthenticationChallenge>()
        let responses = EventRecorder<Bool>()
        let credential = basicAuth.credential
        delegate.during = { call, _, task in
            if case .challenge = call { responses.record(task?.response == nil) }
        }
        delegate.challenge = { challenge, handler in
            seen.record(challenge)
            handler(.useCredential, credential)
        }
        let (calls, task) = try await calls(delegate, URLRequest(url: server.url("/a")))
        #expect(
            calls == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 200), .data(1, "GET /a "), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(responses.events == [true])
        let challenge = try #require(seen.events.first)
        #expect(challenge.protectionSpace == basicAuth.space(server))
        #expect(challenge.protectionSpace.isProxy() == false)
        #expect(challenge.protectionSpace.receivesCredentialSecurely == false)
        #expect(challenge.proposedCredential == nil)
        #expect(challenge.error == nil)
        // AUTH-8: programs call it beside the handler.
        challenge.sender?.cancel(challenge)
        #expect(challenge.sender != nil)
        let refusal = try #require(challenge.failureResponse as? HTTPURLResponse)
        #expect(refusal.statusCode == 401)
        #expect(refusal.url == server.url("/a"))
        #expect(refusal.value(forHTTPHeaderField: "WWW-Authenticate") == "Basic realm=\"r\"")
        // The request goes out again as it was, over the same connection.
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.target) == ["/a", "/a"])
        #expect(server.requests[1].fields.filter { $0.name != "Authorization" } == server.requests[0].fields)
        #expect(server.requests[1].values(of: "Authorization") == [basicAuth.field()])
        // Neither request of the task knows the password.
        #expect(task.currentRequest == URLRequest(url: server.url("/a")))
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.redirectCount == 0)
        #expect(metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode } == [401, 200])
        #expect(metrics.transactionMetrics.map(\.isReusedConnection) == [false, true])
        #expect(metrics.transactionMetrics.map(\.request.allHTTPHeaderFields) == [nil, nil])
    }

    // AUTH-9, AUTH-8: the refused one is shown again
    @Test("after a rejection the challenge is repeated with a failure count")
    func afterARejectionTheChallengeIsRepeatedWithAFailureCount() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let proposals = EventRecorder<String>()
        delegate.challenge = { challenge, handler in
            let proposal = challenge.proposedCredential
            proposals.record("\(proposal?.user ?? "-") \(proposal?.password ?? "-")")
            let passwords = ["wrong", "still wrong", "Circle of Life"]
            handler(.useCredential, URLCredential("Mufasa", passwords[challenge.previousFailureCount]))
        }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url()))
        #expect(
            calls == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .challenge(1, "HTTPBasic r", 1),
                .challenge(1, "HTTPBasic r", 2), .response(1, 200), .data(1, "GET / "), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(proposals.events == ["- -", "Mufasa wrong", "Mufasa still wrong"])
        #expect(
            server.authorizations == [
                "/ -", "/ \(basicAuth.field("wrong"))", "/ \(basicAuth.field("still wrong"))", "/ \(basicAuth.field())",
            ])
        #expect(server.connectionCount == 1)
    }

    // T-36, AUTH-4, AUTH-7, AUTH-29: a credential counts only with its disposition
    @Test(
        "without a credential the question is the result",
        arguments: [
            (.performDefaultHandling, true), (.useCredential, false), (.rejectProtectionSpace, true),
        ] as [(URLSession.AuthChallengeDisposition, Bool)])
    func withoutACredentialTheQuestionIsTheResult(
        disposition: URLSession.AuthChallengeDisposition, hasCredential: Bool
    ) async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = hasCredential ? basicAuth.credential : nil
        delegate.challenge = { _, handler in handler(disposition, credential) }
        let (calls, task) = try await calls(delegate, URLRequest(url: server.url()))
        #expect(
            calls == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 401), .data(1, "who are you?"),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.authorizations == ["/ -"])
        #expect((task.response as? HTTPURLResponse)?.statusCode == 401)
        #expect(delegate.metrics.events.first?.transactionMetrics.count == 1)
    }

    // T-37, AUTH-6, ERR-11
    @Test("cancelling the challenge cancels the task") func cancellingTheChallengeCancelsTheTask() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.cancelAuthenticationChallenge, nil) }
        let (calls, task) = try await calls(delegate, URLRequest(url: server.url()))
        #expect(
            calls == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(task.response == nil)
    }

    // AUTH-5, AUTH-15, AUTH-16: the strongest first, unknown ones never
    @Test("a rejected space makes way for the next") func aRejectedSpaceMakesWayForTheNext() async throws {
        let basicAuth = basicAuth
        let server = try ScriptedServer.answering { request in
            var answer = basicAuth.answer(request)
            if answer.status == 401 {
                answer.fields = [
                    .init("WWW-Authenticate", "PrivateToken challenge=\"x\", Basic realm=\"r\", Basic realm=\"s\""),
                    .init("WWW-Authenticate", "Digest realm=\"d\", nonce=\"n\", qop=\"auth\""),
                ]
            }
            return answer
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, handler in
            if challenge.protectionSpace.realm == "s" {
                let password = challenge.previousFailureCount == 0 ? "wrong" : basicAuth.password
                handler(.useCredential, URLCredential(basicAuth.user, password))
            } else {
                handler(.rejectProtectionSpace, nil)
            }
        }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url()))
        #expect(
            calls == [
                .created(1), .challenge(1, "HTTPDigest d", 0), .challenge(1, "HTTPBasic r", 0),
                .challenge(1, "HTTPBasic s", 0),
                // What was rejected once is not asked for again.
                .challenge(1, "HTTPBasic s", 1), .response(1, 200), .data(1, "GET / "), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // AUTH-15, AUTH-34, AUTH-36
    @Test(
        "a challenge that cannot be answered is not issued",
        arguments: [nil, "", "Unknown realm=\"r\"", "Digest realm=\"r\"", "PrivateToken challenge=\"x\"", ",,\"="])
    func unsupportedSchemesAreNotChallenged(field: String?) async throws {
        var refusal = CannedResponse.text("no", status: 401)
        if let field { refusal = refusal.with(field: "WWW-Authenticate", field) }
        let server = try ScriptedServer.answering(refusal)
        defer { server.stop() }
        let (calls, _) = try await calls(RecordingDelegate(), URLRequest(url: server.url()))
        #expect(
            calls == [
                .created(1), .response(1, 401), .data(1, "no"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // AUTH-1, S-54, S-56: the session-level method is for connections; without the task-level method there is no
    // callback
    @Test("a session-level method is not asked") func aSessionLevelMethodIsNotAsked() async throws {
        final class SessionLevel: NSObject, URLSessionDataDelegate {
            let asked = EventRecorder<String>()

            func urlSession(
                _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                asked.record(challenge.protectionSpace.summary)
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
        }
        let server = try server()
        defer { server.stop() }
        let delegate = SessionLevel()
        let session = URLSession(delegate)
        defer { session.invalidateAndCancel() }
        let (_, response) = try await session.data(from: server.url())
        #expect((response as? HTTPURLResponse)?.statusCode == 401)
        #expect(delegate.asked.events == [])
    }

    // T-24, S-56: the task's own delegate in the async spelling, the session's where that has none
    @Test("a task's own delegate is asked first", arguments: [true, false])
    func aTasksOwnDelegateIsAskedFirst(hasMethod: Bool) async throws {
        final class Own: NSObject, URLSessionTaskDelegate {
            let credential: URLCredential
            init(_ credential: URLCredential) { self.credential = credential }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
            ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
                await Task.yield()
                return (.useCredential, credential)
            }
        }
        final class Silent: NSObject, URLSessionTaskDelegate {}
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in Thread { handler(.useCredential, credential) }.start() }
        let session = URLSession(delegate)
        let own: any URLSessionTaskDelegate = hasMethod ? Own(credential) : Silent()
        let (data, _) = try await session.data(from: server.url(), delegate: own)
        #expect(String(decoding: data, as: UTF8.self) == "GET / ")
        session.finishTasksAndInvalidate()
        let asked: [Call] = hasMethod ? [] : [.challenge(1, "HTTPBasic r", 0)]
        #expect(try await delegate.callsUntilInvalid() == [.created(1)] + asked + [.metrics(1), .invalid])
    }

    // T-47, AUTH-1
    @Test("a task with a handler asks too") func aTaskWithAHandlerAsksToo() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate)
        session.dataTask(with: server.url(), completionHandler: delegate.calls.handler).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .handled("GET / ", 200, nil), .invalid,
            ])
    }

    // AUTH-6
    @Test("a completion handler gets the error of a cancelled challenge")
    func aCompletionHandlerGetsTheErrorOfACancelledChallenge() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.cancelAuthenticationChallenge, nil) }
        let session = URLSession(delegate)
        session.dataTask(with: server.url(), completionHandler: delegate.calls.handler).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .handled(nil, nil, .cancelled), .invalid,
            ])
    }

    // T-29, T-35: the progress of what was sent is reported again
    @Test("a body of data is sent again") func aBodyOfDataIsSentAgain() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data("abc".utf8)
        }
        let (calls, task) = try await calls(delegate, request)
        #expect(
            calls == [
                .created(1), .sent(1, 3, 3), .challenge(1, "HTTPBasic r", 0), .sent(1, 3, 3), .response(1, 200),
                .data(1, "POST / abc"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.requests.map(\.bodyText) == ["abc", "abc"])
        #expect(task.countOfBytesSent == 3)
        #expect(server.connectionCount == 1)
    }

    // R-9, R-11, AUTH-12: each origin has to ask for itself
    @Test("no credentials are sent to another origin") func noCredentialsAreSentToAnotherOrigin() async throws {
        let basicAuth = basicAuth
        let other = try ScriptedServer.answering { basicAuth.answer($0) }
        defer { other.stop() }
        let there = other.url("/there").absoluteString
        let server = try ScriptedServer.answering { request in
            basicAuth.answer(request).status == 200 ? .redirect(to: there) : basicAuth.refusal
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let asked = EventRecorder<Int>()
        delegate.challenge = { challenge, handler in
            asked.record(challenge.protectionSpace.port)
            handler(.useCredential, basicAuth.credential)
        }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url("/here")))
        #expect(
            calls == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .redirect(1, 302), .challenge(1, "HTTPBasic r", 0),
                .response(1, 200), .data(1, "GET /there "), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(asked.events == [server.port, other.port])
        #expect(server.authorizations == ["/here -", "/here \(basicAuth.field())"])
        #expect(other.authorizations == ["/there -", "/there \(basicAuth.field())"])
        #expect(delegate.metrics.events.first?.redirectCount == 1)
        #expect(
            delegate.metrics.events.first?.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
                == [401, 302, 401, 200])
    }

    // T-35: files are for the last response alone
    @Test("a download is asked too") func aDownloadIsAskedToo() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate)
        let (file, response) = try await session.download(from: server.url("/file"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == "GET /file ")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .invalid,
            ])
    }

    // T-36: a question of any size is delivered whole when it is the result
    @Test("a long challenge is complete", arguments: [100, 70_000, 3_000_000])
    func aLongQuestionIsWhole(size: Int) async throws {
        let bytes = [UInt8].pattern(count: size)
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(bytes, status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\""))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in Thread { handler(.performDefaultHandling, nil) }.start() }
        let session = URLSession(delegate)
        let (data, _) = try await session.data(from: server.url())
        #expect(data == Data(bytes))
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // R-23: what is left of the question is waited for, if it is little
    @Test("the connection is kept while a challenge arrives slowly")
    func theConnectionIsKeptWhileAChallengeArrivesSlowly()
        async throws
    {
        let basicAuth = basicAuth
        let answered = Signal("the answer")
        let server = try ScriptedServer.answering { request in
            basicAuth.answer(request).status == 200 ? .text("in") : basicAuth.refusal.bodyHeld(until: answered)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in
            handler(.useCredential, basicAuth.credential)
            answered.fire()
        }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url()))
        #expect(calls.suffix(4) == [.data(1, "in"), .metrics(1), .completed(1, nil), .invalid])
        #expect(server.connectionCount == 1)
    }

    // R-23: and what is much is not
    @Test("a challenge with an endless body is cancelled") func aChallengeWithAnEndlessBody() async throws {
        let basicAuth = basicAuth
        let server = try ScriptedServer.answering { request in
            if basicAuth.answer(request).status == 200 { return .text("in") }
            var refusal = CannedResponse.endless
            refusal.status = 401
            return refusal.with(field: "WWW-Authenticate", "Basic realm=\"r\"")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.useCredential, basicAuth.credential) }
        let (calls, _) = try await calls(delegate, URLRequest(url: server.url()))
        #expect(calls.suffix(4) == [.data(1, "in"), .metrics(1), .completed(1, nil), .invalid])
        #expect(server.connectionCount == 2)
    }
}

/// Negotiate and NTLM without credentials in the system's library.
@Suite(.leavesNothing) struct ConnectionChallengeTests {
    private static let hasLibrary: Bool = {
        guard let library = dlopen("libgssapi_krb5.so.2", RTLD_NOW) else { return false }
        dlclose(library)
        return true
    }()

    // S-54, S-55, AUTH-5, AUTH-20: on the session's level, or on the task's; unknown without the library
    @Test(
        "Negotiate without a ticket",
        arguments: [URLSession.AuthChallengeDisposition.rejectProtectionSpace, .useCredential, .performDefaultHandling])
    func negotiateWithoutATicket(disposition: URLSession.AuthChallengeDisposition) async throws {
        let basicAuth = BasicAuthResponder()
        let server = try ScriptedServer.answering { request in
            var answer = basicAuth.answer(request)
            if answer.status == 401 { answer = answer.with(field: "WWW-Authenticate", "Negotiate") }
            return answer
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, handler in
            if challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodNegotiate {
                handler(disposition, nil)
            } else {
                handler(.useCredential, basicAuth.credential)
            }
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let negotiate: [Call] = Self.hasLibrary ? [.challenge(1, "Negotiate", 0)] : []
        let goesOn = disposition == .rejectProtectionSpace || !Self.hasLibrary
        let end: [Call] =
            goesOn
            ? [.challenge(1, "HTTPBasic r", 0), .response(1, 200), .data(1, "GET / ")]
            : [.response(1, 401), .data(1, "who are you?")]
        #expect(
            try await delegate.callsUntilInvalid()
                == [.created(1)] + negotiate + end + [.metrics(1), .completed(1, nil), .invalid])
        #expect(server.connectionCount == 1)
    }

    // AUTH-7: what is known of the weaker schemes serves without a question
    @Test("by default the next scheme is tried quietly") func byDefaultTheNextSchemeIsTriedQuietly() async throws {
        let basicAuth = BasicAuthResponder()
        let server = try ScriptedServer.answering { request in
            var answer = basicAuth.answer(request)
            if answer.status == 401 {
                answer = answer.with(field: "WWW-Authenticate", "NTLM").with(field: "WWW-Authenticate", "Negotiate")
            }
            return answer
        }
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(basicAuth.credential, for: basicAuth.space(server))
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        let (_, response) = try await session.data(from: server.url())
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(server.authorizations == ["/ -", "/ \(basicAuth.field())"])
    }
}
