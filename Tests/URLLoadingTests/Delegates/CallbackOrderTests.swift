import Foundation
import TestSupport
import Testing
import URLLoading

/// The callbacks of data tasks, in order.
@Suite(.leavesNothing) struct CallbackOrderTests {
    /// All callbacks of a session with one task.
    private func calls(
        _ request: URLRequest, _ delegate: RecordingDelegate = RecordingDelegate(),
        _ prepare: (URLSessionDataTask) -> Void = { _ in }
    ) async throws -> [Call] {
        let session = URLSession(delegate)
        let task = session.dataTask(with: request)
        prepare(task)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    // T-26, T-27, T-39, S-62, S-66, S-71, S-84, MISC-25
    @Test("a response with a body") func aResponseWithABody() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // S-39
    @Test("a status is no error", arguments: [400, 404, 500, 503, 999]) func aStatusIsNoError(status: Int) async throws
    {
        let server = try ScriptedServer.answering(.text("no", status: status))
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .response(1, status), .data(1, "no"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-36, ERR-11, AUTH-34: without a credential the 401 response is delivered
    @Test(
        "a request for a credential is no error",
        arguments: [
            (401, "WWW-Authenticate", "Basic realm=\"x\""), (401, "X-None", ""), (407, "Proxy-Authenticate", "Basic"),
        ])
    func aChallengeIsNoError(status: Int, field: String, value: String) async throws {
        let server = try ScriptedServer.answering(.text("who are you", status: status).with(field: field, value))
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .response(1, status), .data(1, "who are you"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.requests.count == 1)
    }

    // T-28
    @Test("no body, no data", arguments: [("GET", 204), ("GET", 304), ("GET", 200), ("HEAD", 200)])
    func noBodyNoData(method: String, status: Int) async throws {
        let server = try ScriptedServer.answering(.status(status))
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = method
        #expect(
            try await calls(request) == [
                .created(1), .response(1, status), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-28
    @Test("HEAD with a length has no data") func headWithALengthHasNoData() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "HEAD"
        #expect(
            try await calls(request) == [.created(1), .response(1, 200), .metrics(1), .completed(1, nil), .invalid])
    }

    // T-29, S-51
    @Test("didSendBodyData precedes the response") func didSendBodyDataPrecedesTheResponse() async throws {
        let server = try ScriptedServer.answering { .text($0.bodyText) }
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data("abc".utf8)
        #expect(
            try await calls(request) == [
                .created(1), .sent(1, 3, 3), .response(1, 200), .data(1, "abc"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
    }

    // T-54
    @Test("informational responses are delivered, except 101") func informationalResponsesAreDeliveredExcept101()
        async throws
    {
        let server = try ScriptedServer(steps: [
            .expectRequest,
            .send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"),
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .waitForClose,
        ])
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .informational(1, 100), .informational(1, 102), .informational(1, 103),
                .response(1, 200), .data(1, "ok"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-38, ERR-5
    @Test("a failure before the response") func aFailureBeforeTheResponse() async throws {
        let port = try RefusingPort().port
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
        #expect(
            try await calls(URLRequest(url: url)) == [
                .created(1), .metrics(1), .completed(1, .cannotConnectToHost), .invalid,
            ])
    }

    // T-38, ERR-9
    @Test("a request that is not sent at all") func aRequestThatIsNotSentAtAll() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpBody = Data("abc".utf8)
        #expect(
            try await calls(request) == [
                .created(1), .metrics(1), .completed(1, .dataLengthExceedsMaximum), .invalid,
            ])
        #expect(server.connectionCount == 0)
    }

    // T-38, CONN-27, ERR-6
    @Test("a failure within the body follows the received data") func aFailureWithinTheBodyFollowsTheReceivedData()
        async throws
    {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close,
        ])
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1),
                .completed(1, .networkConnectionLost), .invalid,
            ])
    }

    // S-31, S-66, T-27
    @Test("data is delivered as it arrives") func dataIsDeliveredAsItArrives() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(Array("abcdef".utf8), portion: 2, by: permits))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.during = { call, _, _ in
            switch call {
            case .response, .data: permits.release()
            default: break
            }
        }
        _ = try await calls(URLRequest(url: server.url()), delegate)
        #expect(
            delegate.calls.events == [
                .created(1), .response(1, 200), .data(1, "ab"), .data(1, "cd"), .data(1, "ef"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // S-31, T-20, T-39
    @Test("without incremental delivery the data is delivered once")
    func withoutIncrementalDeliveryTheDataIsDeliveredOnce() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(Array("abcdef".utf8), portion: 2, by: permits))
        defer { server.stop() }
        permits.release(3)
        let delegate = RecordingDelegate()
        _ = try await calls(URLRequest(url: server.url()), delegate) { task in
            #expect(task.prefersIncrementalDelivery)
            task.prefersIncrementalDelivery = false
            #expect(!task.prefersIncrementalDelivery)
        }
        #expect(
            delegate.calls.events == [
                .created(1), .response(1, 200), .data(1, "abcdef"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // S-66: nothing lost, doubled or out of order
    @Test("a large body arrives as it was sent") func aLargeBodyArrivesAsItWasSent() async throws {
        let bytes = [UInt8].pattern(count: 3_000_000)
        let server = try ScriptedServer.answering(.bytes(bytes))
        defer { server.stop() }
        final class Gathering: NSObject, URLSessionDataDelegate, @unchecked Sendable {
            let body = Watched(Data())
            let done = Signal("completion")
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                body.withValue { $0.append(data) }
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                done.fire()
            }
        }
        let delegate = Gathering()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.done.wait()
        #expect(delegate.body.current == Data(bytes))
    }

    // T-26
    @Test("didCreateTask is called within the creating call") func didCreateTaskIsCalledWithinTheCreatingCall()
        async throws
    {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let thread = Watched<Thread?>(nil)
        delegate.during = { call, _, _ in if case .created = call { thread.withValue { $0 = .current } } }
        let session = URLSession(delegate)
        func create() {
            _ = session.dataTask(with: server.url())
            #expect(delegate.calls.events == [.created(1)])
            #expect(thread.current === Thread.current)
        }
        create()
        session.invalidateAndCancel()
        try await delegate.calls.wait(for: .invalid)
    }

    // T-66
    @Test("a delegate without methods counts as none") func aDelegateWithoutMethodsCountsAsNone() async throws {
        final class Silent: NSObject, URLSessionDataDelegate, Sendable {}
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = Silent()
        let session = URLSession(delegate)
        for _ in 0..<3 {
            session.dataTask(with: server.url()).resume()
            #expect(try await session.data(from: server.url()).0 == Data("x".utf8))
        }
        session.finishTasksAndInvalidate()
        try await server.connections.last?.waitForEnd()
    }
}
