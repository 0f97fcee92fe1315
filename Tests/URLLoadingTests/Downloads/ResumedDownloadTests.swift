import Foundation
import TestSupport
import Testing
import URLLoading

/// Resumed downloads.
@Suite(.leavesNothing) struct ResumedDownloadTests {
    private static let whole = [UInt8].pattern(count: 2_000_000)
    private static let half = 1_000_000

    /// A server with one resource. The first response stalls after half of it; later ones are those of `answer`.
    private func makeServer(
        fields: String = "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n",
        stops: Step = .waitForClose, _ answer: @escaping @Sendable (ReceivedRequest) -> CannedResponse
    ) throws -> ScriptedServer {
        let isFirst = Watched(true)
        return try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if isFirst.withValue({ first in
                    defer { first = false }
                    return first
                }) {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.whole.count)\r\n\(fields)\r\n")
                    try connection.send(Array(Self.whole[..<Self.half]))
                    if case .close = stops { return connection.close() }
                    _ = try connection.waitForClose()
                    return
                }
                let response = answer(request)
                try connection.send(response, to: request)
                if case .untilClose = response.body { return connection.close() }
            }
        }
    }

    /// The 206 response of a server whose resource is unchanged.
    private static func rest(of request: ReceivedRequest) -> CannedResponse {
        guard let range = request["Range"], range.hasPrefix("bytes="), range.hasSuffix("-"),
            let start = Int(range.dropFirst(6).dropLast()), start < whole.count
        else { return .bytes(whole) }
        return CannedResponse(206, body: .bytes(Array(whole[start...])))
            .with(field: "Content-Range", "bytes \(start)-\(whole.count - 1)/\(whole.count)")
            .with(field: "ETag", "\"v1\"")
    }

    /// Stops a download after half of it was written.
    private func stop(_ server: ScriptedServer) async throws -> (data: Data?, calls: [Call]) {
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let stopped = Watched<Data??>(nil)
        let isStopped = Signal("resume data")
        delegate.during = { call, _, task in
            guard case .wrote(_, Int64(Self.half), _) = call, let task = task as? URLSessionDownloadTask else { return }
            task.cancel { data in
                stopped.withValue { $0 = data }
                isStopped.fire()
            }
        }
        session.downloadTask(with: server.url("/file")).resume()
        try await isStopped.wait()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        return (stopped.current ?? nil, calls)
    }

    private func resume(_ data: Data) async throws -> (delegate: RecordingDownloadDelegate, calls: [Call]) {
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        session.downloadTask(withResumeData: data).resume()
        session.finishTasksAndInvalidate()
        return (delegate, try await delegate.callsUntilInvalid())
    }

    // RES-1, RES-2, RES-3, RES-4, RES-11, S-41, S-43, S-61, T-30
    @Test("a cancelled download resumes") func aCancelledDownloadResumes() async throws {
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let (data, calls) = try await stop(server)
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
        let (delegate, resumed) = try await resume(#require(data))
        let (half, whole) = (Int64(Self.half), Int64(Self.whole.count))
        #expect(
            resumed == [
                .created(1), .resumed(1, half, whole), .wrote(1, whole, whole), .downloaded(1, Self.whole.count),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(Self.whole)])
        let request = try #require(server.connections.last?.requests.last)
        #expect(request["Range"] == "bytes=\(Self.half)-")
        #expect(request["If-Range"] == "\"v1\"")
        #expect(request["Accept-Encoding"] == "identity")
    }

    /// How a 206 without Content-Length delimits its body, and what it has of the range.
    enum Framing: CaseIterable {
        case chunked, chunkedAndLess, chunkedAndMore, untilClose, untilCloseAndLess, untilCloseAndMore

        func response(_ rest: [UInt8]) -> CannedResponse {
            let less = Array(rest.dropLast()), more = rest + [0]
            return switch self {
            case .chunked: CannedResponse(206, body: .chunks([rest], trailers: []))
            case .chunkedAndLess: CannedResponse(206, body: .chunks([less], trailers: []))
            case .chunkedAndMore: CannedResponse(206, body: .chunks([more], trailers: []))
            case .untilClose: CannedResponse(206, body: .untilClose(rest))
            case .untilCloseAndLess: CannedResponse(206, body: .untilClose(less))
            case .untilCloseAndMore: CannedResponse(206, body: .untilClose(more))
            }
        }

        var error: URLError.Code? {
            switch self {
            case .chunked, .untilClose: nil
            case .chunkedAndLess, .untilCloseAndLess: .networkConnectionLost
            case .chunkedAndMore, .untilCloseAndMore: .badServerResponse
            }
        }
    }

    // RES-4, RES-11: Content-Range has the length of the rest where Content-Length is missing
    @Test("the rest is as long as its range", arguments: Framing.allCases)
    func restWithoutLength(framing: Framing) async throws {
        let server = try makeServer { _ in
            framing.response(Array(Self.whole[Self.half...]))
                .with(field: "Content-Range", "bytes \(Self.half)-\(Self.whole.count - 1)/\(Self.whole.count)")
                .with(field: "ETag", "\"v1\"")
        }
        defer { server.stop() }
        let data = try await stop(server).data
        let (delegate, calls) = try await resume(#require(data))
        let (half, whole) = (Int64(Self.half), Int64(Self.whole.count))
        #expect(calls.prefix(2) == [.created(1), .resumed(1, half, whole)])
        #expect(calls.suffix(2) == [.completed(1, framing.error), .invalid])
        #expect(delegate.contents.events == (framing.error == nil ? [Data(Self.whole)] : []))
    }

    // ENC-8: the file has the decoded bytes, and a range would be one of the coded
    @Test("a coded download cannot be resumed", arguments: [true, false]) func coded(isStopped: Bool) async throws {
        let body = String(repeating: "0123456789", count: 6_000)
        let bytes = CodedBodies.gzip(body)
        let half = bytes.count / 2
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\nContent-Encoding: gzip\r\n"
                        + "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n")
                try connection.send(Array(bytes[..<half]))
                if isStopped { return _ = try connection.waitForClose() }
                try connection.send(Array(bytes[half...]))
            }
        }
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let resumeData = EventRecorder<Data?>()
        delegate.during = { call, _, task in
            guard isStopped, case .wrote = call, let task = task as? URLSessionDownloadTask else { return }
            task.cancel { resumeData.record($0) }
        }
        let session = URLSession(delegate)
        session.downloadTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        // It is asked for all the same.
        #expect(server.requests.first?["Accept-Encoding"] == "gzip, deflate")
        if isStopped {
            #expect(try await resumeData.waitFor(count: 1).first == .some(nil))
            #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
        } else {
            #expect(delegate.contents.events == [Data(body.utf8)])
            #expect(
                calls == [
                    .created(1), .wrote(1, 60_000, -1), .downloaded(1, 60_000), .metrics(1), .completed(1, nil),
                    .invalid,
                ])
        }
    }

    // RES-12, S-41, S-45
    @Test("a lost connection leaves resume data in the error") func aLostConnectionLeavesResumeDataInTheError()
        async throws
    {
        let server = try makeServer(stops: .close) { Self.rest(of: $0) }
        defer { server.stop() }
        let session = URLSession { _ in }
        let failure = await #expect(throws: URLError.self) { try await session.download(from: server.url("/file")) }
        #expect(failure?.code == .networkConnectionLost)
        let data = try #require(failure?.downloadTaskResumeData)
        #expect(failure?.errorUserInfo[NSURLSessionDownloadTaskResumeData] as? Data == data)
        let (file, _) = try await session.download(resumeFrom: data)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(Self.whole))
        session.invalidateAndCancel()
    }

    // RES-2, RES-9, T-5: the failure waits for the delegate queue
    @Test("cancelled after it has failed", arguments: [false, true]) func cancelledAfterItHasFailed(pauses: Bool)
        async throws
    {
        let server = try makeServer(stops: .close) { Self.rest(of: $0) }
        defer { server.stop() }
        let queue = SuspendedQueue(width: 1)
        let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        defer { session.invalidateAndCancel() }
        let failure = Watched<URLError?>(nil)
        let hasEnded = Signal("the end")
        let task = session.downloadTask(with: server.url("/file")) { _, _, error in
            failure.withValue { $0 = error as? URLError }
            hasEnded.fire()
        }
        task.resume()
        try await queue.hasOperation.wait()
        let resumeData = Watched<Data?>(nil)
        if pauses { task.cancel { data in resumeData.withValue { $0 = data } } } else { task.cancel() }
        queue.isSuspended = false
        try await hasEnded.wait()
        #expect(failure.current?.code == .cancelled)
        #expect(resumeData.current == failure.current?.downloadTaskResumeData)
        #expect((resumeData.current != nil) == pauses)
        #expect((task.error as? URLError)?.code == .cancelled)
        guard let data = resumeData.current else { return }
        let (file, _) = try await session.download(resumeFrom: data)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(Self.whole))
    }

    // RES-5: the resource has changed
    @Test("a 200 response replaces the partial data") func the200TakesThePlaceOfWhatWasThere() async throws {
        let server = try makeServer { _ in .text("new").with(field: "ETag", "\"v2\"") }
        defer { server.stop() }
        let (delegate, calls) = try await resume(#require(try await stop(server).data))
        #expect(
            calls == [.created(1), .wrote(1, 3, 3), .downloaded(1, 3), .metrics(1), .completed(1, nil), .invalid])
        #expect(delegate.contents.events == [Data("new".utf8)])
    }

    // RES-6, RES-7: once all over again
    @Test("an answer that does not fit", arguments: ["416", "206 of another start"]) func anAnswerThatDoesNotFit(
        kind: String
    ) async throws {
        let server = try makeServer { request in
            guard request["Range"] != nil else { return .bytes(Self.whole) }
            if kind == "416" { return .status(416).with(field: "Content-Range", "bytes */\(Self.whole.count)") }
            return CannedResponse(206, body: .bytes([1, 2, 3])).with(field: "Content-Range", "bytes 0-2/2000000")
        }
        defer { server.stop() }
        let (delegate, calls) = try await resume(#require(try await stop(server).data))
        let whole = Int64(Self.whole.count)
        #expect(
            calls == [
                .created(1), .wrote(1, whole, whole), .downloaded(1, Self.whole.count), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(Self.whole)])
        let ranges = server.connections.flatMap(\.requests).map { $0["Range"] }
        #expect(ranges == [nil, "bytes=\(Self.half)-", nil])
    }

    // RES-1, RES-2, S-44
    @Test(
        "without a validator or ranges there is nothing to go on from",
        arguments: ["", "ETag: W/\"v1\"\r\n", "ETag: \"v1\"\r\nAccept-Ranges: none\r\n"])
    func withoutAValidatorOrRangesThereIsNothingToGoOnFrom(fields: String) async throws {
        let server = try makeServer(fields: fields) { Self.rest(of: $0) }
        defer { server.stop() }
        let (data, calls) = try await stop(server)
        #expect(data == nil)
        #expect(calls.last(where: \.isCompletion) == .completed(1, .cancelled))
    }

    // RES-8
    @Test("garbage fails when it is resumed", arguments: ["", "garbage", "<plist version=\"1.0\"><dict/></plist>"])
    func garbageFailsWhenItIsResumed(text: String) async throws {
        let (_, calls) = try await resume(Data(text.utf8))
        #expect(calls == [.created(1), .metrics(1), .completed(1, .unsupportedURL), .invalid])
    }

    // RES-8
    @Test("a list of many levels is garbage too") func aListOfManyLevelsIsGarbageToo() async throws {
        let (_, calls) = try await resume(.propertyList(levels: 200_000))
        #expect(calls == [.created(1), .metrics(1), .completed(1, .unsupportedURL), .invalid])
    }

    // RES-9: a file belongs to one download, and must be complete
    @Test("the same resume data twice at a time") func theSameResumeDataTwiceAtATime() async throws {
        let (hasBegun, secondWrites, isOver) = (Signal("a"), Signal("b"), Signal("c"))
        let numbers = Watched(0)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let number = numbers.withValue { number in
                    defer { number += 1 }
                    return number
                }
                let rest = Array(Self.whole[Self.half...])
                switch number {
                case 0:
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(Self.whole.count)\r\nETag: \"v1\"\r\n\r\n")
                    try connection.send(Array(Self.whole[..<Self.half]))
                    _ = try connection.waitForClose()
                    return
                case 1, 2:
                    try connection.send(
                        "HTTP/1.1 206 X\r\nContent-Length: \(rest.count)\r\nETag: \"v1\"\r\n"
                            + "Content-Range: bytes \(Self.half)-\(Self.whole.count - 1)/\(Self.whole.count)\r\n\r\n")
                    let first = number == 1 ? 400_000 : 1000
                    try connection.send(Array(rest[..<first]))
                    try connection.wait(for: number == 1 ? secondWrites : isOver)
                    try connection.send(Array(rest[first...]))
                default: try connection.send(CannedResponse.bytes(Self.whole), to: request)
                }
            }
        }
        defer { server.stop() }
        let data = try #require(try await stop(server).data)
        let first = RecordingDownloadDelegate()
        first.during = { call, _, _ in
            switch call {
            case .wrote(_, let total, _) where total >= Int64(Self.half) + 400_000: hasBegun.fire()
            case .completed: isOver.fire()
            default: break
            }
        }
        let session = URLSession(first)
        session.downloadTask(withResumeData: data).resume()
        session.finishTasksAndInvalidate()
        try await hasBegun.wait()
        let second = RecordingDownloadDelegate()
        second.during = { call, _, _ in if case .wrote = call { secondWrites.fire() } }
        let other = URLSession(second)
        other.downloadTask(withResumeData: data).resume()
        other.finishTasksAndInvalidate()
        #expect(try await first.callsUntilInvalid().contains(.completed(1, nil)))
        _ = try await second.callsUntilInvalid()
        #expect(first.contents.events == [Data(Self.whole)])
        #expect(second.contents.events.allSatisfy { $0 == Data(Self.whole) })
    }

    // RES-9: a new failure yields new data
    @Test("a download that stops twice") func aDownloadThatStopsTwice() async throws {
        let tries = Watched(0)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let number = tries.withValue { count in
                    count += 1
                    return count
                }
                if number == 3 {
                    try connection.send(Self.rest(of: request), to: request)
                    continue
                }
                let start = number == 1 ? 0 : Self.half / 2
                let head =
                    number == 1
                    ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes \(start)-1999999/2000000"
                try connection.send(
                    "HTTP/1.1 \(head)\r\nETag: \"v1\"\r\nContent-Length: \(Self.whole.count - start)\r\n\r\n")
                try connection.send(Array(Self.whole[start..<start + Self.half / 2]))
                return connection.close()
            }
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        let first = await #expect(throws: URLError.self) { try await session.download(from: server.url("/file")) }
        let second = await #expect(throws: URLError.self) {
            try await session.download(resumeFrom: first?.downloadTaskResumeData ?? Data())
        }
        let (file, _) = try await session.download(resumeFrom: #require(second?.downloadTaskResumeData))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(Self.whole))
        #expect(
            server.connections.flatMap(\.requests).map { $0["Range"] } == [
                nil, "bytes=500000-", "bytes=1000000-",
            ])
        session.invalidateAndCancel()
    }

    // RES-8: while the task waits to be resumed
    @Test("the file is removed or truncated after the task was created", arguments: [nil, 10])
    func theFileGoesAfterTheTaskWasMade(rest: Int64?) async throws {
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let data = try #require(try await stop(server).data)
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let task = session.downloadTask(withResumeData: data)
        let list = try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        let name = try #require(list["fileName"] as? String)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try #require(FileManager.default.fileExists(atPath: path))
        if let rest { truncate(path, off_t(rest)) } else { unlink(path) }
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        let (half, whole) = (Int64(Self.half), Int64(Self.whole.count))
        #expect(
            calls == [
                .created(1), .resumed(1, half, whole), .wrote(1, whole, whole), .downloaded(1, Self.whole.count),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(Self.whole)])
        #expect(server.connections.flatMap(\.requests).map { $0["Range"] } == [nil, "bytes=\(Self.half)-", nil])
        unlink(path)
    }

    // RES-1: without its file all is loaded again
    @Test("the file is missing") func theFileIsMissing() async throws {
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let data = try #require(try await stop(server).data)
        let name = try #require(URLSessionDownloadTask.fileName(inResumeData: data))
        unlink(FileManager.default.temporaryDirectory.appendingPathComponent(name).path)
        let (delegate, _) = try await resume(data)
        #expect(delegate.contents.events == [Data(Self.whole)])
        #expect(server.connections.flatMap(\.requests).map { $0["Range"] } == [nil, nil])
    }

    // RES-2: a resumed task that never ran gives back what it was made of
    @Test("cancelled before it ran") func cancelledBeforeItRan() async throws {
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let data = try #require(try await stop(server).data)
        let session = URLSession { _ in }
        let again = await session.downloadTask(withResumeData: data).cancelByProducingResumeData()
        let (file, _) = try await session.download(resumeFrom: #require(again))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(Self.whole))
        #expect(server.connections.last?.requests.last?["Range"] == "bytes=\(Self.half)-")
        session.invalidateAndCancel()
    }

    // RES-9: resume data stays valid until a task is started with it
    @Test("a resumed task that is cancelled before it ran leaves the file", arguments: [false, true])
    func cancelledWithoutResumeData(runs: Bool) async throws {
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let data = try #require(try await stop(server).data)
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let task = session.downloadTask(withResumeData: data)
        if runs { task.resume() }
        task.cancel()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().suffix(2) == [.completed(1, .cancelled), .invalid])
        let (resumed, calls) = try await resume(data)
        #expect(calls.contains(.resumed(1, Int64(Self.half), Int64(Self.whole.count))) == !runs)
        #expect(resumed.contents.events == [Data(Self.whole)])
    }

    // RES-2
    @Test("a task that has ended has no resume data") func aTaskThatHasEndedHasNoResumeData() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let done = Signal("the end")
        let task = session.downloadTask(with: server.url()) { _, _, _ in done.fire() }
        task.resume()
        try await done.wait()
        #expect(await task.cancelByProducingResumeData() == nil)
        session.invalidateAndCancel()
    }

    /// Loads until the connection is lost, resumes, and checks the complete file.
    private func loadInTwo(_ url: URL, in session: URLSession, goingOnIn other: URLSession? = nil) async throws {
        let failure = await #expect(throws: URLError.self) { try await session.download(from: url) }
        let data = try #require(failure?.downloadTaskResumeData)
        let (file, _) = try await (other ?? session).download(resumeFrom: data)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(Self.whole))
    }

    // T-55, T-57, RES-12, S-75: as `data(from:)`
    @Test("async downloads need no queue", .timeLimit(.minutes(2))) func asyncDownloadsNeedNoQueue() async throws {
        let server = try makeServer(stops: .close) { Self.rest(of: $0) }
        defer { server.stop() }
        try await URLSession.withSuspendedQueue { try await loadInTwo(server.url("/file"), in: $0) }
        #expect(server.requests.map { $0["Range"] } == [nil, "bytes=\(Self.half)-"])
    }

    // RES-10, S-43, MISC-20: what is neither URL, method nor field
    @Test("the options of a request follow its resume data") func optionsOfARequest() async throws {
        let server = try makeServer(stops: .close) { Self.rest(of: $0) }
        defer { server.stop() }
        let session = URLSession { _ in }
        let cookie = HTTPCookie(properties: [
            .name: "a", .value: "1", .domain: server.url().host ?? "", .path: "/",
        ])
        session.configuration.httpCookieStorage?.setCookie(try #require(cookie))
        var request = URLRequest(
            url: server.url("/file"), cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 47)
        request.httpShouldHandleCookies = false
        request.mainDocumentURL = server.url("/page")
        request.cookiePartitionIdentifier = "jar"
        request.networkServiceType = .background
        request.attribution = .user
        request.allowsPersistentDNS = true
        let asked = request
        let failure = await #expect(throws: URLError.self) { try await session.download(for: asked) }
        let data = try #require(failure?.downloadTaskResumeData)
        let contents = EventRecorder<Data?>()
        let task = session.downloadTask(withResumeData: data) { file, _, _ in
            contents.record(file.flatMap { try? Data(contentsOf: $0) })
        }
        #expect(task.originalRequest == request)
        #expect(task.currentRequest == request)
        task.resume()
        #expect(try await contents.waitFor(count: 1) == [Data(Self.whole)])
        #expect(server.requests.map { $0["Cookie"] } == [nil, nil])
        session.invalidateAndCancel()
    }

    // MET-1, MET-17, S-43
    @Test("the metrics of a resumed download have the request that was sent") func metricsOfAResumedDownload()
        async throws
    {
        let other = try makeServer(stops: .close) { Self.rest(of: $0) }
        defer { other.stop() }
        let server = try ScriptedServer.answering(.redirect(to: other.url("/file").absoluteString, status: 307))
        defer { server.stop() }
        let first = URLSession { _ in }
        let failure = await #expect(throws: URLError.self) { try await first.download(from: server.url("/file")) }
        first.invalidateAndCancel()
        let (delegate, _) = try await resume(#require(failure?.downloadTaskResumeData))
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.transactionMetrics.map(\.request.url) == [other.url("/file")])
        #expect(metrics.redirectCount == 0)
    }

    // going on begins where a redirect led, and what belongs to the first server stays with it
    @Test("the session's secrets do not follow the resume data") func theSessionsSecretsDoNotFollowTheResumeData()
        async throws
    {
        let other = try makeServer(stops: .close) { Self.rest(of: $0) }
        defer { other.stop() }
        let server = try ScriptedServer.answering(.redirect(to: other.url("/file").absoluteString, status: 307))
        defer { server.stop() }
        let session = URLSession {
            $0.httpAdditionalHeaders = ["Authorization": "Bearer s", "Cookie": "c=1", "X-A": "a"]
        }
        try await loadInTwo(server.url("/file"), in: session)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer s"])
        #expect(other.requests.map { $0["Range"] } == [nil, "bytes=\(Self.half)-"])
        #expect(other.requests.map { $0["Authorization"] } == [nil, nil])
        #expect(other.requests.map { $0["Cookie"] } == [nil, nil])
        #expect(other.requests.map { $0["X-A"] } == ["a", "a"])
        session.invalidateAndCancel()
    }

    // RES-6: nor do they come back when a redirected request is made anew
    @Test("the session's secrets do not follow a restart") func theSessionsSecretsDoNotFollowARestart() async throws {
        let other = try ScriptedServer.answering { $0["Range"] == nil ? .bytes(Self.whole) : .status(416) }
        defer { other.stop() }
        let to = other.url("/file").absoluteString
        let server = try makeServer(stops: .close) { _ in .redirect(to: to, status: 307) }
        defer { server.stop() }
        let session = URLSession {
            $0.httpAdditionalHeaders = ["Authorization": "Bearer s", "Cookie": "c=1", "Accept-Encoding": "gzip"]
        }
        try await loadInTwo(server.url("/file"), in: session)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer s", "Bearer s"])
        #expect(other.requests.map { $0["Range"] } == ["bytes=\(Self.half)-", nil])
        #expect(other.requests.map { $0["Accept-Encoding"] } == ["identity", "gzip"])
        #expect(other.requests.map { $0["Authorization"] } == [nil, nil])
        #expect(other.requests.map { $0["Cookie"] } == [nil, nil])
        session.invalidateAndCancel()
    }

    // RES-3: the delegate sees the caller's request, and the rest is asked for all the same
    @Test("a redirect on the way", arguments: [false, true]) func aRedirectDuringTheDownload(asksDelegate: Bool)
        async throws
    {
        let other = try ScriptedServer.answering { Self.rest(of: $0) }
        defer { other.stop() }
        let to = other.url("/file").absoluteString
        let server = try makeServer(stops: .close) { _ in .redirect(to: to, status: 307) }
        defer { server.stop() }
        let first = URLSession { _ in }
        let second = asksDelegate ? URLSession(RecordingDownloadDelegate()) : URLSession { _ in }
        try await loadInTwo(server.url("/file"), in: first, goingOnIn: second)
        #expect(other.requests.map { $0["Range"] } == ["bytes=\(Self.half)-"])
        #expect(other.requests.map { $0["If-Range"] } == ["\"v1\""])
        first.invalidateAndCancel()
        second.invalidateAndCancel()
    }

    // RES-3, RES-4: as if the process had been killed; a folder of one's own keeps what has come
    @Test("resume data of a running download") func resumeDataOfARunningDownload() async throws {
        let folder = try TemporaryDirectory()
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate) { $0.downloadFolder = folder.path }
        let known = Watched<Data?>(nil)
        delegate.during = { call, _, task in
            guard case .wrote(_, let total, _) = call, let task = task as? URLSessionDownloadTask else { return }
            // Made as early as can be: the count in it is not what the file has in the end.
            if known.current == nil { task.resumeDataUnderWay { data in known.withValue { $0 = $0 ?? data } } }
            if total == Self.half { task.cancel { _ in } }
        }
        session.downloadTask(with: server.url("/file")).resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let data = try #require(known.current)
        let name = try #require(URLSessionDownloadTask.fileName(inResumeData: data))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])

        let next = RecordingDownloadDelegate()
        let other = URLSession(next) { $0.downloadFolder = folder.path }
        other.downloadTask(withResumeData: data).resume()
        other.finishTasksAndInvalidate()
        let (half, whole) = (Int64(Self.half), Int64(Self.whole.count))
        #expect(
            try await next.callsUntilInvalid() == [
                .created(1), .resumed(1, half, whole), .wrote(1, whole, whole), .downloaded(1, Self.whole.count),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(next.contents.events == [Data(Self.whole)])
        #expect(server.requests.map { $0["Range"] } == [nil, "bytes=\(Self.half)-"])
    }

    // RES-8
    @Test(
        "the name in resume data leads nowhere else",
        arguments: ["../x", "x", "CFNetworkDownload_/../../x", "CFNetworkDownload_/\u{301}x"])
    func theNameInResumeDataLeadsNowhereElse(name: String) async throws {
        let server = try makeServer { Self.rest(of: $0) }
        defer { server.stop() }
        let data = try #require(try await stop(server).data)
        let made = try #require(URLSessionDownloadTask.fileName(inResumeData: data))
        unlink(FileManager.default.temporaryDirectory.appendingPathComponent(made).path)
        var list = try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        list["fileName"] = name
        let changed = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        #expect(URLSessionDownloadTask.fileName(inResumeData: changed) == nil)
        #expect(URLSessionDownloadTask.fileName(inResumeData: Data("garbage".utf8)) == nil)
    }
}
