import Foundation
import TestSupport
import Testing
import URLLoading

/// Download tasks: callbacks, and the file.
@Suite(.leavesNothing) struct DownloadTaskTests {
    /// Larger than the pipe between socket and file, so that it is filled several times.
    private static let long = [UInt8].pattern(count: 3_000_000)

    private func download(
        _ url: URL, _ delegate: RecordingDownloadDelegate, _ prepare: (URLSessionDownloadTask) -> Void = { _ in }
    ) async throws -> [Call] {
        let session = URLSession(delegate)
        let task = session.downloadTask(with: url)
        prepare(task)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private func exists(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }

    private static func temporaryFiles() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory()))
            .filter { $0.hasPrefix("CFNetworkDownload_") }
    }

    // T-30, S-33, S-67, S-70, S-71
    @Test("a long body with a length", arguments: [false, true]) func aLongBodyWithALength(isSecure: Bool) async throws
    {
        let server = try ScriptedServer.answering(
            .bytes(Self.long), tls: isSecure ? TrustedAuthority.server() : nil)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let size = Self.long.count
        #expect(
            try await download(server.url(), delegate) == [
                .created(1), .wrote(1, Int64(size), Int64(size)), .downloaded(1, size), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(Self.long)])
        #expect(delegate.locations.events.map(exists) == [false])
    }

    // T-30, S-70: 404 and others are files like any
    @Test("a short body", arguments: [200, 404, 503]) func aShortBody(status: Int) async throws {
        let server = try ScriptedServer.answering(.text("hello", status: status))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        #expect(
            try await download(server.url(), delegate) == [
                .created(1), .wrote(1, 5, 5), .downloaded(1, 5), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data("hello".utf8)])
    }

    // T-30
    @Test("an empty body is an empty file", arguments: [200, 204]) func anEmptyBodyIsAnEmptyFile(status: Int)
        async throws
    {
        let server = try ScriptedServer.answering(.status(status))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        #expect(
            try await download(server.url(), delegate) == [
                .created(1), .downloaded(1, 0), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-14, T-38: what came before the failure is reported and counted, though the file is still being written then
    @Test("a body that breaks off at once") func aBodyThatBreaksOff() async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + String(repeating: "x", count: 50)
        let server = try ScriptedServer(steps: [.expectRequest, .send(response), .close])
        defer { server.stop() }
        // Which is first, the end of the connection or that of the writing, is not the same each time.
        for _ in 0..<20 {
            var broken: URLSessionDownloadTask?
            let calls = try await download(server.url(), RecordingDownloadDelegate()) { broken = $0 }
            #expect(
                calls == [
                    .created(1), .wrote(1, 50, 100), .metrics(1), .completed(1, .networkConnectionLost), .invalid,
                ])
            #expect(broken?.countOfBytesReceived == 50)
        }
    }

    // T-25, T-30: the expected total is unknown
    @Test("chunks") func chunks() async throws {
        let pieces = stride(from: 0, to: Self.long.count, by: 250_000).map { Array(Self.long[$0..<$0 + 250_000]) }
        let server = try ScriptedServer.answering(CannedResponse(body: .chunks(pieces, trailers: [])))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let size = Self.long.count
        #expect(
            try await download(server.url(), delegate) == [
                .created(1), .wrote(1, Int64(size), -1), .downloaded(1, size), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        #expect(delegate.contents.events == [Data(Self.long)])
    }

    // T-30
    @Test("a body until the connection closes") func aBodyUntilTheConnectionCloses() async throws {
        let server = try ScriptedServer.answering(CannedResponse(body: .untilClose(Self.long)))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        _ = try await download(server.url(), delegate)
        #expect(delegate.contents.events == [Data(Self.long)])
    }

    // S-70: a moved file is kept
    @Test("a file that is moved stays") func aFileThatIsMovedStays() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let kept = folder.file("kept")
        let delegate = RecordingDownloadDelegate()
        delegate.during = { call, _, _ in
            if case .downloaded = call, let location = delegate.locations.events.last {
                try? FileManager.default.moveItem(at: location, to: kept)
            }
        }
        _ = try await download(server.url(), delegate)
        #expect(try Data(contentsOf: kept) == Data("hello".utf8))
    }

    // S-70: readable by the current user only
    @Test("the file is for its user only") func theFileIsForItsUserOnly() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (file, _) = try await session.download(from: server.url())
        defer { try? FileManager.default.removeItem(at: file) }
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        session.invalidateAndCancel()
    }

    // T-46, T-49
    @Test("a handler gets a file that lives as long as the call") func aHandlerGetsAFileThatLivesAsLongAsTheCall()
        async throws
    {
        let server = try ScriptedServer.answering(.text("hello", status: 404))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let outcome: (file: URL?, content: Data?, status: Int?, code: URLError.Code?) =
            await withCheckedContinuation { continuation in
                session.downloadTask(with: server.url()) { file, response, error in
                    continuation.resume(
                        returning: (
                            file, file.flatMap { try? Data(contentsOf: $0) },
                            (response as? HTTPURLResponse)?.statusCode, error?.urlErrorCode
                        ))
                }.resume()
            }
        session.finishTasksAndInvalidate()
        #expect(outcome.content == Data("hello".utf8))
        #expect(outcome.status == 404)
        #expect(outcome.code == nil)
        #expect(try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .invalid])
        #expect(outcome.file.map(exists) == false)
    }

    // T-55, T-57
    @Test("an async caller owns the file") func anAsyncCallerOwnsTheFile() async throws {
        let server = try ScriptedServer.answering(.bytes(Self.long))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (file, response) = try await session.download(for: URLRequest(url: server.url()))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(try Data(contentsOf: file) == Data(Self.long))
        session.invalidateAndCancel()
    }

    // T-59, T-55: the task's own delegate gets the progress, and the caller gets the file
    @Test("an async caller's delegate") func anAsyncCallersDelegate() async throws {
        let server = try ScriptedServer.answering(.bytes(Self.long))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let own = RecordingDownloadDelegate()
        let (file, _) = try await session.download(from: server.url(), delegate: own)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(Self.long))
        let size = Int64(Self.long.count)
        #expect(own.calls.events.joined == [.created(1), .wrote(1, size, size), .metrics(1)])
        let (other, _) = try await session.download(from: server.url())
        defer { try? FileManager.default.removeItem(at: other) }
        session.invalidateAndCancel()
        #expect(try await delegate.callsUntilInvalid() == [.created(2), .metrics(2), .invalid])
    }

    // T-48: no half file is a success, and none is left
    @Test("a connection that is lost in the body", arguments: [false, true]) func aConnectionThatIsLostInTheBody(
        isCounted: Bool
    ) async throws {
        let before = try Self.temporaryFiles()
        let head = isCounted ? "Content-Length: 4000000\r\n\r\n" : "Transfer-Encoding: chunked\r\n\r\nffffff\r\n"
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\n" + head), .sendBytes(Self.long), .close,
        ])
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let calls = try await download(server.url(), delegate)
        #expect(
            calls.filter { if case .wrote = $0 { false } else { true } } == [
                .created(1), .metrics(1), .completed(1, .networkConnectionLost), .invalid,
            ])
        #expect(try Self.temporaryFiles() == before)
    }

    // T-7, T-56: cancelled while it writes
    @Test("cancelling leaves no file") func cancellingLeavesNoFile() async throws {
        let before = try Self.temporaryFiles()
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.during = { call, _, task in if case .wrote = call { task?.cancel() } }
        let calls = try await download(server.url(), delegate)
        #expect(
            calls.filter { if case .wrote = $0 { false } else { true } } == [
                .created(1), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(try Self.temporaryFiles() == before)
    }

    // T-20
    @Test("pieces are never delivered to a download") func piecesAreNeverDeliveredToADownload() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        var values: [Bool] = []
        _ = try await download(server.url(), delegate) { task in
            values = [task.prefersIncrementalDelivery]
            task.prefersIncrementalDelivery = true
            values.append(task.prefersIncrementalDelivery)
        }
        #expect(values == [false, false])
    }

    // T-14, T-16, T-21
    @Test("counters and progress") func countersAndProgress() async throws {
        let server = try ScriptedServer.answering(.bytes(Self.long))
        defer { server.stop() }
        let session = URLSession(RecordingDownloadDelegate())
        let done = Signal("the end")
        let task = session.downloadTask(with: server.url()) { _, _, _ in done.fire() }
        let progress = task.progress
        task.resume()
        try await done.wait()
        session.finishTasksAndInvalidate()
        #expect(task.countOfBytesReceived == Int64(Self.long.count))
        #expect(task.countOfBytesExpectedToReceive == Int64(Self.long.count))
        #expect(progress.fractionCompleted == 1)
    }
}
