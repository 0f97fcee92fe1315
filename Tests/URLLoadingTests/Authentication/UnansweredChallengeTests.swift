import Foundation
import TestSupport
import Testing
import URLLoading

/// Cancellation, timeouts and suspension while a challenge is unanswered. Each task ends once.
@Suite(.leavesNothing) struct UnansweredChallengeTests {
    private let basicAuth = BasicAuthResponder()
    private let asked = Signal("the challenge")
    private let late = Watched<RecordingDelegate.ChallengeHandler?>(nil)

    /// A delegate that keeps the completion handler.
    private func delegate() -> RecordingDelegate {
        let delegate = RecordingDelegate()
        let (asked, late) = (asked, late)
        delegate.challenge = { _, handler in
            late.withValue { $0 = handler }
            asked.fire()
        }
        return delegate
    }

    private func server() throws -> ScriptedServer {
        let basicAuth = basicAuth
        return try ScriptedServer.answering { basicAuth.answer($0) }
    }

    private func answer(_ disposition: URLSession.AuthChallengeDisposition) {
        late.current?(disposition, basicAuth.credential)
    }

    // T-5, T-7: the answer that comes afterwards is of no use
    @Test("cancelled while the delegate is asked") func cancelledWhileTheDelegateIsAsked() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = delegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        try await asked.wait()
        task.cancel()
        _ = try await delegate.calls(untilCompletions: 1)
        answer(.useCredential)
        answer(.cancelAuthenticationChallenge)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(server.authorizations == ["/ -"])
    }

    // S-83, T-61
    @Test("never answered, ended with the session") func neverAnsweredEndedWithTheSession() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = delegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        try await asked.wait()
        session.invalidateAndCancel()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        late.withValue { $0 = nil }
    }

    // CONN-15: the silence is the delegate's
    @Test("the request timeout pauses during a challenge") func theRequestTimeoutPauses() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = delegate()
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = 0.2 }
        session.dataTask(with: server.url()).resume()
        try await asked.wait()
        // Longer than the interval.
        let pause = Signal("a pause")
        await #expect(throws: DeadlineExceeded.self) { try await pause.wait(within: .milliseconds(500)) }
        answer(.useCredential)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 200), .data(1, "GET / "), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // C-8
    @Test("the clock of the whole task does not") func theClockOfTheWholeTaskDoesNot() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = delegate()
        let session = URLSession(delegate) { $0.timeoutIntervalForResource = 0.3 }
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        answer(.useCredential)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // T-2, T-3: the answer waits for the task
    @Test(
        "answered while suspended",
        arguments: [URLSession.AuthChallengeDisposition.useCredential, .performDefaultHandling])
    func answeredWhileSuspended(disposition: URLSession.AuthChallengeDisposition) async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = delegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        try await asked.wait()
        task.suspend()
        answer(disposition)
        for _ in 0..<3 { await session.flush() }
        #expect(server.authorizations == ["/ -"])
        task.resume()
        session.finishTasksAndInvalidate()
        let end: [Call] =
            disposition == .useCredential
            ? [.response(1, 200), .data(1, "GET / ")] : [.response(1, 401), .data(1, "who are you?")]
        #expect(
            try await delegate.callsUntilInvalid()
                == [.created(1), .challenge(1, "HTTPBasic r", 0)] + end + [
                    .metrics(1), .completed(1, nil), .invalid,
                ])
    }

    // T-56: a cancelled async caller
    @Test("an async call cancelled while the delegate is asked") func anAsyncCallCancelledWhileTheDelegateIsAsked()
        async throws
    {
        let server = try server()
        defer { server.stop() }
        let delegate = delegate()
        let session = URLSession(delegate)
        let url = server.url()
        let load = Task { try await session.data(from: url) }
        try await asked.wait()
        load.cancel()
        let failure = await #expect(throws: URLError.self) { try await load.value }
        #expect(failure?.code == .cancelled)
        answer(.useCredential)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .invalid,
            ])
        #expect(server.authorizations == ["/ -"])
    }

    // AUTH-4, S-76: on whatever thread, however often
    @Test("answered by many at once") func answeredByManyAtOnce() async throws {
        let server = try server()
        defer { server.stop() }
        for _ in 0..<20 {
            let delegate = RecordingDelegate()
            let credential = basicAuth.credential
            delegate.challenge = { _, handler in
                for index in 0..<4 {
                    Thread {
                        handler(index % 2 == 0 ? .useCredential : .performDefaultHandling, credential)
                    }.start()
                }
            }
            let session = URLSession(delegate)
            session.dataTask(with: server.url()).resume()
            session.finishTasksAndInvalidate()
            let calls = try await delegate.callsUntilInvalid()
            #expect(calls.completionCount == 1)
            #expect(calls.filter { if case .response = $0 { true } else { false } }.count == 1)
        }
    }

    // T-35, CONN-10: the server goes while the delegate thinks
    @Test("the connection is lost when the answer arrives") func theConnectionIsLostWhenTheAnswerArrives() async throws
    {
        let basicAuth = basicAuth
        let server = try ScriptedServer.answering { request in
            let answer = basicAuth.answer(request)
            return answer.status == 401 ? answer.closing() : answer
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.useCredential, basicAuth.credential) }
        let session = URLSession(delegate)
        session.dataTask(with: URLRequest(url: server.url()).with { $0.httpMethod = "POST" }).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 200), .data(1, "POST / "), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(server.connectionCount == 2)
    }
}
