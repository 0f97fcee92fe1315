import Foundation
import TestSupport
import Testing
import URLLoading

/// Uploads of background sessions that go on with resume data.
@Suite(.leavesNothing) struct BackgroundUploadResumptionTests {
    private static let body = [UInt8].pattern(count: 1_000_000)

    private let service: BackgroundServiceInProcess
    private let server: ResumableUploadServer
    private let file: URL

    init() throws {
        service = try BackgroundServiceInProcess()
        var options = ResumableUploadServer.Options()
        options.stall = 300_000
        server = try ResumableUploadServer(options)
        file = try service.folder.write(Self.body, to: "own/body")
    }

    private func session(_ delegate: any URLSessionDelegate, _ isInBackground: Bool = true) -> URLSession {
        URLSession(
            configuration: isInBackground ? service.configuration() : .ephemeral, delegate: delegate,
            delegateQueue: nil)
    }

    private var request: URLRequest {
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.setValue("text/x", forHTTPHeaderField: "Content-Type")
        return request
    }

    private func end(_ session: URLSession, _ delegate: BackgroundDelegate) async throws {
        session.finishTasksAndInvalidate()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
    }

    /// Resumes the upload, in a background session or in another one, and checks that the rest was sent.
    private func resume(_ data: Data, _ session: URLSession, _ delegate: BackgroundDelegate) async throws {
        session.uploadTask(withResumeData: data).resume()
        let calls = try await delegate.calls.waitUntil("the second end") {
            $0.contains { if case .completed(_, nil) = $0 { true } else { false } }
        }
        #expect(calls.contains { if case .data(_, "\(Self.body.count)") = $0 { true } else { false } })
        #expect(server.requests == ["POST /", "HEAD /uploads/0", "PATCH /uploads/0 from 300000"])
        #expect(server.uploads.map(\.bytes) == [Data(Self.body)])
        #expect(server.faults == [])
    }

    // RES-13, BG-2: the copy that was sent first and the file, or its next copy, count as the same file
    @Test("an upload of the service is resumed", arguments: [false, true], [false, true])
    func resumed(isInBackground: Bool, isRelaunched: Bool) async throws {
        defer { server.stop() }
        var delegate = BackgroundDelegate()
        var session = session(delegate)
        session.uploadTask(with: request, fromFile: file).resume()
        try await server.hasStalled.wait()
        if isRelaunched {
            try await end(session, delegate)
            delegate = BackgroundDelegate()
            session = self.session(delegate)
        }
        let task = try #require(await session.allTasks.first as? URLSessionUploadTask)
        #expect(task.countOfBytesExpectedToSend == Int64(Self.body.count))
        let data = try #require(await task.cancelByProducingResumeData())
        if isInBackground {
            try await resume(data, session, delegate)
        } else {
            let other = BackgroundDelegate()
            let foreground = self.session(other, false)
            try await resume(data, foreground, other)
            try await end(foreground, other)
        }
        try await end(session, delegate)
        service.stop()
    }

    // RES-13, T-50: what the resume data has is no programming error
    @Test("resume data of an upload from data or a stream", arguments: [true, false])
    func ofAnotherUpload(isData: Bool) async throws {
        defer { server.stop() }
        let recording = RecordingUploadDelegate(Self.body)
        let foreground = URLSession(recording) { _ in }
        let task =
            isData
            ? foreground.uploadTask(with: request, from: Data(Self.body))
            : foreground.uploadTask(withStreamedRequest: request)
        task.resume()
        try await server.hasStalled.wait()
        try await recording.calls.wait(for: .informational(1, 104))
        let data = try #require(await task.cancelByProducingResumeData())
        foreground.finishTasksAndInvalidate()
        _ = try await recording.callsUntilInvalid()
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        if isData {
            try await resume(data, session, delegate)
        } else {
            session.uploadTask(withResumeData: data).resume()
            _ = try await delegate.calls.waitUntil("the end") { $0.contains { $0.isCompletion } }
            #expect(delegate.errors.events.map { $0?.code } == [.requestBodyStreamExhausted])
        }
        try await end(session, delegate)
        service.stop()
    }
}
