import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Uploads that are cancelled and suspended, in each state.
@Suite(.leavesNothing) struct UploadCancellationTests {
    enum Kind: CaseIterable { case data, file, stream }
    enum Moment: CaseIterable { case created, resumed, asked, sending, response, data }

    private static let length = 4 << 20

    private func task(_ kind: Kind, _ session: URLSession, _ request: URLRequest, _ file: URL) -> URLSessionUploadTask {
        switch kind {
        case .data: session.uploadTask(with: request, from: Data(count: Self.length))
        case .file: session.uploadTask(with: request, fromFile: file)
        case .stream: session.uploadTask(withStreamedRequest: request)
        }
    }

    private func file(in directory: TemporaryDirectory) throws -> URL {
        let file = try directory.write("", to: "large")
        #expect(truncate(file.path, off_t(Self.length)) == 0)
        return file
    }

    private func delegate() -> RecordingUploadDelegate {
        let delegate = RecordingUploadDelegate()
        delegate.stream = { $1(InputStream(data: Data(count: Self.length))) }
        return delegate
    }

    private static func isMoment(_ moment: Moment, _ call: Call) -> Bool {
        switch (moment, call) {
        case (.created, .created), (.asked, .needsStream), (.sending, .sent), (.response, .response), (.data, .data):
            true
        default: false
        }
    }

    // T-5, T-6, T-7: exactly one end
    @Test("cancelled at each moment", arguments: Kind.allCases, Moment.allCases)
    func cancelledAtEachMoment(kind: Kind, moment: Moment) async throws {
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            guard let request = try? connection.readBody(of: head) else { return }
            try? connection.send(.text("done"), to: request)
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = delegate()
        let isCancelled = Watched(false)
        delegate.during = { call, _, task in
            guard Self.isMoment(moment, call) else { return }
            let isFirst = isCancelled.withValue { isCancelled in
                defer { isCancelled = true }
                return !isCancelled
            }
            if isFirst { task?.cancel() }
        }
        let session = URLSession(delegate)
        let task = task(kind, session, UploadRun(server: server).request, try file(in: directory))
        task.resume()
        if moment == .resumed { task.cancel() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        // Only a stream is asked for; and with the last bytes the load is through.
        let mayBeOver = moment == .asked && kind != .stream || moment == .data
        let code: URLError.Code? = mayBeOver && calls.failure == nil ? nil : .cancelled
        #expect(calls.suffix(2) == [.completed(1, code), .invalid])
        #expect(calls.completionCount == 1)
        #expect(task.state == .completed)
    }

    // T-2, CONN-16: what is suspended sends nothing, and goes on where it was
    @Test("suspended at each moment", arguments: Kind.allCases, Moment.allCases)
    func suspendedAtEachMoment(kind: Kind, moment: Moment) async throws {
        let server = try ScriptedServer.answering { .text("\($0.body.count)") }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = delegate()
        let isSuspended = Signal("the suspension")
        delegate.during = { call, _, task in
            guard Self.isMoment(moment, call), !isSuspended.isFired else { return }
            task?.suspend()
            isSuspended.fire()
        }
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = 1 }
        let task = task(kind, session, UploadRun(server: server).request, try file(in: directory))
        task.resume()
        if moment == .resumed {
            task.suspend()
            isSuspended.fire()
        }
        session.finishTasksAndInvalidate()
        if moment != .asked || kind == .stream {
            try await isSuspended.wait()
            task.resume()
        }
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.withoutSent
                == [.created(1)] + (kind == .stream ? [.needsStream(1, 0)] : []) + [
                    .response(1, 200), .data(1, "\(Self.length)"), .metrics(1), .completed(1, nil), .invalid,
                ])
    }

    // T-2: longer than the request may be idle
    @Test("suspended for long in the middle of the body", arguments: Kind.allCases)
    func suspendedForLongInTheMiddleOfTheBody(kind: Kind) async throws {
        let hasHead = Signal("the head")
        let goOn = Signal("the server to go on")
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            hasHead.fire()
            try connection.wait(for: goOn)
            let request = try connection.readBody(of: head)
            try connection.send(.text("\(request.body.count)"), to: request)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = delegate()
        let stepped = try SteppedLoop()
        let session = URLSession(delegate) { $0.loop = stepped.loop }
        let task = task(kind, session, UploadRun(server: server).request, try file(in: directory))
        task.resume()
        session.finishTasksAndInvalidate()
        try await hasHead.wait()
        task.suspend()
        goOn.fire()
        try await stepped.step(by: TimeLimits.seconds(1000))
        #expect(task.state == .suspended)
        task.resume()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.suffix(4) == [.data(1, "\(Self.length)"), .metrics(1), .completed(1, nil), .invalid])
    }

    // S-83, T-6: the session's end is each upload's
    @Test("invalidated in the middle", arguments: Kind.allCases) func invalidatedInTheMiddle(kind: Kind) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = delegate()
        delegate.during = { call, session, _ in if case .sent = call { session.invalidateAndCancel() } }
        let session = URLSession(delegate)
        task(kind, session, UploadRun(server: server).request, try file(in: directory)).resume()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
        #expect(calls.completionCount == 1)
    }
}
