import Foundation
import TestSupport
import Testing
import URLLoading

/// Session invalidation.
@Suite(.leavesNothing) struct InvalidationTests {
    private func url() throws -> URL { try #require(URL(string: "http://127.0.0.1:1/")) }

    // S-84, T-62
    @Test("without tasks", arguments: [true, false]) func withoutTasks(cancels: Bool) async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        if cancels { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        #expect(try await delegate.callsUntilInvalid() == [.invalid])
        // The handler comes after the method has returned.
        #expect(await session.allTasks.isEmpty)
        #expect(session.delegate == nil)
        #expect(delegate.faults.events == [])
    }

    // S-84, S-76: what is released when a handler has been called is the caller's, and may call anything
    @Test("a handler that retains an object whose deinit invalidates the session")
    func lastReferenceOfTheHandler() async throws {
        final class Client: Sendable {
            let session: URLSession
            init(_ session: URLSession) { self.session = session }
            deinit { session.invalidateAndCancel() }
        }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let (began, held) = (Signal("the first handler"), Signal("that all wait"))
        session.getAllTasks { _ in
            began.fire()
            try? held.wait()
        }
        try await began.wait()
        do {
            let client = Client(session)
            session.getAllTasks { _ in withExtendedLifetime(client) {} }
        }
        // Due together with it.
        session.getAllTasks { _ in }
        held.fire()
        #expect(try await delegate.callsUntilInvalid() == [.invalid])
    }

    // S-83, S-84, T-62
    @Test("finishTasksAndInvalidate calls the delegate after the last task")
    func finishTasksAndInvalidateCallsTheDelegateAfterTheLastTask() async throws {
        let held = Signal("the responses")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        for _ in 0..<3 { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        session.finishTasksAndInvalidate()
        #expect(session.delegate === delegate)
        held.fire()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...3 {
            #expect(
                calls.of(task) == [
                    .created(task), .response(task, 200), .data(task, "x"), .metrics(task), .completed(task, nil),
                ])
        }
        #expect(calls.last == .invalid)
        #expect(await session.allTasks.isEmpty)
        #expect(delegate.calls.events.count { $0 == .invalid } == 1)
    }

    // S-83, T-6
    @Test("cancelling ends running, suspended and never resumed tasks")
    func cancellingEndsRunningSuspendedAndNeverResumedTasks() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let running = session.dataTask(with: server.url())
        let suspended = session.dataTask(with: server.url())
        let new = session.dataTask(with: server.url())
        running.resume()
        suspended.resume()
        try await delegate.calls.wait(for: .response(1, 200))
        try await delegate.calls.wait(for: .response(2, 200))
        suspended.suspend()
        session.invalidateAndCancel()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...2 { #expect(calls.of(task).suffix(2) == [.metrics(task), .completed(task, .cancelled)]) }
        #expect(calls.of(3) == [.created(3), .metrics(3), .completed(3, .cancelled)])
        #expect(calls.last == .invalid)
        #expect([running, suspended, new].map(\.state) == [.completed, .completed, .completed])
    }

    enum Where: CaseIterable {
        case new, inLine, waitingForTheResponse, askedAboutARedirect, askedForACredential, askedAboutTheResponse, body
        case suspended, ended
    }

    // S-83, S-84, T-6, T-8: each state has its whole list
    @Test("cancelling in each state", arguments: Where.allCases) func cancellingInEachState(state: Where) async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/moved": .redirect(to: "/")
            case "/challenge": CannedResponse.status(401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
            case "/body": CannedResponse.text("x").bodyHeld(until: never)
            case "/whole": .text("x")
            default: CannedResponse.text("x").held(until: never)
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        if state == .askedAboutTheResponse { delegate.answer = { _, _ in } }
        delegate.redirect = { _, _ in }
        delegate.challenge = { _, _ in }
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        // Takes the one connection there is.
        let first = state == .inLine ? session.dataTask(with: server.url()) : nil
        first?.resume()
        if first != nil { try await server.waitForRequests(1) }
        let paths: [Where: String] = [
            .askedAboutARedirect: "/moved", .askedForACredential: "/challenge", .askedAboutTheResponse: "/body",
            .body: "/body", .suspended: "/body", .ended: "/whole",
        ]
        let task = session.dataTask(with: server.url(paths[state] ?? "/"))
        let id = task.taskIdentifier
        if state != .new { task.resume() }
        let reached: [Call]
        switch state {
        case .new, .inLine: reached = []
        case .waitingForTheResponse:
            try await server.waitForRequests(1)
            reached = []
        case .askedAboutARedirect: reached = [.redirect(id, 302)]
        case .askedForACredential: reached = [.challenge(id, "HTTPBasic r", 0)]
        case .askedAboutTheResponse, .body, .suspended: reached = [.response(id, 200)]
        case .ended: reached = [.response(id, 200), .data(id, "x"), .metrics(id), .completed(id, nil)]
        }
        if let call = reached.last { try await delegate.calls.wait(for: call) }
        if state == .suspended { task.suspend() }
        session.invalidateAndCancel()
        let end: [Call] =
            switch state {
            case .ended: []
            default: [.metrics(id), .completed(id, .cancelled)]
            }
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(id) == [.created(id)] + reached + end)
        #expect(calls.last == .invalid)
        #expect(delegate.faults.events == [])
    }

