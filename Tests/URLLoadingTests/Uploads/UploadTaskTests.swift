import Foundation
import TestSupport
import Testing
import URLLoading

/// Upload tasks with data and files: requests, callbacks, results.
@Suite(.leavesNothing) struct UploadTaskTests {
    enum Kind: CaseIterable { case data, file, stream }

    private static let body = [UInt8].pattern(count: 300_000)

    private func task(
        _ kind: Kind, _ bytes: [UInt8], _ directory: TemporaryDirectory
    ) throws -> (URLSession, URLRequest) -> URLSessionUploadTask {
        let file = try directory.write(bytes, to: "body")
        return { session, request in
            switch kind {
            case .data: session.uploadTask(with: request, from: Data(bytes))
            case .file: session.uploadTask(with: request, fromFile: file)
            case .stream: session.uploadTask(withStreamedRequest: request)
            }
        }
    }

    // S-32, S-50, S-51, T-31, T-53, S-76, MISC-5
    @Test("requests and callbacks", arguments: Kind.allCases, [true, false])
    func requestsAndCallbacks(kind: Kind, isSecure: Bool) async throws {
        let server = try ScriptedServer.weighing(tls: isSecure ? TrustedAuthority.server() : nil)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        let queue = OperationQueue(name: "delegate", width: 4)
        let run = UploadRun(server: server, ownBody: Data("ignored".utf8), queue: queue)
        let calls = try await run.calls(delegate, task(kind, Self.body, directory))
        let size = Int64(Self.body.count)
        let expected = kind == .stream ? -1 : size
        #expect(
            calls == [.created(1)] + (kind == .stream ? [.needsStream(1, 0)] : []) + [
                .sent(1, size, expected), .response(1, 200), .data(1, "PUT \(Self.body.weight)"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        let request = try #require(server.requests.first)
        #expect(request["Content-Length"] == (kind == .stream ? nil : "\(size)"))
        #expect(request["Transfer-Encoding"] == (kind == .stream ? "chunked" : nil))
        #expect(delegate.sent.events.map { $0[0] }.reduce(0, +) == size)
        #expect(delegate.sent.events.map { $0[1] } == delegate.sent.events.map { $0[1] }.sorted())
        #expect(delegate.metrics.events.first?.transactionMetrics.first?.countOfRequestBodyBytesBeforeEncoding == size)
    }

    // T-15, T-21: before anything is sent
    @Test("how much is to be sent", arguments: Kind.allCases) func howMuchIsToBeSent(kind: Kind) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let session = URLSession(RecordingUploadDelegate(Self.body))
        let task = try task(kind, Self.body, directory)(session, UploadRun(server: server).request)
        let size: Int64 = kind == .stream ? NSURLSessionTransferSizeUnknown : Int64(Self.body.count)
        #expect(task.countOfBytesExpectedToSend == size)
        #expect(task.countOfBytesSent == 0)
        #expect(task.originalRequest == UploadRun(server: server).request)
        let progress = task.progress
        task.resume()
        session.finishTasksAndInvalidate()
        let delegate = try #require(session.delegate as? RecordingDelegate)
        _ = try await delegate.callsUntilInvalid()
        #expect(task.countOfBytesSent == Self.body.count)
        #expect(progress.fractionCompleted == 1)
        #expect(progress.isFinished)
    }

    // T-21: the length of the response is unknown until all is sent, and must not hide how much is
    @Test("the progress of a body that takes a while") func progressWhileSending() async throws {
        let (mayGoOn, mayAnswer) = (Signal("the rest"), Signal("the response"))
        let body = [UInt8](repeating: 120, count: 20_000_000)
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            _ = try connection.receive(exactly: 1_000_000)
            try mayGoOn.wait()
            _ = try connection.receive(exactly: 19_000_000)
            try mayAnswer.wait()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        }
        defer { server.stop() }
        let session = URLSession(RecordingUploadDelegate(Self.body))
        let task = session.uploadTask(with: UploadRun(server: server).request, from: Data(body))
        let (progress, all) = (task.progress, Progress(totalUnitCount: 7))
        all.addChild(progress, withPendingUnitCount: 7)
        var updates = task.statusUpdates.makeAsyncIterator()
        task.resume()
        session.finishTasksAndInvalidate()
        while let status = await updates.next(), status.countOfBytesSent == 0 {}
        // The progress is reported just after the counter.
        let end = ContinuousClock.now + .testDeadline
        while progress.totalUnitCount < 0, ContinuousClock.now < end { await Task.yield() }
        #expect(progress.totalUnitCount == 20_000_000)
        let begun = progress.fractionCompleted
        #expect(begun > 0 && begun < 1 && all.fractionCompleted > 0)
        mayGoOn.fire()
        while let status = await updates.next(), status.countOfBytesSent < 20_000_000 {
            #expect(status.fractionCompleted >= begun && status.fractionCompleted < 1)
        }
        while progress.completedUnitCount < 19_999_999, ContinuousClock.now < end { await Task.yield() }
        #expect(progress.completedUnitCount == 19_999_999)
        #expect(!progress.isFinished)
        mayAnswer.fire()
        while await updates.next() != nil {}
        #expect(progress.isFinished && all.isFinished)
        #expect(progress.completedUnitCount == 20_000_000)
    }

