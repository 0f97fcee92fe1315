import Foundation
import TestSupport
import Testing
import URLLoading

/// Basic use of sessions: several sessions, with and without a delegate.
@Suite(.leavesNothing) struct SessionTests {
    // S-1: the thread that begins a load runs no run loop, and is blocked until its end
    @Test("no run loop is needed") func noRunLoopIsNeeded() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let calls = EventRecorder<Call>()
        let seen = EventRecorder<[Call]>()
        Thread {
            session.dataTask(with: server.url(), completionHandler: calls.handler).resume()
            seen.record((try? calls.waitFor(count: 1)) ?? [])
        }.start()
        #expect(try await seen.waitFor(count: 1) == [[.handled("hello", 200, nil)]])
        session.invalidateAndCancel()
    }

    // S-2: the same load with a handler and no delegate, and with a delegate
    @Test("with a handler or with a delegate") func withAHandlerOrWithADelegate() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let calls = EventRecorder<Call>()
        let plain = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: nil)
        plain.dataTask(with: server.url(), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("hello", 200, nil)])
        plain.invalidateAndCancel()
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // S-3: defaults for redirects, credentials, trust and streams
    @Test("defaults without a delegate") func defaultsWithoutADelegate() async throws {
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/moved": .redirect(to: "/end")
            case "/challenge":
                CannedResponse.text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
            default: .text("end")
            }
        }
        _ = try TrustedAuthority.authority
        let unknown = try ScriptedServer.answering(
            .text("x"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer {
            server.stop()
            unknown.stop()
        }
        let session = URLSession { _ in }
        let calls = EventRecorder<Call>()
        session.dataTask(with: server.url("/moved"), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1).last == .handled("end", 200, nil))
        session.dataTask(with: server.url("/challenge"), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 2).last == .handled("who?", 401, nil))
        session.dataTask(with: unknown.url(host: "localhost"), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 3).last == .handled(nil, nil, .serverCertificateUntrusted))
        let streamed = session.uploadTask(
            withStreamedRequest: URLRequest(url: server.url()).with { $0.httpMethod = "POST" })
        streamed.resume()
        session.finishTasksAndInvalidate()
        // This task has no callbacks.
        let end = ContinuousClock.now + .testDeadline
        while streamed.state != .completed, ContinuousClock.now < end { await Task.yield() }
        #expect(streamed.error?.urlErrorCode == .requestBodyStreamExhausted)
    }

    // S-12, S-14: each with values and a delegate that all its tasks share, and connections of its own
    @Test("several sessions") func severalSessions() async throws {
        let server = try ScriptedServer.answering { .text($0["X-Session"] ?? "-") }
        defer { server.stop() }
        let delegates = (0..<3).map { _ in RecordingDelegate() }
        let sessions = delegates.enumerated().map { index, delegate in
            URLSession(delegate) {
                $0.httpAdditionalHeaders = ["X-Session": "\(index)"]
                $0.httpMaximumConnectionsPerHost = 1
            }
        }
        for session in sessions {
            for _ in 0..<2 { session.dataTask(with: server.url()).resume() }
            session.finishTasksAndInvalidate()
        }
        for (index, delegate) in delegates.enumerated() {
            let calls = try await delegate.callsUntilInvalid()
            for task in 1...2 {
                #expect(
                    calls.of(task) == [
                        .created(task), .response(task, 200), .data(task, "\(index)"), .metrics(task),
                        .completed(task, nil),
                    ])
            }
            #expect(calls.last == .invalid)
        }
        #expect(server.connections.map(\.requests.count) == [2, 2, 2])
    }

    // S-47: what comes with a body says of what type and how long it is, and both can be kept together
    @Test("responses and cached responses") func responsesAndCachedResponses() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("hello").with(field: "X-Own", "1"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (data, response) = try await session.data(for: URLRequest(url: server.url("/name.txt")))
        session.invalidateAndCancel()
        #expect(response.url == server.url("/name.txt"))
        #expect(response.mimeType == "text/plain")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 5)
        let http = try #require(response as? HTTPURLResponse)
        #expect(http.value(forHTTPHeaderField: "x-own") == "1")
        #expect(http.allHeaderFields["X-Own"] as? String == "1")
        let kept = CachedURLResponse(response: response, data: data)
        #expect(kept.response === response)
        #expect(kept.data == Data("hello".utf8))
    }

    // S-48: a delegate of one kind is also one of those above it. For background sessions see `BackgroundRuleTests`.
    @Test("kinds of delegates") func kindsOfDelegates() {
        func kinds(_ delegate: any URLSessionDelegate) -> [Bool] {
            [
                delegate is any URLSessionTaskDelegate, delegate is any URLSessionDataDelegate,
                delegate is any URLSessionDownloadDelegate, delegate is any URLSessionStreamDelegate,
            ]
        }
        #expect(kinds(RecordingDownloadDelegate()) == [true, true, true, false])
        #expect(kinds(RecordingStreamDelegate()) == [true, true, false, true])
        #expect(kinds(EndDelegate()) == [true, false, false, false])
        #expect(kinds(EveryKindDelegate()) == [true, true, true, true])
    }

    // S-48: each kind of task calls the protocol of its kind, and those above it
    @Test("a delegate of every kind") func aDelegateOfEveryKind() async throws {
        let server = try ScriptedServer { connection in
            // A stream says nothing first.
            if let request = try? connection.nextRequest() { try connection.send(.text("x").closing(), to: request) }
        }
        defer { server.stop() }
        let delegate = EveryKindDelegate()
        let session = URLSession(delegate)
        let tasks: [URLSessionTask] = [
            session.dataTask(with: server.url()), session.downloadTask(with: server.url()),
            session.streamTask(to: server),
        ]
        for (number, task) in tasks.enumerated() {
            task.resume()
            if let stream = task as? URLSessionStreamTask { stream.closeWrite() }
            try await delegate.calls.waitUntil { $0.count { $0.hasSuffix("completed") } > number }
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.calls.waitUntil { $0.last == "session: invalid" }
        #expect(
            calls.dropLast().filter { !$0.hasPrefix("3") } == [
                "1 data: response", "1 data: data", "1 task: metrics", "1 task: completed",
                "2 download: wrote", "2 download: finished", "2 task: metrics", "2 task: completed",
            ])
        // Either direction may be the first to be closed.
        let ofStream = calls.filter { $0.hasPrefix("3") }
        #expect(ofStream.dropLast().sorted() == ["3 stream: read closed", "3 stream: write closed"])
        #expect(ofStream.last == "3 task: completed")
    }

    // S-72: a task that has failed stays failed, and a new one of the same session gets what it wanted
    @Test("a new task after a failure") func aNewTaskAfterAFailure() async throws {
        let server = try ScriptedServer(connections: [
            [.expectRequest, .close],
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .waitForClose],
        ])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let first = session.dataTask(with: server.url())
        first.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        first.resume()
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .networkConnectionLost), .created(2), .response(2, 200),
                .data(2, "ok"), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(first.state == .completed)
    }

    // S-46: a request's own time goes before the configuration's, and its policy comes along
    @Test("a request with values of its own") func aRequestWithValuesOfItsOwn() async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: never))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = 300 }
        let request = URLRequest(
            url: server.url(), cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 0.1)
        let task = session.dataTask(with: request)
        #expect(task.originalRequest?.cachePolicy == .reloadIgnoringLocalCacheData)
        #expect(task.originalRequest?.timeoutInterval == 0.1)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // C-6, C-7, C-8: as programs write it for streams of events
    @Test("a timeout of zero or less is none", arguments: [0, -1]) func noTimeout(value: Double) async throws {
        let held = Signal("the answers")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) {
            $0.timeoutIntervalForRequest = value
            $0.timeoutIntervalForResource = value
        }
        session.dataTask(with: server.url()).resume()
        session.dataTask(with: URLRequest(url: server.url(), timeoutInterval: value)).resume()
        try await eventually { server.requests.count == 2 }
        // One that has a timeout ends by it.
        session.dataTask(with: URLRequest(url: server.url(), timeoutInterval: 0.2)).resume()
        #expect(try await delegate.calls(untilCompletions: 1).last == .completed(3, .timedOut))
        held.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.contains(.completed(1, nil)) && calls.contains(.completed(2, nil)))
    }
}

/// Implements a method of each protocol.
private final class EveryKindDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate,
    URLSessionStreamDelegate
{
    let calls = EventRecorder<String>()

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        calls.record("session: invalid")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        calls.record("\(task.taskIdentifier) task: metrics")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.record("\(task.taskIdentifier) task: completed")
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        calls.record("\(dataTask.taskIdentifier) data: response")
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        calls.record("\(dataTask.taskIdentifier) data: data")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        calls.record("\(downloadTask.taskIdentifier) download: wrote")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        calls.record("\(downloadTask.taskIdentifier) download: finished")
    }

    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        calls.record("\(streamTask.taskIdentifier) stream: read closed")
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        calls.record("\(streamTask.taskIdentifier) stream: write closed")
    }
}
