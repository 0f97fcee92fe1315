import Foundation
import TestSupport
import Testing
import URLLoading

/// The callbacks of tasks that are loaded by custom protocols, in order.
@Suite(.leavesNothing) struct ProtocolSequenceTests {
    /// All callbacks of a session with one data task, and all calls of its protocol.
    private func calls(
        _ delegate: RecordingDelegate = RecordingDelegate(), path: String = "/",
        _ start: @escaping @Sendable (ScriptedProtocol) -> Void
    ) async throws -> (calls: [Call], of: [String]) {
        let script = ScriptedProtocol.script(start)
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue) { $0.usesScripts() }
        session.dataTask(with: script.url(path)).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return (calls, try await script.calls.waitFor(count: 2))
    }

    // MISC-18, MISC-19, T-26, T-39, S-84
    @Test("a response with a body") func aResponseWithABody() async throws {
        let result = try await calls { loading in
            loading.respond()
            loading.load("one ")
            loading.load("two")
            loading.finish()
        }
        #expect(
            result.calls == [
                .created(1), .response(1, 200), .data(1, "one two"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(result.of == ["start", "stop"])
    }

    // MISC-18: from whatever thread, in the order of one of them
    @Test("the client is called from another thread") func theClientIsCalledFromAnotherThread() async throws {
        let result = try await calls { loading in
            DispatchQueue.global().async { loading.answer("later") }
        }
        #expect(
            result.calls == [
                .created(1), .response(1, 200), .data(1, "later"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(result.of == ["start", "stop"])
    }

    // MISC-18, MISC-25, T-7: what comes after the end is ignored
    @Test("a protocol that ends often ends once") func aProtocolThatEndsOftenEndsOnce() async throws {
        let result = try await calls { loading in
            loading.answer("once")
            loading.finish()
            loading.load("more")
            loading.fail(URLError(.badServerResponse))
            loading.respond(500)
            loading.redirect(to: loading.script?.url("/else") ?? URL(fileURLWithPath: "/"))
        }
        #expect(
            result.calls == [
                .created(1), .response(1, 200), .data(1, "once"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(result.of == ["start", "stop"])
    }

    // MISC-18: from several threads at once there is one end all the same
    @Test("several threads end at once") func severalThreadsEndAtOnce() async throws {
        let result = try await calls { loading in
            loading.respond()
            DispatchQueue.concurrentPerform(iterations: 16) { _ in
                loading.finish()
                loading.finish()
            }
        }
        #expect(result.calls == [.created(1), .response(1, 200), .metrics(1), .completed(1, nil), .invalid])
        #expect(result.of == ["start", "stop"])
    }

    // MISC-18, T-38
    @Test("a failure before the response") func aFailureBeforeTheResponse() async throws {
        let result = try await calls { $0.fail(URLError(.notConnectedToInternet)) }
        #expect(
            result.calls == [.created(1), .metrics(1), .completed(1, .notConnectedToInternet), .invalid])
        #expect(result.of == ["start", "stop"])
    }

    // T-38
    @Test("a failure in mid-body") func aFailureInMidBody() async throws {
        let result = try await calls { loading in
            loading.respond()
            loading.load("half")
            loading.fail(URLError(.networkConnectionLost))
        }
        #expect(
            result.calls == [
                .created(1), .response(1, 200), .data(1, "half"), .metrics(1), .completed(1, .networkConnectionLost),
                .invalid,
            ])
    }

    // S-69: a protocol may have several parts
    @Test("a response after a response") func aResponseAfterAResponse() async throws {
        let result = try await calls { loading in
            loading.respond(200)
            loading.load("one")
            loading.respond(201)
            loading.load("two")
            loading.finish()
        }
        #expect(
            result.calls == [
                .created(1), .response(1, 200), .data(1, "one"), .response(1, 201), .data(1, "two"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // S-63, T-43: what the protocol has loaded already is dropped
    @Test("the delegate does not want the body") func theDelegateDoesNotWantTheBody() async throws {
        let delegate = RecordingDelegate()
        delegate.answer = { $1(.cancel) }
        let result = try await calls(delegate) { $0.answer("unwanted") }
        #expect(
            result.calls == [.created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid])
        #expect(result.of == ["start", "stop"])
    }

    // S-65: no data before the answer, though the protocol does not wait
    @Test("a late answer to the response") func aLateAnswerToTheResponse() async throws {
        let delegate = RecordingDelegate()
        let answers = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])
        delegate.answer = { _, answer in answers.withValue { $0.append(answer) } }
        let script = ScriptedProtocol.script { $0.answer("body") }
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: script.url()).resume()
        session.finishTasksAndInvalidate()
        let answer = try await answers.wait(for: "the question") { $0.first }
        #expect(delegate.calls.events == [.created(1), .response(1, 200)])
        answer(.allow)
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "body"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // S-64, T-44
    @Test("a data task becomes a download") func aDataTaskBecomesADownload() async throws {
        let script = ScriptedProtocol.script { $0.answer("to a file") }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { $1(.becomeDownload) }
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: script.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .became(1, 2), .wrote(2, 9, -1), .downloaded(2, 9), .metrics(2),
                .completed(2, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data("to a file".utf8)])
        #expect(try await script.calls.waitFor(count: 2) == ["start", "stop"])
    }

    // S-70, T-30
    @Test("a download") func aDownload() async throws {
        let script = ScriptedProtocol.script { loading in
            loading.respond(200, ["Content-Length": "6"])
            loading.load("abc")
            loading.load("def")
            loading.finish()
        }
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        session.downloadTask(with: script.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .wrote(1, 6, 6), .downloaded(1, 6), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data("abcdef".utf8)])
    }

    // MISC-18, T-5, S-42: stopped once, and ignored from then on
    @Test("cancelling stops the protocol") func cancellingStopsTheProtocol() async throws {
        let started = Signal("the start")
        let script = ScriptedProtocol.script { loading in
            loading.respond()
            started.fire()
        }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        let task = session.dataTask(with: script.url())
        task.resume()
        try await started.wait()
        try await delegate.calls.wait(for: .response(1, 200))
        task.cancel()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(try await script.calls.waitFor(count: 2) == ["start", "stop"])
    }

    // T-6: nothing is made for a task that never ran
    @Test("cancelling before the start") func cancellingBeforeTheStart() async throws {
        let script = ScriptedProtocol.script { $0.answer("never") }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: script.url()).cancel()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
        #expect(script.calls.events == [])
    }

    // S-91, T-1: a protocol that says nothing
    @Test("silence ends with a timeout") func silenceEndsWithATimeout() async throws {
        let script = ScriptedProtocol.script { _ in }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: URLRequest(url: script.url(), timeoutInterval: 0.05)).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
        #expect(try await script.calls.waitFor(count: 2) == ["start", "stop"])
    }

    // T-2: nothing is delivered while the task is suspended
    @Test("a suspended task gets no callbacks") func aSuspendedTaskGetsNoCallbacks() async throws {
        let begun = Signal("the start")
        let goOn = Signal("the way on")
        let said = Signal("the body")
        let script = ScriptedProtocol.script { loading in
            begun.fire()
            DispatchQueue.global().async {
                try? goOn.wait()
                loading.answer("body")
                said.fire()
            }
        }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.usesScripts() }
        let task = session.dataTask(with: script.url())
        task.resume()
        try await begun.wait()
        task.suspend()
        goOn.fire()
        try await said.wait()
        await session.flush()
        #expect(delegate.calls.events == [.created(1)])
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "body"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }
}