    // S-83, T-62: either way may follow the other
    @Test("cancelling after finishing cancels") func cancellingAfterFinishingCancels() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        try await delegate.calls.wait(for: .response(1, 200))
        session.finishTasksAndInvalidate()
        session.invalidateAndCancel()
        #expect(try await delegate.callsUntilInvalid().suffix(2) == [.completed(1, .cancelled), .invalid])
    }

    // T-6, S-84: a released task that was never resumed does not retain the session
    @Test("finishing waits for a new task only while there is one") func finishingWaitsForANewTaskOnlyWhileThereIsOne()
        async throws
    {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        do {
            let task = session.dataTask(with: try url())
            session.finishTasksAndInvalidate()
            #expect(await session.allTasks == [task])
            #expect(delegate.calls.events == [.created(1)])
        }
        // It cannot be resumed any more (T-6, T-60).
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
    }

    // T-60, T-62, S-84: and neither does one that was suspended, nor the connection that it has
    @Test("finishing waits for a suspended task only while there is one", arguments: [true, false])
    func finishingWaitsForASuspendedTaskOnlyWhileThereIsOne(isSuspendedBefore: Bool) async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering(CannedResponse.text("x").bodyHeld(until: never))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        do {
            let task = session.dataTask(with: server.url())
            task.resume()
            try await delegate.calls.wait(for: .response(1, 200))
            if isSuspendedBefore { task.suspend() }
            session.finishTasksAndInvalidate()
            if !isSuspendedBefore { task.suspend() }
            #expect(await session.allTasks == [task])
        }
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
    }

    // T-60, T-2: it can be resumed while it is retained
    @Test("a suspended task of an invalidated session is resumed") func aSuspendedTaskIsResumed() async throws {
        let held = Signal("the body")
        let server = try ScriptedServer.answering(CannedResponse.text("x").bodyHeld(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        weak var known: URLSessionTask?
        do {
            let task = session.dataTask(with: server.url())
            known = task
            task.resume()
            try await delegate.calls.wait(for: .response(1, 200))
            session.finishTasksAndInvalidate()
            task.suspend()
            task.resume()
        }
        #expect(known != nil)
        held.fire()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // S-73: from within calls
    @Test("from within a call", arguments: [true, false]) func fromWithinACall(cancels: Bool) async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.during = { call, session, _ in
            guard case .response = call else { return }
            if cancels { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        let calls = try await delegate.callsUntilInvalid()
        if cancels {
            #expect(calls == [.created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid])
        } else {
            #expect(
                calls == [
                    .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
                ])
        }
    }

    // S-81, S-82, S-84
    @Test("session and delegate go after the end, and not before") func sessionAndDelegateGoAfterTheEndAndNotBefore()
        async throws
    {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        weak var weakSession: URLSession?
        weak var weakDelegate: RecordingDelegate?
        let calls: EventRecorder<Call>
        do {
            let delegate = RecordingDelegate()
            calls = delegate.calls
            let session = URLSession(delegate)
            session.dataTask(with: server.url()).resume()
            session.finishTasksAndInvalidate()
            weakSession = session
            weakDelegate = delegate
        }
        #expect(weakDelegate != nil)
        #expect(weakSession != nil)
        held.fire()
        try await calls.wait(for: .invalid)
        // The method has to return, and its caller to release it: no event marks that moment.
        let end = ContinuousClock.now + .testDeadline
        while weakDelegate != nil || weakSession != nil, ContinuousClock.now < end { await Task.yield() }
        #expect(weakDelegate == nil)
        #expect(weakSession == nil)
    }

    // S-82: a session that only its tasks know
    @Test("a session lives as long as it has tasks") func aSessionLivesAsLongAsItHasTasks() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let calls = EventRecorder<Call>()
        weak var weakSession: URLSession?
        do {
            let session = URLSession { _ in }
            weakSession = session
            session.dataTask(with: server.url(), completionHandler: calls.handler).resume()
        }
        #expect(weakSession != nil)
        held.fire()
        #expect(try await calls.waitFor(count: 1) == [.handled("x", 200, nil)])
        try await server.connection(0).waitForEnd()
        #expect(weakSession == nil)
    }

    // C-35, S-16
    @Test("the shared session cannot be invalidated") func theSharedSessionCannotBeInvalidated() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("x").closing())
        defer { server.stop() }
        URLSession.shared.finishTasksAndInvalidate()
        URLSession.shared.invalidateAndCancel()
        #expect(try await URLSession.shared.data(from: server.url()).0 == Data("x".utf8))
        #expect(URLSession.shared === URLSession.shared)
        #expect(URLSession.shared.delegate == nil)
    }

    // C-35
    @Test("the shared session has the cache that is shared now") func theSharedSessionHasTheCacheThatIsSharedNow() {
        let before = URLCache.shared
        defer { URLCache.shared = before }
        #expect(URLSession.shared.configuration.urlCache === before)
        let other = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        URLCache.shared = other
        #expect(URLSession.shared.configuration.urlCache === other)
    }

    // C-35: also when it was made before, and for the loads as well
    @Test("the shared session loads by the cache that is shared now") func theSharedSessionUsesTheSharedCache()
        async throws
    {
        let server = try ScriptedServer.answering { request in
            CannedResponse.text(request.path).with(field: "Cache-Control", "max-age=60").closing()
        }
        defer { server.stop() }
        let before = URLCache.shared
        defer { URLCache.shared = before }
        func load() async throws {
            #expect(try await URLSession.shared.data(from: server.url("/a")).0 == Data("/a".utf8))
        }
        let first = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        URLCache.shared = first
        try await load()
        try await load()
        #expect(server.requests.count == 1)
        #expect(first.cachedResponse(for: URLRequest(url: server.url("/a")))?.data == Data("/a".utf8))
        let second = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        URLCache.shared = second
        try await load()
        #expect(server.requests.count == 2)
        #expect(second.cachedResponse(for: URLRequest(url: server.url("/a")))?.data == Data("/a".utf8))
    }

    // C-35
    @Test("the shared session has the cookies that are shared") func theSharedSessionUsesTheSharedCookies()
        async throws
    {
        let server = try ScriptedServer.answering { request in
            CannedResponse.text(request["Cookie"] ?? "none").with(field: "Set-Cookie", "shared=1; Path=/c35").closing()
        }
        defer { server.stop() }
        let url = server.url("/c35/a")
        let storage = HTTPCookieStorage.shared
        defer { for cookie in storage.cookies(for: url) ?? [] { storage.deleteCookie(cookie) } }
        #expect(URLSession.shared.configuration.httpCookieStorage === storage)
        #expect(try await URLSession.shared.data(from: url).0 == Data("none".utf8))
        #expect(storage.cookies(for: url)?.map { "\($0.name)=\($0.value)" } == ["shared=1"])
        #expect(try await URLSession.shared.data(from: url).0 == Data("shared=1".utf8))
    }

    // C-35
    @Test("the shared session has the credentials that are shared") func theSharedSessionUsesTheSharedCredentials()
        async throws
    {
        let basicAuth = BasicAuthResponder(realm: "c35")
        let server = try ScriptedServer.answering { basicAuth.answer($0).closing() }
        defer { server.stop() }
        let storage = URLCredentialStorage.shared
        let space = basicAuth.space(server)
        #expect(URLSession.shared.configuration.urlCredentialStorage === storage)
        storage.setDefaultCredential(basicAuth.credential, for: space)
        defer { storage.remove(basicAuth.credential, for: space) }
        let (data, response) = try await URLSession.shared.data(from: server.url("/a"))
        #expect((response as? HTTPURLResponse)?.statusCode == 200 && data == Data("GET /a ".utf8))
        #expect(server.authorizations == ["/a -", "/a \(basicAuth.field())"])
    }

    // C-35
    @Test("the shared session asks the protocols of the process") func theSharedSessionAsksTheProtocols() async throws {
        let script = ScriptedProtocol.script { $0.answer("by a protocol") }
        #expect(URLProtocol.registerClass(ScriptedProtocol.self))
        defer { URLProtocol.unregisterClass(ScriptedProtocol.self) }
        #expect(try await URLSession.shared.data(from: script.url()).0 == Data("by a protocol".utf8))
        URLProtocol.unregisterClass(ScriptedProtocol.self)
        let failure = await #expect(throws: URLError.self) { try await URLSession.shared.data(from: script.url()) }
        #expect(failure?.code == .unsupportedURL)
    }

    #if compiler(>=6.2)
        // T-61
        @Test("no task can be made afterwards") func noTaskCanBeMadeAfterwards() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                let session = URLSession(configuration: .ephemeral)
                session.finishTasksAndInvalidate()
                _ = session.dataTask(with: URL(fileURLWithPath: "/"))
            }
        }
    #endif

    // T-61, T-56: another part of the program may invalidate the session at any moment, so async calls throw
    @Test("an async load in an invalidated session") func anAsyncLoadInAnInvalidatedSession() async throws {
        let session = URLSession { _ in }
        session.invalidateAndCancel()
        let request = URLRequest(url: try url())
        let loads: [@Sendable () async throws -> Void] = [
            { _ = try await session.data(for: request) },
            { _ = try await session.bytes(for: request) },
            { _ = try await session.download(for: request) },
            { _ = try await session.download(resumeFrom: Data()) },
            { _ = try await session.upload(for: request, from: Data()) },
            { _ = try await session.upload(for: request, fromFile: URL(fileURLWithPath: "/")) },
        ]
        for load in loads {
            #expect(await #expect(throws: URLError.self) { try await load() }?.code == .cancelled)
        }
    }

    // T-61, T-56
    @Test("async loads against invalidation") func asyncLoadsAgainstInvalidation() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        for _ in 0..<200 {
            let session = URLSession { _ in }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        do {
                            #expect(try await session.data(from: server.url()).0 == Data("x".utf8))
                        } catch {
                            #expect((error as? URLError)?.code == .cancelled)
                        }
                    }
                }
                group.addTask { session.invalidateAndCancel() }
            }
        }
    }

    // T-63, S-88, S-89
    @Test("flush and reset answer on the delegate queue") func flushAndResetAnswerOnTheDelegateQueue() async throws {
        let queue = OperationQueue(name: "delegate", width: 1)
        let delegate = RecordingDelegate()
        let session = URLSession(delegate, queue: queue)
        let queues = EventRecorder<Bool>()
        session.flush { queues.record(OperationQueue.current === queue) }
        session.reset { queues.record(OperationQueue.current === queue) }
        session.getAllTasks { _ in queues.record(OperationQueue.current === queue) }
        session.getTasksWithCompletionHandler { _, _, _ in queues.record(OperationQueue.current === queue) }
        #expect(try await queues.waitFor(count: 4) == [true, true, true, true])
        session.invalidateAndCancel()
        try await delegate.calls.wait(for: .invalid)
    }
}
