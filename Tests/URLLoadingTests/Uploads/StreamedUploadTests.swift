import Foundation
import TestSupport
import Testing
import URLLoading

/// Uploads of streams: delegate callbacks, and faulty streams.
@Suite(.leavesNothing) struct StreamedUploadTests {
    private static let body = [UInt8].pattern(count: 200_000)

    private func calls(_ run: UploadRun, _ delegate: RecordingDelegate) async throws -> [Call] {
        try await run.calls(delegate) { $0.uploadTask(withStreamedRequest: $1) }
    }

    private static let success: [Call] = [
        .response(1, 200), .data(1, "PUT \(body.weight)"), .metrics(1), .completed(1, nil), .invalid,
    ]

    /// With a task delegate.
    private func calls(
        _ delegate: RecordingDelegate, own: any URLSessionTaskDelegate, _ server: ScriptedServer
    ) async throws -> [Call] {
        try await UploadRun(server: server).calls(delegate) { session, request in
            let task = session.uploadTask(withStreamedRequest: request)
            task.delegate = own
            return task
        }
    }

    // T-51, S-50: the other spelling of the question
    @Test("the delegate awaits the stream") func theDelegateAwaitsTheStream() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let own = AsyncStreamDelegate(Self.body)
        let size = Int64(Self.body.count)
        #expect(
            try await calls(RecordingDelegate(), own: own, server) == [.created(1), .sent(1, size, -1)] + Self.success)
        #expect(own.calls.events == [.needsStream(1, 0)])
    }

    // T-24, T-51: the task's own delegate first, and the session's for what it lacks
    @Test("the session's delegate has the stream") func theSessionsDelegateHasTheStream() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let own = EndDelegate()
        let session = URLSession(RecordingUploadDelegate(Self.body))
        let task = session.uploadTask(withStreamedRequest: UploadRun(server: server).request)
        task.delegate = own
        task.resume()
        session.finishTasksAndInvalidate()
        let delegate = try #require(session.delegate as? RecordingDelegate)
        let size = Int64(Self.body.count)
        #expect(
            try await delegate.callsUntilInvalid()
                == [.created(1), .needsStream(1, 0), .sent(1, size, -1)]
                + Self.success.filter { !$0.isCompletion })
        #expect(own.calls.events == [.completed(1, nil)])
    }

    // T-51, ERR-10
    @Test("the delegate has no stream") func theDelegateHasNoStream() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        #expect(
            try await calls(UploadRun(server: server), RecordingDelegate()) == [
                .created(1), .needsStream(1, 0), .metrics(1), .completed(1, .requestBodyStreamExhausted), .invalid,
            ])
        #expect(server.requests.isEmpty)
    }

    // T-51, ERR-10
    @Test("no delegate for a stream", arguments: [true, false])
    func noDelegateForAStream(hasDelegate: Bool) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = hasDelegate ? URLSession(delegate) : URLSession { _ in }
        let task = session.uploadTask(withStreamedRequest: UploadRun(server: server).request)
        task.resume()
        let end = ContinuousClock.now + .testDeadline
        while task.state != .completed, ContinuousClock.now < end { await Task.yield() }
        #expect(task.error?.urlErrorCode == .requestBodyStreamExhausted)
        session.finishTasksAndInvalidate()
        #expect(server.requests.isEmpty)
    }

    // T-67, C-8: a missing answer is limited by the resource timeout only
    @Test("the stream is never provided") func theStreamIsNeverProvided() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        let held = Watched<[@Sendable (InputStream?) -> Void]>([])
        delegate.stream = { _, answer in held.withValue { $0.append(answer) } }
        var run = UploadRun(server: server)
        run.configure = {
            $0.timeoutIntervalForRequest = 0.1
            $0.timeoutIntervalForResource = 0.6
        }
        #expect(
            try await calls(run, delegate) == [
                .created(1), .needsStream(1, 0), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
        // Too late to have an effect.
        for answer in held.current { answer(InputStream(data: Data(Self.body))) }
        #expect(server.requests.isEmpty)
    }

    // T-67: the first answer counts
    @Test("the delegate answers twice, and from elsewhere") func theDelegateAnswersTwiceAndFromElsewhere() async throws
    {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        delegate.stream = { _, answer in
            Thread {
                answer(InputStream(data: Data(Self.body)))
                answer(InputStream(data: Data("other".utf8)))
            }.start()
        }
        let size = Int64(Self.body.count)
        #expect(
            try await calls(UploadRun(server: server), delegate)
                == [.created(1), .needsStream(1, 0), .sent(1, size, -1)] + Self.success)
    }

    // ERR-10: half a stream is no success, framed or not
    @Test("a stream with troubles", arguments: FaultyInputStream.Fault.allCases, [true, false])
    func aStreamWithTroubles(fault: FaultyInputStream.Fault, isAnnounced: Bool) async throws {
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            if let request = try? connection.readBody(of: head) {
                try connection.send(.text("\(request.body.count)"), to: request)
            }
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        delegate.stream = { $1(FaultyInputStream(fault)) }
        let run = UploadRun(server: server, fields: isAnnounced ? ["Content-Length": "200000"] : [:])
        #expect(
            try await calls(run, delegate).withoutSent == [
                .created(1), .needsStream(1, 0), .metrics(1), .completed(1, .requestBodyStreamExhausted), .invalid,
            ])
    }

    // ERR-3: the code of another domain is not an errno
    @Test("the error of a stream is the cause if it has an errno", arguments: [NSPOSIXErrorDomain, "other"])
    func errorOfAStream(domain: String) async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        try await URLSession.using { session in
            var request = URLRequest(url: server.url())
            request.httpMethod = "POST"
            request.httpBodyStream = FaultyInputStream(.failsAtOnce, errorDomain: domain)
            do {
                _ = try await session.data(for: request)
                Issue.record("the upload succeeds")
            } catch let error as URLError {
                #expect(error.code == .requestBodyStreamExhausted)
                let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
                #expect(cause?.domain == (domain == NSPOSIXErrorDomain ? domain : nil))
                #expect(cause?.code == (domain == NSPOSIXErrorDomain ? Int(EIO) : nil))
            }
        }
    }

    /// Counts the calls of `close`.
    private final class CountingStream: InputStream {
        private var left = 100_000
        private var status = Stream.Status.notOpen
        let closings = Watched(0)

        init() { super.init(data: Data()) }

        override func open() { status = .open }
        override func close() {
            status = .closed
            closings.withValue { $0 += 1 }
        }
        override var streamStatus: Stream.Status { status }
        override var streamError: (any Error)? { nil }
        override var hasBytesAvailable: Bool { true }
        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
            let count = min(left, length)
            left -= count
            buffer.update(repeating: 7, count: count)
            return count
        }
    }

    // Its descriptor would be open for as long as the program has the task or the request.
    @Test("a stream that was sent is closed once", arguments: [true, false])
    func closing(isAnnounced: Bool) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        nonisolated(unsafe) let stream = CountingStream()
        let closings = stream.closings
        try await URLSession.using { session in
            var request = URLRequest(url: server.url())
            request.httpMethod = "POST"
            if isAnnounced { request.setValue("100000", forHTTPHeaderField: "Content-Length") }
            request.httpBodyStream = stream
            let (data, _) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self).hasPrefix("POST 100000:"))
        }
        #expect(closings.current == 1)
    }

    // ERR-10: a consumed stream fails
    @Test("a stream that is spent") func aStreamThatIsSpent() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        delegate.stream = { _, answer in
            let stream = InputStream(data: Data("x".utf8))
            stream.open()
            stream.close()
            answer(stream)
        }
        #expect(
            try await calls(UploadRun(server: server), delegate).failure == .requestBodyStreamExhausted)
    }

    // ERR-10: Foundation's own streams have no error then
    @Test("a stream that the program closes while it is sent") func aStreamThatIsClosedMeanwhile() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let file = try folder.write(Data(count: 30_000_000), to: "body")
        let delegate = RecordingUploadDelegate()
        nonisolated(unsafe) let stream = try #require(InputStream(url: file))
        delegate.stream = { $1(stream) }
        async let recorded = calls(UploadRun(server: server), delegate)
        _ = try await delegate.sent.waitFor(count: 1)
        stream.close()
        #expect(try await recorded.failure == .requestBodyStreamExhausted)
    }

    // S-53, ERR-10: while the first one is still being read and closed
    @Test("the stream that was being sent is given again", arguments: [401, 307])
    func theSameStreamAgain(status: Int) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.send(
                "HTTP/1.1 \(status) Again\r\nWWW-Authenticate: Basic realm=\"r\"\r\nLocation: /other\r\n"
                    + "Content-Length: 0\r\n\r\n")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let file = try folder.write(Data(count: 1_000_000), to: "body")
        for _ in 0..<20 {
            let delegate = RecordingUploadDelegate()
            nonisolated(unsafe) let stream = try #require(InputStream(url: file))
            delegate.stream = { $1(stream) }
            delegate.challenge = { $1(.useCredential, URLCredential(user: "u", password: "p", persistence: .none)) }
            #expect(try await calls(UploadRun(server: server), delegate).failure == .requestBodyStreamExhausted)
        }
    }

    // CONN-15: what never gives a byte is silence
    @Test("a stream without data") func aStreamWithoutData() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        let isRead = Signal("a read")
        let release = Signal("the end of the read")
        delegate.stream = { $1(BlockingInputStream([1], onRead: isRead, until: release)) }
        var run = UploadRun(server: server)
        run.configure = { $0.timeoutIntervalForRequest = 0.3 }
        #expect(
            try await calls(run, delegate) == [
                .created(1), .needsStream(1, 0), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
        release.fire()
    }

    // T-65: a blocked stream does not delay other loads
    @Test("a stream that waits holds up no other task") func aStreamThatWaitsHoldsUpNoOtherTask() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        let isRead = Signal("a read")
        let release = Signal("the end of the read")
        delegate.stream = { $1(BlockingInputStream(Array("late".utf8), onRead: isRead, until: release)) }
        let session = URLSession(delegate)
        session.uploadTask(withStreamedRequest: UploadRun(server: server).request).resume()
        try await isRead.wait()
        let (data, _) = try await session.upload(for: UploadRun(server: server).request, from: Data(Self.body))
        #expect(String(decoding: data, as: UTF8.self) == "PUT \(Self.body.weight)")
        release.fire()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().contains(.data(1, "PUT \("late".utf8.weight)")))
    }
}
