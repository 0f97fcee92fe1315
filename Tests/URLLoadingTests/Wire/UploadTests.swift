import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Request bodies.
@Suite(.leavesNothing) struct UploadTests {
    private typealias SentBody = LoadRecorder.SentBody

    private func post(_ url: URL, _ body: Data, expects: Bool = false) -> URLRequest {
        URLRequest(url: url).with {
            $0.httpMethod = "POST"
            $0.httpBody = body
            if expects { $0.setValue("100-continue", forHTTPHeaderField: "Expect") }
        }
    }

    // MARK: Progress

    // T-14, T-15, T-29
    @Test("the progress of a body of data") func theProgressOfABodyOfData() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        let recorder = LoadRecorder()
        let task = recorder.start(post(server.url(), Data("abc".utf8)))
        #expect(task.countOfBytesExpectedToSend == 3)
        #expect(try await recorder.finish() == [.response(200), .data("ok"), .succeeded, .invalid])
        #expect(recorder.sent.events == [SentBody(count: 3, total: 3, expected: 3)])
        #expect(task.countOfBytesSent == 3)
        #expect(task.countOfBytesReceived == 2)
        #expect(task.countOfBytesExpectedToReceive == 2)
    }

    // T-14, T-15: what frames the chunks is not counted
    @Test("the progress of a stream counts its bytes alone", arguments: [3, 150_000])
    func theProgressOfAStreamCountsItsBytesAlone(length: Int) async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        let recorder = LoadRecorder()
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.httpBodyStream = InputStream(data: Data([UInt8].pattern(count: length)))
        }
        let task = recorder.start(request)
        #expect(task.countOfBytesExpectedToSend == NSURLSessionTransferSizeUnknown)
        _ = try await recorder.finish()
        #expect(task.countOfBytesSent == length)
        let sent = recorder.sent.events
        #expect(sent.map(\.count).reduce(0, +) == length)
        #expect(sent.last?.total == Int64(length))
        #expect(sent.allSatisfy { $0.expected == -1 && $0.count > 0 })
    }

    // T-15
    @Test("a stream is checked against Content-Length")
    func aStreamIsCheckedAgainstContentLength() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        let recorder = LoadRecorder()
        let task = recorder.start(
            URLRequest(url: server.url()).with {
                $0.httpMethod = "POST"
                $0.setValue("5", forHTTPHeaderField: "Content-Length")
                $0.httpBodyStream = InputStream(data: Data("hello".utf8))
            })
        #expect(task.countOfBytesExpectedToSend == 5)
        _ = try await recorder.finish()
        #expect(recorder.sent.events.last == SentBody(count: 5, total: 5, expected: 5))
    }

    // MISC-5, MISC-6: a length that is not the stream's never makes the next bytes another request
    @Test("a stream longer than announced is not sent beyond its length")
    func aStreamLongerThanAnnouncedIsNotSentBeyondItsLength() async throws {
        let server = try ScriptedServer.answering { .text($0.bodyText) }
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.setValue("5", forHTTPHeaderField: "Content-Length")
            $0.httpBodyStream = InputStream(data: Data("helloGET /evil HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        }
        let recorded = try await LoadRecorder.load(request)
        #expect(recorded == [.response(200), .data("hello"), .succeeded, .invalid])
        #expect(server.requests.map(\.target) == ["/"])
    }

    // ERR-10
    @Test("a stream shorter than announced fails") func aStreamShorterThanAnnouncedFails() async throws {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.setValue("50", forHTTPHeaderField: "Content-Length")
            $0.httpBodyStream = InputStream(data: Data("hello".utf8))
        }
        #expect(try await LoadRecorder.load(request) == [.failed(.requestBodyStreamExhausted), .invalid])
    }

    // ERR-10
    @Test("a stream that cannot be read fails") func aStreamThatCannotBeReadFails() async throws {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.httpBodyStream = InputStream(fileAtPath: "/nonexistent/file")
        }
        #expect(try await LoadRecorder.load(request) == [.failed(.requestBodyStreamExhausted), .invalid])
    }

    // T-5, T-9, S-84: a stream that does not come back keeps its own thread and nothing else
    @Test("a stream whose read blocks", arguments: [true, false]) func aStreamWhoseReadBlocks(
        times: Bool
    ) async throws {
        let isRead = Signal("a read of the stream")
        let release = Signal("the end of the read")
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let calls: EventRecorder<Call>
        weak var weakSession: URLSession?
        weak var weakDelegate: RecordingDelegate?
        weak var weakStream: BlockingInputStream?
        do {
            let delegate = RecordingDelegate()
            let session = URLSession(delegate) { if times { $0.timeoutIntervalForRequest = 0.2 } }
            let stream = BlockingInputStream(Array("late".utf8), onRead: isRead, until: release)
            let task = session.dataTask(
                with: URLRequest(url: server.url()).with {
                    $0.httpMethod = "POST"
                    $0.httpBodyStream = stream
                })
            task.resume()
            session.finishTasksAndInvalidate()
            try await isRead.wait()
            if !times { task.cancel() }
            (calls, weakSession, weakDelegate, weakStream) = (delegate.calls, session, delegate, stream)
        }
        let code = times ? URLError.Code.timedOut : .cancelled
        try await calls.wait(for: .invalid)
        #expect(calls.events == [.created(1), .metrics(1), .completed(1, code), .invalid])
        try await server.connection(0).waitForEnd()
        try await Self.waitUntilGone { weakSession == nil && weakDelegate == nil }
        #expect(weakStream != nil)
        release.fire()
        try await Self.waitUntilGone { weakStream == nil }
    }

    /// Polls, because there is no event for the release of an object.
    private static func waitUntilGone(_ isGone: () -> Bool) async throws {
        let end = ContinuousClock.now + .testDeadline
        while !isGone(), ContinuousClock.now < end { await Task.yield() }
        #expect(isGone())
    }

    // CONN-22, T-29: a slow server holds the reading of the stream up
    @Test("a large stream needs little memory", .timeLimit(.minutes(2))) func aLargeStreamNeedsLittleMemory()
        async throws
    {
        let length = 128 << 20
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "large")
        #expect(truncate(file.path, off_t(length)) == 0)
        let goOn = Signal("the server to go on")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.wait(for: goOn)
            var left = length - (try connection.receive().count)
            while left > 0 { left -= try connection.receive().count }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let recorder = LoadRecorder()
        let before = Memory.resident
        recorder.start(
            URLRequest(url: server.url()).with {
                $0.httpMethod = "PUT"
                $0.setValue("\(length)", forHTTPHeaderField: "Content-Length")
                $0.httpBodyStream = InputStream(url: file)
            })
        // The kernel's buffers are full when no progress is reported for a while; the progress stays far below.
        try await recorder.sent.waitFor(count: 1)
        goOn.fire()
        #expect(try await recorder.finish(within: .seconds(100)) == [.response(200), .succeeded, .invalid])
        #expect(Memory.resident - before < Memory.limit(32 << 20))
        #expect(recorder.sent.events.last?.total == Int64(length))
        #expect(recorder.sent.events.map(\.count).reduce(0, +) == length)
    }

    // MARK: Expect: 100-continue

    // CONN-23, T-54
    @Test("the body waits for 100 Continue", arguments: [5, 500_000])
    func theBodyWaitsFor100Continue(length: Int) async throws {
        let body = [UInt8].pattern(count: length)
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            #expect(head["Expect"] == "100-continue")
            #expect(connection.record.bytesReceived == head.head.count)
            try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            let request = try connection.readBody(of: head)
            #expect(request.body == body)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(post(server.url(), Data(body), expects: true))
                == [.informational(100), .response(200), .data("ok"), .succeeded, .invalid])
        try await server.finish()
    }

    // CONN-23
    @Test("the body is sent after one second without 100 Continue") func theBodyIsSentAfterOneSecondWithout100Continue()
        async throws
    {
        let isHeadRead = Signal("the head")
        let isBodyDue = Signal("the end of a second")
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            isHeadRead.fire()
            try connection.waitForBytes()
            #expect(isBodyDue.isFired)
            let request = try connection.readBody(of: head)
            #expect(request.bodyText == "hello")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let recorder = LoadRecorder()
        recorder.start(post(server.url(), Data("hello".utf8), expects: true)) { $0.loop = stepped.loop }
        try await isHeadRead.wait()
        try await stepped.step(by: TimeLimits.seconds(1) - 1)
        #expect(recorder.sent.count == 0)
        isBodyDue.fire()
        try await stepped.step(by: 1)
        #expect(try await recorder.finish() == [.response(200), .data("ok"), .succeeded, .invalid])
        try await server.finish()
    }

    // CONN-23: after a refusal the body is not sent, and the connection is closed
    @Test("a final answer instead of 100 Continue spares the body", arguments: [417, 401, 200])
    func aFinalAnswerInsteadOf100ContinueSparesTheBody(status: Int) async throws {
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            try connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nno")
            try connection.waitForClose()
            #expect(connection.record.bytesReceived == head.head.count)
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(post(server.url(), Data("hello".utf8), expects: true))
                == [.response(status), .data("no"), .succeeded, .invalid])
        try await server.finish()
    }

    // CONN-23: nothing to wait for
    @Test("an expectation without a body is not waited for") func anExpectationWithoutABodyIsNotWaitedFor() async throws
    {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        let request = URLRequest(url: server.url(), timeoutInterval: 0.8).with {
            $0.setValue("100-continue", forHTTPHeaderField: "Expect")
        }
        #expect(try await LoadRecorder.load(request) == [.response(200), .data("ok"), .succeeded, .invalid])
    }

    // MARK: Answers before the body is through

    // CONN-27: the refusal counts, whatever becomes of the rest of the body
    @Test("a refusal in the middle of a body") func aRefusalInTheMiddleOfABody() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(post(server.url(), Data(count: 64 << 20)))
                == [.response(413), .data("no"), .succeeded, .invalid])
    }

    // CONN-27: a server that refuses and hangs up with the body unread resets the connection
    @Test("a refusal and a reset in the middle of a body", arguments: 0..<20)
    func aRefusalAndAResetInTheMiddleOfABody(run: Int) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            connection.reset()
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(post(server.url(), Data(count: 16 << 20)))
                == [.response(413), .data("no"), .succeeded, .invalid])
    }

    // T-29: a server may answer while it reads
    @Test("an answer that begins before the body is through") func anAnswerThatBeginsBeforeTheBodyIsThrough()
        async throws
    {
        let body = [UInt8].pattern(count: 8 << 20)
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            let request = try connection.readBody(of: head)
            #expect(request.body == body)
            try connection.send("ok")
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(post(server.url(), Data(body)))
                == [.response(200), .data("ok"), .succeeded, .invalid])
        try await server.finish()
    }
}
