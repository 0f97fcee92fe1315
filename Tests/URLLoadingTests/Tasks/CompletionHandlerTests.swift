import Foundation
import TestSupport
import Testing
import URLLoading

/// Tasks with completion handlers.
@Suite(.leavesNothing) struct CompletionHandlerTests {
    /// The result of a handler, and the earlier callbacks of the session's delegate.
    private func calls(_ request: URLRequest) async throws -> [Call] {
        let delegate = RecordingDelegate()
        let queue = OperationQueue(name: "handlers", width: 1)
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue)
        let handler = delegate.calls.handler
        session.dataTask(with: request) { data, response, error in
            if OperationQueue.current !== queue { delegate.faults.record("handler outside the delegate queue") }
            handler(data, response, error)
        }.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    // S-36, S-38, T-46, T-47, S-74
    @Test("the handler is last and gets everything at once") func theHandlerIsLastAndGetsEverythingAtOnce() async throws
    {
        let server = try ScriptedServer.answering(.chunked(["hel", "lo"]))
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .metrics(1), .handled("hello", 200, nil), .invalid,
            ])
    }

    // T-47
    @Test("progress and informational responses are delivered") func progressAndInformationalResponsesAreDelivered()
        async throws
    {
        let server = try ScriptedServer(steps: [
            .expectRequest,
            .send("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"),
            .waitForClose,
        ])
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "PUT"
        request.httpBody = Data("abc".utf8)
        #expect(
            try await calls(request) == [
                .created(1), .sent(1, 3, 3), .informational(1, 103), .metrics(1), .handled("ok", 201, nil), .invalid,
            ])
    }

    // S-39
    @Test("a status is no error") func aStatusIsNoError() async throws {
        let server = try ScriptedServer.answering(.text("nothing here", status: 404))
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .metrics(1), .handled("nothing here", 404, nil), .invalid,
            ])
    }

    // T-48
    @Test("an empty body is empty data", arguments: [200, 204]) func anEmptyBodyIsEmptyData(status: Int) async throws {
        let server = try ScriptedServer.answering(.status(status))
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .metrics(1), .handled("", status, nil), .invalid,
            ])
    }

    // T-48
    @Test("a failure within the body leaves the response, and no data")
    func aFailureWithinTheBodyLeavesTheResponse() async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close,
        ])
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) == [
                .created(1), .metrics(1), .handled(nil, 200, .networkConnectionLost), .invalid,
            ])
    }

    // T-48, ERR-5
    @Test("a failure before the response") func aFailureBeforeTheResponse() async throws {
        let refusing = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        #expect(
            try await calls(URLRequest(url: url)) == [
                .created(1), .metrics(1), .handled(nil, nil, .cannotConnectToHost), .invalid,
            ])
    }

    // ERR-5
    @Test("requests without a loader", arguments: ["/relative", "nonsense:x"]) func requestsWithoutALoader(text: String)
        async throws
    {
        let url = try #require(URL(string: text))
        let calls = try await calls(URLRequest(url: url))
        #expect(calls == [.created(1), .metrics(1), .handled(nil, nil, .unsupportedURL), .invalid])
    }

    // S-37, S-16
    @Test("the shared session answers handlers") func theSharedSessionAnswersHandlers() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("hello").closing())
        defer { server.stop() }
        let calls = EventRecorder<Call>()
        URLSession.shared.dataTask(with: server.url(), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("hello", 200, nil)])
    }

    // T-65: a large body for a handler is whole
    @Test("a large body arrives whole") func aLargeBodyArrivesWhole() async throws {
        let bytes = [UInt8].pattern(count: 5_000_000)
        let server = try ScriptedServer.answering { request in
            request.path == "/known" ? .bytes(bytes) : .init(body: .chunks([bytes], trailers: []))
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        for path in ["/known", "/unknown"] {
            let body = Watched<Data?>(nil)
            session.dataTask(with: server.url(path)) { data, _, _ in body.withValue { $0 = data } }.resume()
            #expect(try await body.wait(for: "the body") { $0 } == Data(bytes))
        }
        session.invalidateAndCancel()
    }
}