    // S-51, MISC-4, MISC-5: nothing is a body too
    @Test("an empty body", arguments: Kind.allCases) func anEmptyBody(kind: Kind) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let calls = try await UploadRun(server: server).calls(
            RecordingUploadDelegate([]), task(kind, [], directory))
        #expect(
            calls == [.created(1)] + (kind == .stream ? [.needsStream(1, 0)] : []) + [
                .response(1, 200), .data(1, "PUT 0:0"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.requests.first?["Content-Length"] == (kind == .stream ? nil : "0"))
    }

    // MISC-4
    @Test("the type of a body", arguments: Kind.allCases, ["POST", "PUT"])
    func theTypeOfABody(kind: Kind, method: String) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        _ = try await UploadRun(server: server, method: method).calls(
            RecordingUploadDelegate(Self.body), task(kind, Self.body, directory))
        #expect(
            server.requests.first?["Content-Type"] == (method == "POST" ? "application/x-www-form-urlencoded" : nil))
    }

    // ERR-9
    @Test("a GET carries no body", arguments: Kind.allCases) func aGETCarriesNoBody(kind: Kind) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let calls = try await UploadRun(server: server, method: "GET").calls(
            RecordingUploadDelegate(Self.body), task(kind, Self.body, directory))
        #expect(calls == [.created(1), .metrics(1), .completed(1, .dataLengthExceedsMaximum), .invalid])
        #expect(server.connectionCount == 0)
    }

    // T-15: an announced length frames the stream
    @Test("a stream of an announced length") func aStreamOfAnAnnouncedLength() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let run = UploadRun(server: server, fields: ["Content-Length": "5"])
        let calls = try await run.calls(RecordingUploadDelegate(Array("hello".utf8))) {
            $0.uploadTask(withStreamedRequest: $1)
        }
        #expect(
            calls == [
                .created(1), .needsStream(1, 0), .sent(1, 5, 5), .response(1, 200),
                .data(1, "PUT \("hello".utf8.weight)"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(server.requests.first?["Content-Length"] == "5")
    }

    // S-69 of its kind, T-44: an upload is a data task
    @Test("the response of an upload becomes a download") func theResponseOfAnUploadBecomesADownload() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { $1(.becomeDownload) }
        let counters = EventRecorder<[Int64]>()
        delegate.became = { counters.record([$0.countOfBytesSent, $0.countOfBytesExpectedToSend]) }
        let calls = try await UploadRun(server: server).calls(delegate) {
            $0.uploadTask(with: $1, from: Data("hello".utf8))
        }
        let text = "PUT \("hello".utf8.weight)"
        let size = text.utf8.count
        #expect(
            calls == [
                .created(1), .sent(1, 5, 5), .response(1, 200), .became(1, 2), .wrote(2, Int64(size), Int64(size)),
                .downloaded(2, size), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(counters.events == [[5, 5]])
    }

    // MARK: Handlers

    // T-46, T-47, T-48: with a handler the delegate still gets the body's progress
    @Test("with a completion handler", arguments: [true, false]) func withACompletionHandler(isFile: Bool) async throws
    {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write(Self.body, to: "body")
        let delegate = RecordingDelegate()
        let calls = delegate.calls
        let session = URLSession(delegate)
        let request = UploadRun(server: server).request
        let task =
            isFile
            ? session.uploadTask(with: request, fromFile: file, completionHandler: calls.handler)
            : session.uploadTask(with: request, from: Data(Self.body), completionHandler: calls.handler)
        task.resume()
        session.finishTasksAndInvalidate()
        let size = Int64(Self.body.count)
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .sent(1, size, size), .metrics(1), .handled("PUT \(Self.body.weight)", 200, nil), .invalid,
            ])
    }

    // T-47, T-53
    @Test("a handler's task without a body") func aHandlersTaskWithoutABody() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let calls = EventRecorder<Call>()
        let session = URLSession { _ in }
        session.uploadTask(
            with: UploadRun(server: server, ownBody: Data("x".utf8)).request, from: nil,
            completionHandler: calls.handler
        ).resume()
        session.finishTasksAndInvalidate()
        #expect(try await calls.waitFor(count: 1) == [.handled("PUT 0:0", 200, nil)])
    }

    // T-48
    @Test("a handler gets the error") func aHandlerGetsTheError() async throws {
        let port = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
        let calls = EventRecorder<Call>()
        let session = URLSession { _ in }
        let request = URLRequest(url: url).with { $0.httpMethod = "PUT" }
        session.uploadTask(with: request, from: Data("x".utf8), completionHandler: calls.handler).resume()
        session.finishTasksAndInvalidate()
        #expect(try await calls.waitFor(count: 1) == [.handled(nil, nil, .cannotConnectToHost)])
    }

    // T-55, S-32
    @Test("awaited, with and without a delegate", arguments: [true, false], [true, false])
    func awaitedWithAndWithoutADelegate(isFile: Bool, hasDelegate: Bool) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write(Self.body, to: "body")
        let session = URLSession { _ in }
        let request = UploadRun(server: server).request
        let delegate = RecordingDelegate()
        let (data, response) =
            switch (isFile, hasDelegate) {
            case (true, true): try await session.upload(for: request, fromFile: file, delegate: delegate)
            case (true, false): try await session.upload(for: request, fromFile: file)
            case (false, true): try await session.upload(for: request, from: Data(Self.body), delegate: delegate)
            case (false, false): try await session.upload(for: request, from: Data(Self.body))
            }
        #expect(String(decoding: data, as: UTF8.self) == "PUT \(Self.body.weight)")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let size = Int64(Self.body.count)
        #expect(delegate.calls.events.joined == (hasDelegate ? [.created(1), .sent(1, size, size), .metrics(1)] : []))
        session.finishTasksAndInvalidate()
    }

    // T-56
    @Test("awaited and cancelled") func awaitedAndCancelled() async throws {
        let hasBegun = Signal("a request")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            hasBegun.fire()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        let request = UploadRun(server: server).request
        let task = Task { try await session.upload(for: request, from: Data(count: 64 << 20)) }
        try await hasBegun.wait()
        task.cancel()
        await #expect(throws: URLError.self) { _ = try await task.value }
        session.invalidateAndCancel()
        try await server.connection(0).waitForEnd()
    }

    // S-87
    @Test("an upload is listed as one") func anUploadIsListedAsOne() async throws {
        let session = URLSession { _ in }
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let task = session.uploadTask(with: URLRequest(url: url), from: Data())
        let (data, uploads, downloads) = await session.tasks
        #expect(data == [])
        #expect(uploads == [task])
        #expect(downloads == [])
        session.invalidateAndCancel()
    }
}
