import Foundation
import TestSupport
import Testing
import URLLoading

/// Credentials from the storage, the URL and the session's memory.
@Suite(.leavesNothing) struct CredentialLookupTests {
    private let basicAuth = BasicAuthResponder()

    private func server() throws -> ScriptedServer {
        let basicAuth = basicAuth
        return try ScriptedServer.answering { basicAuth.answer($0) }
    }

    private func status(_ session: URLSession, _ url: URL) async throws -> Int? {
        let (_, response) = try await session.data(from: url)
        return (response as? HTTPURLResponse)?.statusCode
    }

    // AUTH-7, AUTH-11, AUTH-13, S-16: without a delegate what is known is used
    @Test(
        "the storage's default credential is used",
        arguments: [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodDefault])
    func theStoragesDefaultCredentialIsUsed(method: String) async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(basicAuth.credential, for: basicAuth.space(server, method: method))
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 200)
        #expect(server.authorizations == ["/ -", "/ \(basicAuth.field())"])
    }

    // AUTH-7: one that is not the default, or of another space, is none
    @Test("other credentials are not") func otherCredentialsAreNot() async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        let other = BasicAuthResponder(user: "other")
        storage.set(other.credential, for: basicAuth.space(server))
        storage.set(basicAuth.credential, for: basicAuth.space(server))
        storage.setDefaultCredential(basicAuth.credential, for: BasicAuthResponder(realm: "other").space(server))
        storage.setDefaultCredential(
            basicAuth.credential, for: basicAuth.space(server, method: NSURLAuthenticationMethodHTTPDigest))
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 401)
        #expect(server.authorizations == ["/ -", "/ \(other.field())"])
    }

    // AUTH-22; beyond AUTH-12, a challenge that names no realm is one of the host's; what was stored without a realm
    // counts too
    @Test("a challenge without a realm", arguments: ["127.0.0.1", nil, "other"])
    func aChallengeWithoutARealm(realm: String?) async throws {
        let basicAuth = basicAuth
        let server = try ScriptedServer.answering { request in
            request["Authorization"] == basicAuth.field()
                ? .text("in") : CannedResponse.text("who?", status: 401).with(field: "WWW-Authenticate", "Basic")
        }
        defer { server.stop() }
        func space(_ realm: String?) -> URLProtectionSpace {
            URLProtectionSpace(
                host: "127.0.0.1", port: server.port, protocol: NSURLProtectionSpaceHTTP, realm: realm,
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        }
        let storage = URLCredentialStorage()
        storage.set(basicAuth.credential, for: space(realm))
        let session = URLSession { $0.urlCredentialStorage = storage }
        #expect(try await status(session, server.url()) == (realm == "other" ? 401 : 200))
        session.invalidateAndCancel()

        let accepting = URLCredentialStorage()
        let delegate = RecordingDelegate()
        delegate.challenge = { $1(.useCredential, basicAuth.credential) }
        let asking = URLSession(delegate) { $0.urlCredentialStorage = accepting }
        asking.dataTask(with: server.url()).resume()
        asking.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic 127.0.0.1", 0), .response(1, 200), .data(1, "in"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(accepting.allCredentials == [space("127.0.0.1"): ["Mufasa": basicAuth.credential]])
    }

    private func url(_ server: ScriptedServer, _ user: String, _ path: String = "/") throws -> URL {
        try #require(URL(string: "http://\(user)@127.0.0.1:\(server.port)\(path)"))
    }

    // AUTH-7, AUTH-11, AUTH-8: a name alone is a hint
    @Test(
        "the address's credential is used",
        arguments: [
            ("Mufasa:Circle%20of%20Life", 200, 2), ("Mufasa:wrong", 401, 2), ("Mufasa", 401, 1),
        ])
    func theAddressesCredentialIsUsed(user: String, status: Int, requests: Int) async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        #expect(try await self.status(session, url(server, user)) == status)
        #expect(server.requests.count == requests)
        #expect(server.authorizations.first == "/ -")
    }

    // AUTH-11: the delegate is shown what would be used, the storage's before the address's
    @Test("a delegate is called in spite of a stored credential") func aDelegateIsCalledInSpiteOfAStoredCredential()
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(basicAuth.credential, for: basicAuth.space(server))
        let proposals = EventRecorder<String>()
        for (url, hasStorage) in [
            (try url(server, "A:b"), true), (try url(server, "A:b"), false), (try url(server, "A"), false),
        ] {
            let delegate = RecordingDelegate()
            delegate.challenge = { challenge, handler in
                let proposal = challenge.proposedCredential
                proposals.record("\(proposal?.user ?? "-") \(proposal?.hasPassword == true)")
                handler(.performDefaultHandling, nil)
            }
            let session = URLSession(delegate) { $0.urlCredentialStorage = hasStorage ? storage : nil }
            session.dataTask(with: url).resume()
            session.finishTasksAndInvalidate()
            let calls = try await delegate.callsUntilInvalid()
            #expect(
                calls.first { if case .response = $0 { true } else { false } } == .response(1, hasStorage ? 200 : 401))
        }
        // The address's is refused and shown again; what failed once is not tried again by itself (AUTH-10).
        #expect(proposals.events == ["Mufasa true", "A true", "A true", "A false"])
    }

    // AUTH-32
    @Test("without a storage the challenge is the result at once") func withoutAStorageTheChallengeIsTheResultAtOnce()
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { $0.urlCredentialStorage = nil }
        defer { session.invalidateAndCancel() }
        let handled = EventRecorder<Call>()
        session.dataTask(with: server.url(), completionHandler: handled.handler).resume()
        #expect(
            try await handled.waitUntil("the answer") { !$0.isEmpty } == [.handled("who are you?", 401, nil)])
    }

    // AUTH-22, AUTH-26: RFC 7617 §2.2
    @Test("accepted once, a credential is sent unasked below the same directory")
    func acceptedOnceACredentialIsSentUnasked() async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate) { $0.urlCredentialStorage = storage }
        for path in ["/a/b", "/a/c", "/a/d/e?x", "/b", "/a/../b"] {
            #expect(try await status(session, server.url(path)) == 200)
        }
        session.finishTasksAndInvalidate()
        let field = basicAuth.field()
        #expect(
            server.authorizations == [
                "/a/b -", "/a/b \(field)", "/a/c \(field)", "/a/d/e \(field)", "/b -", "/b \(field)",
                // Which lies elsewhere than it says.
                "/a/../b -", "/a/../b \(field)",
            ])
        #expect(storage.allCredentials == [basicAuth.space(server): ["Mufasa": credential]])
        #expect(storage.defaultCredential(for: basicAuth.space(server)) == credential)
        _ = try await delegate.callsUntilInvalid()
        #expect(
            delegate.calls.events.filter { if case .challenge = $0 { true } else { false } } == [
                .challenge(1, "HTTPBasic r", 0), .challenge(4, "HTTPBasic r", 0), .challenge(5, "HTTPBasic r", 0),
            ])
    }

    // AUTH-22, AUTH-26, T-62
    @Test("with a known credential the callbacks are those of a task without a challenge")
    func aKnownCredentialInTheSequence() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate)
        for task in 1...2 {
            session.dataTask(with: server.url("/a")).resume()
            _ = try await delegate.calls(untilCompletions: task)
        }
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 200), .data(1, "GET /a "), .metrics(1),
                .completed(1, nil),
                .created(2), .response(2, 200), .data(2, "GET /a "), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(delegate.faults.events == [])
    }

    // AUTH-7, T-62: without the method there is no callback
    @Test("a default credential of the storage is used without a challenge callback")
    func aStoredCredentialInTheSequence() async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(basicAuth.credential, for: basicAuth.space(server))
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.urlCredentialStorage = storage }
        session.dataTask(with: server.url("/a")).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "GET /a "), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.authorizations == ["/a -", "/a \(basicAuth.field())"])
        #expect(delegate.faults.events == [])
    }

    // AUTH-22: stored before the response is delivered
    @Test("stored when the task has ended", arguments: [URLCredential.Persistence.none, .forSession, .permanent])
    func storedWhenTheTaskHasEnded(persistence: URLCredential.Persistence) async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        let delegate = RecordingDelegate()
        let credential = URLCredential(basicAuth.user, basicAuth.password, persistence)
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let counts = EventRecorder<Int>()
        delegate.during = { call, _, _ in
            if case .response = call { counts.record(storage.allCredentials.count) }
        }
        let session = URLSession(delegate, queue: OperationQueue(name: "delegate", width: 1)) {
            $0.urlCredentialStorage = storage
        }
        for _ in 0..<2 { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(counts.events == (persistence == .none ? [0, 0] : [1, 1]))
        #expect(storage.allCredentials.values.first?["Mufasa"] == (persistence == .none ? nil : credential))
    }

    // AUTH-22: none is for this request alone
    @Test("a credential that is not kept is asked for each time") func aCredentialThatIsNotKeptIsAskedForEachTime()
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = URLCredential(basicAuth.user, basicAuth.password, .none)
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate)
        for _ in 0..<2 { #expect(try await status(session, server.url()) == 200) }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let both = ["/ -", "/ \(basicAuth.field())"]
        #expect(server.authorizations == both + both)
    }

    // AUTH-23, S-89; in addition, tasks do not use credentials that were removed from the storage
    @Test("removed from the storage, a credential is sent no more", arguments: [true, false])
    func removedFromTheStorageACredentialIsSentNoMore(byReset: Bool) async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        let credential = basicAuth.credential
        storage.setDefaultCredential(credential, for: basicAuth.space(server))
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 200)
        #expect(try await status(session, server.url()) == 200)
        if byReset { await session.reset() } else { storage.remove(credential, for: basicAuth.space(server)) }
        #expect(try await status(session, server.url()) == 401)
        #expect(storage.allCredentials.isEmpty)
        #expect(server.authorizations == ["/ -", "/ \(basicAuth.field())", "/ \(basicAuth.field())", "/ -"])
    }

    // In addition to AUTH-22, AUTH-23 and S-89: a logout is effective
    @Test("removed while the server answers, a credential is not kept", arguments: [true, false], [true, false])
    func removedWhileTheServerAnswersACredentialIsNotKept(byReset: Bool, isStored: Bool) async throws {
        let basicAuth = basicAuth
        let storage = URLCredentialStorage()
        let credential = URLCredential(basicAuth.user, basicAuth.password, .permanent)
        let logOut = Watched<@Sendable () -> Void>({})
        let server = try ScriptedServer.answering { request in
            guard request["Authorization"] != nil else { return basicAuth.refusal }
            logOut.current()
            return .text("in")
        }
        defer { server.stop() }
        let space = basicAuth.space(server)
        logOut.withValue { $0 = { byReset ? storage.removeAll() : storage.remove(credential, for: space) } }
        if isStored { storage.setDefaultCredential(credential, for: space) }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in
            handler(isStored ? .performDefaultHandling : .useCredential, isStored ? nil : credential)
        }
        let session = URLSession(delegate) { $0.urlCredentialStorage = storage }
        #expect(try await status(session, server.url()) == 200)
        #expect(storage.allCredentials.isEmpty)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // AUTH-22
    @Test(
        "what is removed meanwhile of other users and other servers is nothing to a credential that is accepted",
        arguments: [true, false])
    func removalOfOthersWhileTheServerAnswers(isSubclass: Bool) async throws {
        final class Own: URLCredentialStorage, @unchecked Sendable {}
        let basicAuth = basicAuth
        let storage = isSubclass ? Own() : URLCredentialStorage()
        let credential = URLCredential(basicAuth.user, basicAuth.password, .permanent)
        let tidyUp = Watched<@Sendable () -> Void>({})
        let server = try ScriptedServer.answering { request in
            guard request["Authorization"] != nil else { return basicAuth.refusal }
            tidyUp.current()
            return .text("in")
        }
        defer { server.stop() }
        let space = basicAuth.space(server)
        let elsewhere = URLProtectionSpace(
            host: "example.org", port: space.port, protocol: "http", realm: space.realm,
            authenticationMethod: space.authenticationMethod)
        let former = URLCredential("former", "p", .permanent)
        for space in [space, elsewhere] { storage.setDefaultCredential(former, for: space) }
        storage.set(credential, for: elsewhere)
        tidyUp.withValue {
            $0 = {
                storage.remove(former, for: space)
                storage.remove(credential, for: elsewhere)
            }
        }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate) { $0.urlCredentialStorage = storage }
        #expect(try await status(session, server.url()) == 200)
        #expect(storage.allCredentials == [space: ["Mufasa": credential], elsewhere: ["former": former]])
        #expect(storage.defaultCredential(for: space) == credential)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // AUTH-26, AUTH-10: the password was changed
    @Test("a credential that is refused later is asked for again") func aCredentialThatIsRefusedLaterIsAskedForAgain()
        async throws
    {
        let basicAuths = Watched(BasicAuthResponder())
        let server = try ScriptedServer.answering { basicAuths.current.answer($0) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, handler in
            handler(.useCredential, challenge.proposedCredential ?? basicAuths.current.credential)
        }
        let session = URLSession(delegate)
        #expect(try await status(session, server.url()) == 200)
        basicAuths.withValue { $0.password = "new" }
        #expect(try await status(session, server.url()) == 200)
        #expect(try await status(session, server.url()) == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let (old, new) = (basicAuth.field(), basicAuth.field("new"))
        #expect(server.authorizations == ["/ -", "/ \(old)", "/ \(old)", "/ \(new)", "/ \(new)"])
        #expect(
            delegate.calls.events.filter { if case .challenge = $0 { true } else { false } } == [
                .challenge(1, "HTTPBasic r", 0), .challenge(2, "HTTPBasic r", 0),
            ])
    }

    // AUTH-27: the caller's own field goes first, the loader's replaces it
    @Test("a field of the caller's own") func aFieldOfTheCallersOwn() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let credential = basicAuth.credential
        delegate.challenge = { _, handler in handler(.useCredential, credential) }
        let session = URLSession(delegate)
        let own = URLRequest(url: server.url()).with { $0.setValue("Bearer x", forHTTPHeaderField: "authorization") }
        for _ in 0..<2 {
            let (_, response) = try await session.data(for: own)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let both = ["/ Bearer x", "/ \(basicAuth.field())"]
        #expect(server.authorizations == both + both)
        #expect(server.requests.map { $0.values(of: "Authorization").count } == [1, 1, 1, 1])
    }

    // AUTH-26: sessions share nothing but what their storages share
    @Test("each session asks for itself") func eachSessionAsksForItself() async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(basicAuth.credential, for: basicAuth.space(server))
        for _ in 0..<2 {
            let session = URLSession { $0.urlCredentialStorage = storage }
            #expect(try await status(session, server.url()) == 200)
            session.invalidateAndCancel()
        }
        let both = ["/ -", "/ \(basicAuth.field())"]
        #expect(server.authorizations == both + both)
    }

    // AUTH-25: each answer counts once, from however many threads
    @Test("a storage of the caller's own that answers more than once") func repeatedAnswers() async throws {
        final class Storage: URLCredentialStorage, @unchecked Sendable {
            let credential: URLCredential
            let asked = EventRecorder<String>()
            init(_ credential: URLCredential) { self.credential = credential }

            override func getDefaultCredential(
                for space: URLProtectionSpace, task: URLSessionTask,
                completionHandler: @escaping @Sendable (URLCredential?) -> Void
            ) {
                asked.record(space.summary)
                let isLast = space.authenticationMethod == NSURLAuthenticationMethodDefault
                for _ in 0..<3 { completionHandler(isLast ? credential : nil) }
            }
        }
        let server = try server()
        defer { server.stop() }
        let storage = Storage(basicAuth.credential)
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 200)
        #expect(storage.asked.events == ["HTTPBasic r", "Default r"])
    }

    // AUTH-25: a storage of the caller's own takes its time, on its own threads
    @Test("a storage of the caller's own") func aStorageOfTheCallersOwn() async throws {
        final class Storage: URLCredentialStorage, @unchecked Sendable {
            let asked = EventRecorder<String>()
            let credential: URLCredential
            init(_ credential: URLCredential) { self.credential = credential }

            override func getDefaultCredential(
                for space: URLProtectionSpace, task: URLSessionTask,
                completionHandler: @escaping @Sendable (URLCredential?) -> Void
            ) {
                asked.record("get \(space.summary) \(task.taskIdentifier)")
                let credential = space.authenticationMethod == NSURLAuthenticationMethodDefault ? credential : nil
                Thread { completionHandler(credential) }.start()
            }

            override func setDefaultCredential(
                _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
            ) {
                asked.record("set \(protectionSpace.summary) \(task.taskIdentifier)")
            }
        }
        let server = try server()
        defer { server.stop() }
        let storage = Storage(basicAuth.credential)
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 200)
        #expect(try await status(session, server.url()) == 200)
        // It is not asked to store what it has itself.
        #expect(storage.asked.events == ["get HTTPBasic r 1", "get Default r 1"])
        #expect(server.authorizations == ["/ -", "/ \(basicAuth.field())", "/ \(basicAuth.field())"])
    }

    // AUTH-17, AUTH-29: what cannot be said under a scheme is not said
    @Test("credentials that the scheme cannot carry") func credentialsThatTheSchemeCannotCarry() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.useCredential, URLCredential("a:b", "c")) }
        let session = URLSession(delegate)
        #expect(try await status(session, server.url()) == 401)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(server.authorizations == ["/ -"])
    }
}
