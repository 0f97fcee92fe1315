import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Server trust challenges, over real TLS.
@Suite(.leavesNothing) struct ServerTrustTests {
    /// A server with an untrusted certificate.
    private func unknownServer() throws -> ScriptedServer {
        _ = try TrustedAuthority.authority
        return try .answering(.text("hello"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
    }

    private func trustedServer() throws -> ScriptedServer {
        try .answering(.text("hello"), tls: try TrustedAuthority.server())
    }

    /// Runs one load, and returns all callbacks.
    private func calls(
        _ server: ScriptedServer, _ delegate: any ChallengeLogging,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [String] {
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.log.queue = queue
        let session = URLSession(delegate, queue: queue, configure)
        session.dataTask(with: server.url(host: "localhost")).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.log.callsUntilInvalid()
        #expect(delegate.log.faults.events == [])
        return calls
    }

    private let success = ["1 response 200", "1 data hello", "1 metrics", "1 completed 0", "invalid"]

    private func failure(_ code: Int) -> [String] { ["1 metrics", "1 completed \(code)", "invalid"] }

    // S-49, S-54, S-55, AUTH-1, T-27: by implemented methods
    @Test("which delegate method gets the challenge") func whichDelegateMethodGetsTheChallenge() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let session = "the session is asked: ServerTrust of localhost"
        let task = "task 1 is asked: ServerTrust of localhost"
        let cases: [(any ChallengeLogging, [String])] = [
            (SessionLevelDelegate(.trusting()), [session]),
            (TaskLevelDelegate(.trusting()), [task]),
            (BothLevelsDelegate(.trusting()), [session]),
            (AsyncSessionLevelDelegate(.trusting()), [session]),
            (AsyncTaskLevelDelegate(.trusting()), [task]),
        ]
        for (delegate, asked) in cases {
            #expect(try await calls(server, delegate) == ["created 1"] + asked + success)
        }
        #expect(try await calls(server, UnaskedDelegate(.trusting())) == ["created 1"] + failure(-1202))
    }

    // AUTH-4, AUTH-6, AUTH-29, AUTH-30, TLS-4, TLS-6
    @Test(
        "each disposition",
        arguments: [
            (URLSession.AuthChallengeDisposition.useCredential, 0, -1202), (.performDefaultHandling, 0, -1202),
            (.cancelAuthenticationChallenge, -999, -999), (.rejectProtectionSpace, -1202, -1202),
        ])
    func eachDisposition(
        disposition: URLSession.AuthChallengeDisposition, whenTrusted: Int, whenUnknown: Int
    ) async throws {
        for (server, code) in [(try trustedServer(), whenTrusted), (try unknownServer(), whenUnknown)] {
            defer { server.stop() }
            // A password is no answer to this question, and a credential counts with `useCredential` only.
            for credential in [nil, URLCredential(user: "a", password: "b", persistence: .none)] {
                let delegate = SessionLevelDelegate(ChallengeLog(disposition, credential))
                #expect(
                    try await calls(server, delegate) == [
                        "created 1", "the session is asked: ServerTrust of localhost",
                    ] + (code == 0 ? success : failure(code)))
            }
        }
    }

    // AUTH-4: the credential is ignored
    @Test("a credential with another disposition") func aCredentialWithAnotherDisposition() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let log = ChallengeLog { challenge, reply in
            reply(.performDefaultHandling, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
        #expect(
            try await calls(server, SessionLevelDelegate(log)) == [
                "created 1", "the session is asked: ServerTrust of localhost",
            ] + failure(-1202))
    }

    // AUTH-30: trust in one server is no trust in another
    @Test("the trust of another certificate") func theTrustOfAnotherCertificate() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let other = try TestIdentity.selfSigned(.localhost).certificate.der
        let certificate = try #require(SecCertificateCreateWithData(nil, Data(other) as CFData))
        var trust: SecTrust?
        #expect(
            SecTrustCreateWithCertificates(certificate, SecPolicyCreateSSL(true, "localhost"), &trust) == errSecSuccess)
        let credential = URLCredential(trust: try #require(trust))
        #expect(
            try await calls(server, SessionLevelDelegate(ChallengeLog(.useCredential, credential))) == [
                "created 1", "the session is asked: ServerTrust of localhost",
            ] + failure(-1202))
    }

    // S-62: the first answer counts
    @Test("two answers") func twoAnswers() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let log = ChallengeLog { challenge, reply in
            reply(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
            reply(.cancelAuthenticationChallenge, nil)
            reply(.performDefaultHandling, nil)
        }
        #expect(
            try await calls(server, SessionLevelDelegate(log)) == [
                "created 1", "the session is asked: ServerTrust of localhost",
            ] + success)
    }

    // AUTH-2, AUTH-3: once for each connection, whether it resumes a session or not
    @Test("later connections", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func laterConnections(version: TLSServerOptions.Version) async throws {
        let options = try TLSServerOptions(TestIdentity.selfSigned(.localhost)).with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        let server = try ScriptedServer.answering(tls: options) { request in
            var response = CannedResponse.text("hello")
            response.keepsAlive = request.path != "/closing"
            return response
        }
        defer { server.stop() }
        let answers = Watched([true, true, false])
        let log = ChallengeLog { challenge, reply in
            let isTrusted = answers.withValue { $0.removeFirst() }
            let credential = challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) }
            isTrusted ? reply(.useCredential, credential) : reply(.performDefaultHandling, nil)
        }
        let session = URLSession(SessionLevelDelegate(log))
        for path in ["/", "/closing", "/closing", "/"] {
            let count = log.calls.count
            session.dataTask(with: server.url(path, host: "localhost")).resume()
            try await log.calls.waitUntil { calls in
                calls.dropFirst(count).contains { $0.contains("completed") }
            }
        }
        session.finishTasksAndInvalidate()
        let asked = "the session is asked: ServerTrust of localhost"
        #expect(
            try await log.callsUntilInvalid().filter { $0 == asked || $0.contains("completed") } == [
                asked, "1 completed 0", "2 completed 0", asked, "3 completed 0", asked, "4 completed -1202",
            ])
        var wereResumed: [Bool?] = []
        for connection in server.connections {
            wereResumed.append(try await connection.waitForHandshake()?.wasResumed)
        }
        #expect(wereResumed == [false, true, true])
    }

    // TLS-8: an override by one delegate does not count as an evaluation for others
    @Test("a trusted TLS session is not resumed without the delegate") func aSessionThatACallerTrusted() async throws {
        let options = try TLSServerOptions(TestIdentity.selfSigned(.localhost))
        let server = try ScriptedServer.answering(tls: options) { _ in
            var response = CannedResponse.text("hello")
            response.keepsAlive = false
            return response
        }
        defer { server.stop() }
        try await URLSession.using { session async throws in
            let url = server.url(host: "localhost")
            let delegate = TaskLevelDelegate(.trusting())
            #expect(try await session.data(from: url, delegate: delegate).0 == Data("hello".utf8))
            #expect(try await session.data(from: url, delegate: delegate).0 == Data("hello".utf8))
            let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
            #expect(error?.code == .serverCertificateUntrusted)
            let asked = "task 1 is asked: ServerTrust of localhost"
            #expect(
                delegate.log.calls.events.filter { $0.contains("asked") } == [
                    asked, "task 2 is asked: ServerTrust of localhost",
                ])
        }
        // The last one is over before the server has read the end of its handshake.
        #expect(server.connections.map { $0.handshake?.wasResumed }.prefix(2) == [false, true])
        #expect(server.connectionCount == 3)
    }

    // TLS-10, AUTH-30: it counts for a delegate whose trust is that of the evaluation
    @Test("a revocation that TLS 1.2 reports after the delegate's answer", arguments: [true, false])
    func aLateRevocation(evaluates: Bool) async throws {
        let server = try ScriptedServer.answering(.text("hello"), tls: try revokedServer(.tls12))
        defer { server.stop() }
        let log = ChallengeLog { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust else { return reply(.performDefaultHandling, nil) }
            if evaluates { #expect(SecTrustEvaluateWithError(trust, nil)) }
            reply(.useCredential, URLCredential(trust: trust))
        }
        #expect(
            try await calls(server, SessionLevelDelegate(log)) == [
                "created 1", "the session is asked: ServerTrust of localhost",
            ] + (evaluates ? failure(-1202) : success))
    }

    private func revokedServer(_ version: TLSServerOptions.Version) throws -> TLSServerOptions {
        let authority = try TrustedAuthority.authority
        return try TLSServerOptions(authority: authority).with {
            $0.ocspResponse = try authority.ocspResponse(for: $0.identity.certificate, status: .revoked)
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
    }

    // TLS-8, TLS-10
    @Test(
        "a TLS session is resumed with the stapled response of its first handshake",
        arguments: [TLSServerOptions.Version.tls12, .tls13])
    func resumedRevocation(version: TLSServerOptions.Version) async throws {
        let server = try ScriptedServer.answering(tls: try revokedServer(version)) { _ in
            var response = CannedResponse.text("hello")
            response.keepsAlive = false
            return response
        }
        defer { server.stop() }
        let verdicts = EventRecorder<Bool>()
        let log = ChallengeLog { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust else { return reply(.performDefaultHandling, nil) }
            verdicts.record(SecTrustEvaluateWithError(trust, nil))
            // A trust that has changed since does not count as evaluated.
            _ = SecTrustSetAnchorCertificates(trust, nil)
            reply(.useCredential, URLCredential(trust: trust))
        }
        try await URLSession.using { session async throws in
            let url = server.url(host: "localhost")
            for _ in 0..<2 { _ = try await session.data(from: url, delegate: TaskLevelDelegate(log)) }
            let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
            #expect(error?.code == .serverCertificateUntrusted)
        }
        #expect(verdicts.events == [version == .tls12, false])
        #expect(server.connections.map { $0.handshake?.wasResumed }.prefix(2) == [false, true])
    }

    // T-24: method by method, the task's own delegate before the session's
    @Test("a task's own delegate") func aTasksOwnDelegate() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let log = ChallengeLog.trusting()
        let url = server.url(host: "localhost")
        for (own, sessions, asked) in [
            (TaskLevelDelegate(log, name: "own"), TaskLevelDelegate(log), "own 1"),
            (TaskLevelDelegate(log, name: "own"), SessionLevelDelegate(log), "the session"),
            (SessionLevelDelegate(log), TaskLevelDelegate(log), "the session"),
            (UnaskedDelegate(log), TaskLevelDelegate(log), "task 1"),
        ] as [(any ChallengeLogging, any ChallengeLogging, String)] {
            let session = URLSession(sessions)
            let count = log.calls.count
            #expect(try await session.data(from: url, delegate: own).0 == Data("hello".utf8))
            session.finishTasksAndInvalidate()
            #expect(
                log.calls.events.dropFirst(count).filter { $0.contains("asked") }
                    == ["\(asked) is asked: ServerTrust of localhost"])
            try await log.calls.waitUntil { $0.count > count && $0.last == "invalid" }
        }
    }

    // T-46: completion handlers change nothing about challenges
    @Test("a task with a completion handler") func aTaskWithACompletionHandler() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let calls = EventRecorder<Call>()
        let delegate = SessionLevelDelegate(.trusting())
        let session = URLSession(delegate)
        session.dataTask(with: server.url(host: "localhost"), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("hello", 200, nil)])
        let refusing = SessionLevelDelegate(ChallengeLog(.cancelAuthenticationChallenge))
        let other = URLSession(refusing)
        other.dataTask(with: server.url(host: "localhost"), completionHandler: calls.handler).resume()
        // AUTH-6: neither data nor response
        #expect(try await calls.waitFor(count: 2).last == .handled(nil, nil, .cancelled))
        session.finishTasksAndInvalidate()
        other.finishTasksAndInvalidate()
        #expect(
            try await refusing.log.callsUntilInvalid() == [
                "created 1", "the session is asked: ServerTrust of localhost", "1 metrics", "invalid",
            ])
    }

    // CONN-15: silence is not counted while the caller thinks
    @Test("an answer that takes its time") func anAnswerThatTakesItsTime() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let answers = Watched<[@Sendable () -> Void]>([])
        let log = ChallengeLog { challenge, reply in
            let trust = challenge.protectionSpace.serverTrust
            answers.withValue { $0.append { reply(.useCredential, trust.map { URLCredential(trust: $0) }) } }
        }
        let stepped = try SteppedLoop()
        async let recorded = calls(server, SessionLevelDelegate(log)) { $0.loop = stepped.loop }
        let answer = try await answers.wait(for: "the question") { $0.first }
        answers.withValue { $0 = [] }
        try await stepped.step(by: TimeLimits.seconds(1000))
        answer()
        #expect(
            try await recorded == [
                "created 1", "the session is asked: ServerTrust of localhost",
            ] + success)
    }

    // C-6: the clock of the whole runs on
    @Test("an answer that never arrives before the timeout") func anAnswerThatNeverArrivesBeforeTheTimeout()
        async throws
    {
        let server = try unknownServer()
        defer { server.stop() }
        let replies = Watched<[ChallengeLog.Reply]>([])
        let log = ChallengeLog { _, reply in replies.withValue { $0.append(reply) } }
        let stepped = try SteppedLoop()
        async let recorded = calls(server, SessionLevelDelegate(log)) {
            $0.loop = stepped.loop
            $0.timeoutIntervalForResource = 100
        }
        try await replies.wait(for: "the question") { $0.first }
        try await stepped.step(by: TimeLimits.seconds(100))
        #expect(
            try await recorded == [
                "created 1", "the session is asked: ServerTrust of localhost",
            ] + failure(-1001))
        for reply in replies.current { reply(.performDefaultHandling, nil) }
        replies.withValue { $0 = [] }
        try await server.connection(0).waitUntilClosed()
    }

    // T-5: cancelled while the question is out; what is answered afterwards is dropped
    @Test(
        "cancelled while asked",
        arguments: [
            URLSession.AuthChallengeDisposition.useCredential, .performDefaultHandling, .cancelAuthenticationChallenge,
        ])
    func cancelledWhileAsked(late: URLSession.AuthChallengeDisposition) async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let replies = Watched<[ChallengeLog.Reply]>([])
        let log = ChallengeLog { _, reply in replies.withValue { $0.append(reply) } }
        let session = URLSession(SessionLevelDelegate(log))
        let task = session.dataTask(with: server.url(host: "localhost"))
        task.resume()
        let reply = try await replies.wait(for: "the question") { $0.first }
        task.cancel()
        session.finishTasksAndInvalidate()
        let calls = ["created 1", "the session is asked: ServerTrust of localhost"] + failure(-999)
        #expect(try await log.callsUntilInvalid() == calls)
        try await server.connection(0).waitUntilClosed()
        reply(late, nil)
        #expect(log.calls.events == calls)
    }

    // CONN-1, S-49: if a task is cancelled, another one that waits for the connection gets the challenge
    @Test("another task in the line", arguments: [true, false])
    func anotherTaskInTheLine(isCancelledByAnswer: Bool) async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let replies = Watched<[ChallengeLog.Reply]>([])
        let log = ChallengeLog { challenge, reply in
            let isFirst = replies.withValue {
                $0.append(reply)
                return $0.count == 1
            }
            if !isFirst {
                reply(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
            }
        }
        let session = URLSession(TaskLevelDelegate(log)) { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = (0..<2).map { _ in session.dataTask(with: server.url(host: "localhost")) }
        for task in tasks { task.resume() }
        let reply = try await replies.wait(for: "the first question") { $0.first }
        if isCancelledByAnswer { reply(.cancelAuthenticationChallenge, nil) } else { tasks[0].cancel() }
        session.finishTasksAndInvalidate()
        let calls = try await log.callsUntilInvalid()
        #expect(
            calls.filter { !$0.hasPrefix("2") && !$0.hasPrefix("task 2") } == [
                "created 1", "created 2", "task 1 is asked: ServerTrust of localhost", "1 metrics", "1 completed -999",
                "invalid",
            ])
        #expect(
            calls.filter { $0.hasPrefix("2") || $0.hasPrefix("task 2") } == [
                "task 2 is asked: ServerTrust of localhost", "2 response 200", "2 data hello", "2 metrics",
                "2 completed 0",
            ])
        #expect(server.connections.count == 1)
        reply(.performDefaultHandling, nil)
    }

    // T-2: a task that is suspended leaves the line, and is asked anew about the connection that is made when it goes
    // on
    @Test("suspended while asked") func suspendedWhileAsked() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let replies = Watched<[ChallengeLog.Reply]>([])
        let log = ChallengeLog { challenge, reply in
            let isFirst = replies.withValue {
                $0.append(reply)
                return $0.count == 1
            }
            if !isFirst {
                reply(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
            }
        }
        let session = URLSession(SessionLevelDelegate(log))
        let task = session.dataTask(with: server.url(host: "localhost"))
        task.resume()
        let reply = try await replies.wait(for: "the question") { $0.first }
        task.suspend()
        try await server.connection(0).waitUntilClosed()
        reply(.cancelAuthenticationChallenge, nil)
        session.finishTasksAndInvalidate()
        // A cancelling answer ends the task even if the challenge was withdrawn.
        #expect(
            try await log.callsUntilInvalid() == ["created 1", "the session is asked: ServerTrust of localhost"]
                + failure(-999))
    }

    // AUTH-12, S-49
    @Test("the contents of a challenge") func theContentsOfAChallenge() async throws {
        let authority = try TestCertificateAuthority()
        let server = try ScriptedServer.answering(
            .text("hello"), tls: TLSServerOptions(authority: authority.intermediate()))
        defer { server.stop() }
        let spaces = EventRecorder<URLProtectionSpace>()
        let log = ChallengeLog { challenge, reply in
            spaces.record(challenge.protectionSpace)
            reply(.performDefaultHandling, nil)
        }
        _ = try await calls(server, SessionLevelDelegate(log))
        let space = try #require(spaces.events.first)
        #expect(space.port == server.port)
        #expect(space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
        #expect(space.receivesCredentialSecurely)
        #expect(space.distinguishedNames == nil)
        #expect(space.proxyType == nil)
        let trust = try #require(space.serverTrust)
        let chain = try #require(SecTrustCopyCertificateChain(trust) as? [SecCertificate])
        #expect(chain.count == 2)
    }

    // TLS-5, ERR-14: the certificates of a failure
    @Test("the server's certificates in an error") func theServersCertificatesInAnError() async throws {
        let identity = try TestIdentity.selfSigned(.localhost)
        let server = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(identity))
        defer { server.stop() }
        let delegate = UnaskedDelegate(ChallengeLog(.performDefaultHandling))
        _ = try await calls(server, delegate)
        let error = try #require(delegate.log.errors.events.first)
        let trust = try #require(error.failureURLPeerTrust)
        #expect(!SecTrustEvaluateWithError(trust, nil))
        let leaf = try #require(SecTrustGetCertificateAtIndex(trust, 0))
        #expect(SecCertificateCopyData(leaf) as Data == Data(identity.certificate.der))
        #expect(error.userInfo["NSErrorPeerCertificateChainKey"] as? [SecCertificate] == [leaf])
        #expect(URLError(.cancelled).failureURLPeerTrust == nil)
    }

    // TLS-5, TLS-10
    @Test("the server's stapled response in an error") func theServersStapledResponseInAnError() async throws {
        let authority = try TestCertificateAuthority()
        let options = try TLSServerOptions(authority.issue(.localhost)).with {
            $0.ocspResponse = try authority.ocspResponse(for: $0.identity.certificate, status: .good)
        }
        let server = try ScriptedServer.answering(.text("hello"), tls: options)
        defer { server.stop() }
        let delegate = UnaskedDelegate(ChallengeLog(.performDefaultHandling))
        _ = try await calls(server, delegate)
        let trust = try #require(delegate.log.errors.events.first?.failureURLPeerTrust)
        let root = try #require(SecCertificateCreateWithData(nil, Data(authority.root.der) as CFData))
        let required = try #require(SecPolicyCreateRevocation(kSecRevocationRequirePositiveResponse))
        #expect(SecTrustSetAnchorCertificates(trust, [root] as CFArray) == errSecSuccess)
        #expect(
            SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "localhost"), required] as CFArray) == errSecSuccess)
        #expect(SecTrustEvaluateWithError(trust, nil))
    }

    // AUTH-2
    @Test("many tasks at once, each connection once") func manyTasksAtOnce() async throws {
        let server = try unknownServer()
        defer { server.stop() }
        let delegate = SessionLevelDelegate(.trusting())
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 4 }
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<100 { group.addTask { try await session.data(from: server.url(host: "localhost")).0 } }
            for try await data in group { #expect(data == Data("hello".utf8)) }
        }
        session.finishTasksAndInvalidate()
        let asked = try await delegate.log.callsUntilInvalid().count { $0.contains("asked") }
        // An attempt without waiting tasks is abandoned, possibly before its challenge.
        let used = server.connections.count { !$0.requests.isEmpty }
        #expect(used <= asked)
        #expect(asked <= server.connections.count)
        #expect(used <= 4)
    }
}
