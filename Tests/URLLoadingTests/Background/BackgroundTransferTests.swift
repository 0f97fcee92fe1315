import Foundation
import LoadingPipeline
import LoadingSemantics
import TestSupport
import Testing

@testable import BackgroundTransfers
@testable import URLLoading

/// Transfers of background sessions, from their creation to the last callback, with a service in this process.
@Suite(.leavesNothing) struct BackgroundTransferTests {
    private let service: BackgroundServiceInProcess

    init() throws { service = try BackgroundServiceInProcess() }

    private func session(_ delegate: any URLSessionDelegate, _ identifier: String = "test") -> URLSession {
        URLSession(configuration: service.configuration(identifier), delegate: delegate, delegateQueue: nil)
    }

    private func end(_ session: URLSession, _ delegate: BackgroundDelegate) async throws -> [Call] {
        session.finishTasksAndInvalidate()
        let calls = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }.joined
        service.stop()
        return calls
    }

    /// Sends 10,000 bytes of a response from the byte on that the request asks for, which it returns.
    private static func sendPart(
        of whole: [UInt8], for request: ReceivedRequest, on connection: ServerConnection
    ) throws -> Int {
        let start = ["bytes=10000-": 10_000, "bytes=20000-": 20_000][request["Range"] ?? ""] ?? 0
        let range = start > 0 ? "Content-Range: bytes \(start)-\(whole.count - 1)/\(whole.count)\r\n" : ""
        try connection.send(
            "HTTP/1.1 \(start > 0 ? "206 Partial Content" : "200 OK")\r\nETag: \"v1\"\r\n\(range)"
                + "Accept-Ranges: bytes\r\nContent-Length: \(whole.count - start)\r\n\r\n")
        try connection.send(Array(whole[start..<(start + 10_000)]))
        return start
    }

    /// The resume data of a new download that is cancelled once the delegate has got a progress report.
    private func resumeData(
        _ url: URL, _ session: URLSession, _ delegate: BackgroundDelegate, after part: Call
    ) async throws -> Data {
        let task = session.downloadTask(with: url)
        task.resume()
        _ = try await delegate.calls.waitUntil("the part") { $0.contains(part) }
        return try #require(await task.cancelByProducingResumeData())
    }

    // BG-1, BG-4, BG-18, BG-25, T-20: no response callback, and the file is removed after the callback
    @Test("a download") func aDownload() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: server.url("/file"))
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(
            try await end(session, delegate) == [
                .wrote(1, 7, 7), .downloaded(1, 7), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data("content".utf8)])
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect((task.state, task.countOfBytesReceived, task.countOfBytesExpectedToReceive) == (.completed, 7, 7))
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.transactionMetrics.map { $0.request.url } == [server.url("/file")])
        #expect(metrics.transactionMetrics.first?.networkProtocolName == "http/1.1")
        #expect(!FileManager.default.fileExists(atPath: try #require(delegate.locations.events.first).path))
        #expect(service.files(in: "files") == [])
    }

    /// With the required method only.
    private final class ShortestDelegate: NSObject, URLSessionDownloadDelegate {
        private let contents: EventRecorder<Data>
        private let released: Signal

        init(_ contents: EventRecorder<Data>, _ released: Signal) {
            self.contents = contents
            self.released = released
        }

        deinit { released.fire() }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            contents.record((try? Data(contentsOf: location)) ?? Data())
        }
    }

    // S-48: the other methods of the protocol need not be implemented
    @Test("a download for a delegate with the required method only") func aDelegateWithTheRequiredMethod() async throws
    {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let contents = EventRecorder<Data>()
        let released = Signal("the release of the delegate")
        let session = session(ShortestDelegate(contents, released))
        let task = session.downloadTask(with: server.url())
        task.resume()
        #expect(try await contents.waitFor(count: 1) == [Data("content".utf8)])
        session.finishTasksAndInvalidate()
        try await released.wait()
        #expect(task.state == .completed && task.error == nil)
        service.stop()
    }

    // BG-9: an error status is a result
    @Test("a status of an error") func aStatusOfAnError() async throws {
        let server = try ScriptedServer.answering(.text("busy", status: 503))
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: server.url())
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(
            try await end(session, delegate) == [
                .wrote(1, 4, 4), .downloaded(1, 4), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect((task.response as? HTTPURLResponse)?.statusCode == 503)
        #expect(server.requests.count == 1)
    }

    // BG-8, S-95: a connection without a response is no error of the task
    @Test("a server that answers the second time") func aServerThatAnswersTheSecondTime() async throws {
        let attempts = EventRecorder<Int>()
        let server = try ScriptedServer { connection in
            guard try connection.nextRequest() != nil else { return }
            attempts.record(1)
            if attempts.count == 1 { return connection.closeAbruptly() }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        session.downloadTask(with: server.url()).resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        let calls = try await end(session, delegate)
        #expect(calls == [.wrote(1, 5, 5), .downloaded(1, 5), .metrics(1), .completed(1, nil), .invalid])
        #expect(attempts.count == 2)
    }

    // BG-10, C-8
    @Test("the resource timeout") func theResourceTimeout() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.nextRequest()
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let configuration = service.configuration()
        configuration.timeoutIntervalForResource = 0.2
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        session.downloadTask(with: server.url()).resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(try await end(session, delegate).suffix(2) == [.completed(1, .timedOut), .invalid])
    }

    // BG-4, R-20: the delegate is not asked, and would refuse
    @Test("redirects are followed") func redirectsAreFollowed() async throws {
        let server = try ScriptedServer.answering { request in
            request.target == "/first" ? .redirect(to: "/second") : .text("there")
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: server.url("/first"))
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(
            try await end(session, delegate) == [
                .wrote(1, 5, 5), .downloaded(1, 5), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(task.originalRequest?.url == server.url("/first"))
        #expect(task.currentRequest?.url == server.url("/second"))
        #expect(task.response?.url == server.url("/second"))
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map { $0.request.url?.path } == ["/first", "/second"])
    }

    // BG-4, BG-6, R-3, R-5, R-9: also for a program that was not there
    @Test("a redirect that changes the request") func aRedirectThatChangesTheRequest() async throws {
        let mayEnd = Signal("the rest of the response")
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.target == "/first" {
                    try connection.send("HTTP/1.1 303 See Other\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nth")
                try connection.wait(for: mayEnd)
                try connection.send("ere")
            }
        }
        defer { server.stop() }
        var request = URLRequest(url: server.url("/first"))
        request.httpMethod = "PUT"
        for (name, value) in [("Content-Type", "text/plain"), ("Authorization", "Bearer s"), ("X-Own", "own")] {
            request.setValue(value, forHTTPHeaderField: name)
        }
        let expected = [server.url("/second").absoluteString, "GET", nil, nil, "own"]
        func shown(_ task: URLSessionTask) -> [String?] {
            let fields = ["Content-Type", "Authorization", "X-Own"]
            let current = task.currentRequest
            return [current?.url?.absoluteString, current?.httpMethod]
                + fields.map { current?.value(forHTTPHeaderField: $0) }
        }
        let file = try service.folder.write("body", to: "own/body")
        let first = BackgroundDelegate()
        let session = session(first)
        let task = session.uploadTask(with: request, fromFile: file)
        task.resume()
        try await eventually { task.response != nil }
        #expect(shown(task) == expected)
        session.finishTasksAndInvalidate()
        _ = try await first.calls.waitUntil("the session's end") { $0.last == .invalid }
        let second = BackgroundDelegate()
        let next = self.session(second)
        let again = try #require(await next.allTasks.first)
        #expect(shown(again) == expected)
        #expect(again.originalRequest?.httpMethod == "PUT")
        mayEnd.fire()
        _ = try await second.calls.waitUntil("the task's end") { $0.contains(.completed(1, nil)) }
        _ = try await end(next, second)
        #expect(server.requests.map(\.method) == ["PUT", "GET"])
    }

    // BG-8, BG-25: the metrics are those of the last attempt
    @Test("a redirected transfer that starts again") func aRedirectedTransferThatStartsAgain() async throws {
        let attempts = EventRecorder<Int>()
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.target == "/first" {
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                attempts.record(1)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nth")
                if attempts.count == 1 { return }
                try connection.send("ere")
            }
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: server.url("/first"))
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        _ = try await end(session, delegate)
        #expect(server.requests.map(\.target) == ["/first", "/second", "/first", "/second"])
        #expect(delegate.contents.events == [Data("there".utf8)])
        #expect(task.currentRequest?.url == server.url("/second"))
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map { $0.request.url?.path } == ["/first", "/second"])
        let responses = metrics.transactionMetrics.map { $0.response as? HTTPURLResponse }
        #expect(responses.map { $0?.statusCode } == [302, 200])
        #expect(responses.map { $0?.url?.path } == ["/first", "/second"])
    }

    // BG-8, BG-25, S-43: each attempt of a resumed download begins where the redirect had led
    @Test("a resumed download that starts again") func aResumedDownloadThatStartsAgain() async throws {
        let whole = [UInt8].pattern(count: 30_000)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.target == "/first" {
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                let start = try Self.sendPart(of: whole, for: request, on: connection)
                if start == 0 { return _ = try? connection.waitForClose() }
                if start == 10_000 { return }
            }
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let data = try await resumeData(server.url("/first"), session, delegate, after: .wrote(1, 10_000, 30_000))
        let next = session.downloadTask(withResumeData: data)
        next.resume()
        _ = try await delegate.calls.waitUntil("the second end") { $0.contains(.completed(2, nil)) }
        _ = try await end(session, delegate)
        #expect(delegate.contents.events == [Data(whole)])
        #expect(server.requests.map(\.target) == ["/first", "/second", "/second", "/second"])
        #expect(next.originalRequest?.url == server.url("/first"))
        #expect(next.currentRequest?.url == server.url("/second"))
        let metrics = try #require(delegate.metrics.events.last)
        #expect(metrics.transactionMetrics.map { $0.request.url?.path } == ["/second"])
    }

    // R-9, R-10, C-23: a resumed download begins where the redirect had led
    @Test("the session's secrets do not follow the resume data") func secretsOfTheSession() async throws {
        let whole = [UInt8].pattern(count: 20_000)
        let other = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let start = try Self.sendPart(of: whole, for: request, on: connection)
                if start == 0 { return _ = try? connection.waitForClose() }
            }
        }
        defer { other.stop() }
        let server = try ScriptedServer.answering(.redirect(to: other.url("/second").absoluteString, status: 307))
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let configuration = service.configuration()
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer s", "Cookie": "c=1", "X-A": "a"]
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let data = try await resumeData(server.url("/first"), session, delegate, after: .wrote(1, 10_000, 20_000))
        let next = session.downloadTask(withResumeData: data)
        next.resume()
        _ = try await delegate.calls.waitUntil("the second end") { $0.contains(.completed(2, nil)) }
        _ = try await end(session, delegate)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer s"])
        #expect(other.requests.map { $0["Range"] } == [nil, "bytes=10000-"])
        #expect(other.requests.map { $0["Authorization"] } == [nil, nil])
        #expect(other.requests.map { $0["Cookie"] } == [nil, nil])
        #expect(other.requests.map { $0["X-A"] } == ["a", "a"])
        let shown = try #require(next.currentRequest)
        #expect(["X-A", "Authorization", "Cookie"].map { shown.value(forHTTPHeaderField: $0) } == ["a", nil, nil])
    }

    // BG-2: from a private copy, because the program removes the file, or writes something else into it
    @Test("an upload from a file that is removed or changed", arguments: [true, false])
    func anUpload(isRemoved: Bool) async throws {
        let server = try ScriptedServer.answering { try .echo($0) }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let file = try service.folder.write("from a file", to: "own/body")
        var request = URLRequest(url: server.url("/up"))
        request.httpMethod = "PUT"
        let task = session.uploadTask(with: request, fromFile: file)
        if isRemoved {
            try FileManager.default.removeItem(at: file)
        } else {
            let handle = try FileHandle(forWritingTo: file)
            try handle.write(contentsOf: Data("changed".utf8))
            try handle.close()
        }
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        let calls = try await end(session, delegate)
        #expect(calls.map(\.kind) == ["sent", "data", "metrics", "completed", "invalid"])
        #expect(calls.first == .sent(1, 11, 11))
        #expect(calls.contains(.completed(1, nil)))
        #expect(String(decoding: delegate.contents.events.flatMap { Array($0) }, as: UTF8.self).contains("from a file"))
        #expect((task.countOfBytesSent, task.countOfBytesExpectedToSend) == (11, 11))
        // The copy is removed after the end is in the journal.
        try await eventually { [service] in service.files(in: "uploads") == [] && service.files(in: "files") == [] }
    }

    // BG-2: more than is copied before the program gets the task
    @Test("an upload from a large file that is removed") func aLargeUpload() async throws {
        let server = try ScriptedServer.answering { .text("\($0.body.count)") }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let count = 9 << 20
        let file = try service.folder.write(String(repeating: "x", count: count), to: "own/body")
        var request = URLRequest(url: server.url("/up"))
        request.httpMethod = "PUT"
        let task = session.uploadTask(with: request, fromFile: file)
        try FileManager.default.removeItem(at: file)
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains(.completed(1, nil)) }
        #expect(try await end(session, delegate).last == .invalid)
        #expect(delegate.contents.events.joined().elementsEqual(Data("\(count)".utf8)))
        try await eventually { [service] in service.files(in: "uploads") == [] }
    }

    // BG-2, BG-6: longer than a message to the service
    @Test("a download whose request has a long body") func aLongBody() async throws {
        let server = try ScriptedServer.answering { .text("\($0.body.count)") }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data(repeating: 7, count: 5 << 20)
        let task = session.downloadTask(with: request)
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(try await end(session, delegate).suffix(2) == [.completed(1, nil), .invalid])
        #expect(delegate.contents.events == [Data("\(5 << 20)".utf8)])
        #expect(task.originalRequest == request)
    }

    // T-65: the response of an upload is delivered in pieces, as the delegate takes them
    @Test("a large response to an upload") func aLargeResponseToAnUpload() async throws {
        let body = [UInt8].pattern(count: 1_000_000)
        let server = try ScriptedServer.answering(.bytes(body))
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let file = try service.folder.write("x", to: "own/body")
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        session.uploadTask(with: request, fromFile: file).resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(try await end(session, delegate).last == .invalid)
        #expect(delegate.contents.count > 1)
        #expect(Data(delegate.contents.events.joined()) == Data(body))
    }

    // C-23, MISC-1: fields of the configuration and of the program
    @Test("header fields") func headerFields() async throws {
        let fields = EventRecorder<String?>()
        let server = try ScriptedServer.answering { request in
            for name in ["X-Own", "X-All", "User-Agent"] { fields.record(request[name]) }
            return .text("ok")
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let configuration = service.configuration()
        configuration.httpAdditionalHeaders = ["X-All": "all", "X-Own": "not this"]
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        var request = URLRequest(url: server.url())
        request.setValue("own", forHTTPHeaderField: "X-Own")
        session.downloadTask(with: request).resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        _ = try await end(session, delegate)
        #expect(Array(fields.events.prefix(2)) == ["own", "all"])
        #expect(fields.events.last.flatMap { $0 }?.hasPrefix("swift-url-loadingPackageTests") == true)
    }

    // BG-6: a program that is run again does not take a new task for an old one
    @Test("identifiers are not used again") func identifiers() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        for number in 1...3 {
            let delegate = BackgroundDelegate()
            let session = session(delegate)
            let task = session.downloadTask(with: server.url())
            #expect(task.taskIdentifier == number)
            task.resume()
            _ = try await delegate.calls.waitUntil("the task's end") { $0.contains(.completed(number, nil)) }
            session.finishTasksAndInvalidate()
            _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        }
        service.stop()
    }

    // BG-1, ERR-8, RES-8: tasks that the service does not get
    @Test("tasks that cannot be transferred") func tasksThatCannotBeTransferred() async throws {
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let url = try #require(URL(string: "http://localhost/"))
        var post = URLRequest(url: url)
        post.httpMethod = "POST"
        let tasks = [
            session.dataTask(with: url), session.downloadTask(with: try #require(URL(string: "ftp://localhost/"))),
            session.uploadTask(with: post, fromFile: service.folder.file("missing")),
            session.downloadTask(withResumeData: Data("no resume data".utf8)),
        ]
        for task in tasks { task.resume() }
        _ = try await delegate.calls.waitUntil("the tasks' ends") { $0.filter { $0.isCompletion }.count == 4 }
        let calls = try await end(session, delegate)
        #expect(
            Set(calls.filter { $0.isCompletion }) == [
                .completed(1, .backgroundSessionWasDisconnected), .completed(2, .unsupportedURL),
                .completed(3, .fileDoesNotExist), .completed(4, .unsupportedURL),
            ])
        #expect(calls.last == .invalid)
    }

    // T-2, T-6, BG-13: in each state, exactly one end
    @Test("cancellation", arguments: ["new", "suspended", "running", "at once"])
    func cancellation(when: String) async throws {
        let held = Signal("the request")
        let server = try ScriptedServer { connection in
            _ = try connection.nextRequest()
            held.fire()
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: server.url())
        switch when {
        case "new": _ = task.taskIdentifier
        case "suspended":
            task.resume()
            try await held.wait()
            task.suspend()
        case "running":
            task.resume()
            try await held.wait()
        default: task.resume()
        }
        task.cancel()
        task.cancel()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        let calls = try await end(session, delegate)
        #expect(calls.filter { $0.isCompletion } == [.completed(1, .cancelled)])
        #expect(calls.last == .invalid)
        #expect(task.state == .completed)
        #expect(service.files(in: "files") == [])
    }

    // BG-13, BG-18: the part of a download is not needed any more
    @Test("a download that an administrator cancels") func cancelledByAnAdministrator() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.nextRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\nETag: \"v1\"\r\n\r\n")
            try connection.send([UInt8].pattern(count: 100_000))
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        session.downloadTask(with: server.url("/file")).resume()
        _ = try await delegate.calls.waitUntil("the first half") { $0.contains(.wrote(1, 100_000, 200_000)) }
        let transfer = try #require(try service.transfers.first)
        let administrator = BackgroundPeer(try service.connect().get())
        try administrator.send(.hello(ServiceHello(application: nil)), .control(transfer.reference, .cancel))
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        administrator.close()
        let calls = try await end(session, delegate)
        #expect(calls.filter { $0.isCompletion } == [.completed(1, .cancelled)])
        try await eventually { self.service.files(in: "files") == [] }
    }

    // RES-2, RES-4, RES-11: resume data, and a task with them
    @Test("a download that is resumed") func aDownloadThatIsResumed() async throws {
        let whole = [UInt8].pattern(count: 200_000)
        let half = whole.count / 2
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let fields = "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"
                if request["Range"] == nil {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(whole.count)\r\n\(fields)\r\n")
                    try connection.send(Array(whole[..<half]))
                    _ = try? connection.waitForClose()
                    return
                }
                try connection.send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: \(whole.count - half)\r\n"
                        + "Content-Range: bytes \(half)-\(whole.count - 1)/\(whole.count)\r\n\(fields)\r\n")
                try connection.send(Array(whole[half...]))
            }
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let data = try await resumeData(server.url("/file"), session, delegate, after: .wrote(1, 100_000, 200_000))
        let next = session.downloadTask(withResumeData: data)
        next.resume()
        _ = try await delegate.calls.waitUntil("the second end") { $0.filter { $0.isCompletion }.count == 2 }
        let calls = try await end(session, delegate)
        #expect(
            calls == [
                .wrote(1, 100_000, 200_000), .metrics(1), .completed(1, .cancelled), .resumed(2, 100_000, 200_000),
                .wrote(2, 200_000, 200_000), .downloaded(2, 200_000), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(whole)])
        #expect(service.files(in: "files") == [])
        #expect(service.files(in: "uploads") == [])
    }

    // BG-5, RES-4: the journal names the file that has the part
    @Test("what another service finds of a resumed download") func whatIsFoundOfAResumedDownload() async throws {
        let whole = [UInt8].pattern(count: 30_000)
        let ranges = Watched<[String?]>([])
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                ranges.withValue { $0.append(request["Range"]) }
                let start = try Self.sendPart(of: whole, for: request, on: connection)
                if start < 20_000 { return _ = try? connection.waitForClose() }
            }
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let data = try await resumeData(server.url("/file"), session, delegate, after: .wrote(1, 10_000, 30_000))
        session.downloadTask(withResumeData: data).resume()
        _ = try await delegate.calls.waitUntil("more of it") { $0.contains(.wrote(2, 20_000, 30_000)) }
        // What a service finds that is started after this one was killed.
        let length = Watched<Int64?>(nil)
        try await eventually {
            let record = try? service.journalContents().transfers.first { $0.description.task == 2 }
            guard let record, case .download(let part)? = record.resumption, part.bytesReceived > 10_000 else {
                return false
            }
            guard case .download(let rest)? = ServiceTransfer.restored(record).resumption else { return true }
            length.withValue { $0 = rest.bytesReceived }
            return true
        }
        #expect(length.current == 20_000)
        service.restart()
        _ = try await delegate.calls.waitUntil("the end") { $0.contains(.completed(2, nil)) }
        session.finishTasksAndInvalidate()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        service.stop()
        #expect(delegate.contents.events == [Data(whole)])
        #expect(ranges.current == [nil, "bytes=10000-", "bytes=20000-"])
    }

    // RES-2, RES-4: the part is where its resume data point to, whether the service has had it or not
    @Test("a resumed download that is cancelled at once") func aResumedDownloadThatIsCancelledAtOnce() async throws {
        let whole = [UInt8].pattern(count: 20_000)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let start = try Self.sendPart(of: whole, for: request, on: connection)
                if start == 0 { return _ = try? connection.waitForClose() }
            }
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        var data = try await resumeData(server.url("/file"), session, delegate, after: .wrote(1, 10_000, 20_000))
        // Before its part is moved.
        BackgroundSession.copies.suspend()
        let next = session.downloadTask(withResumeData: data)
        let produced = await next.cancelByProducingResumeData()
        BackgroundSession.copies.resume()
        BackgroundSession.copies.sync {}
        data = try #require(produced)
        #expect(service.files(in: "uploads") == [])
        // At any other moment.
        for _ in 1...20 {
            data = try #require(await session.downloadTask(withResumeData: data).cancelByProducingResumeData())
        }
        session.downloadTask(withResumeData: data).resume()
        _ = try await delegate.calls.waitUntil("the last end") { $0.contains(.completed(23, nil)) }
        let calls = try await end(session, delegate)
        #expect(calls.contains(.resumed(23, 10_000, 20_000)))
        #expect(delegate.contents.events == [Data(whole)])
        #expect(service.files(in: "uploads") == [])
    }

    // RES-4, RES-9: the part of the second task is removed after its end, and not that of the third
    @Test("a download that is resumed twice, before its end was acknowledged") func aDownloadThatIsResumedTwice()
        async throws
    {
        let whole = [UInt8].pattern(count: 30_000)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let start = try Self.sendPart(of: whole, for: request, on: connection)
                if start < 20_000 { return _ = try? connection.waitForClose() }
            }
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        session.downloadTask(with: server.url("/file")).resume()
        for number in 1...2 {
            let total = Int64(number) * 10_000
            _ = try await delegate.calls.waitUntil("the part") { $0.contains(.wrote(number, total, 30_000)) }
            let task = await session.allTasks.first { $0.taskIdentifier == number }
            try #require(task as? URLSessionDownloadTask).cancel { [service] data in
                session.downloadTask(withResumeData: data ?? Data()).resume()
                // The service has got the end when this returns.
                while service.files(in: "uploads").isEmpty { Thread.sleep(forTimeInterval: 0.001) }
            }
        }
        _ = try await delegate.calls.waitUntil("the third end") { $0.filter { $0.isCompletion }.count == 3 }
        let calls = try await end(session, delegate)
        #expect(calls.contains(.resumed(3, 20_000, 30_000)))
        #expect(delegate.contents.events == [Data(whole)])
        #expect(service.files(in: "files") == [])
        #expect(service.files(in: "uploads") == [])
    }

    // BG-6, BG-20: the service goes on, and another session gets events
    @Test("a session that leaves its tasks") func aSessionThatLeavesItsTasks() async throws {
        let mayAnswer = Signal("the answer")
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: mayAnswer)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
            }
        }
        defer { server.stop() }
        let first = BackgroundDelegate()
        let leaving = session(first)
        let task = leaving.downloadTask(with: server.url())
        task.taskDescription = "the one"
        task.countOfBytesClientExpectsToSend = 100
        task.resume()
        task.countOfBytesClientExpectsToReceive = 4
        leaving.finishTasksAndInvalidate()
        #expect(try await first.calls.waitUntil("the session's end") { $0.last == .invalid } == [.invalid])
        let second = BackgroundDelegate()
        let session = session(second)
        let tasks = await session.allTasks
        #expect(tasks.map { $0.taskIdentifier } == [1])
        #expect(tasks.map { $0.taskDescription } == ["the one"])
        #expect(tasks.map { $0.originalRequest?.url } == [server.url()])
        #expect(tasks.map { $0.state } == [.running])
        #expect(tasks.map { $0.countOfBytesClientExpectsToSend } == [100])
        #expect(tasks.map { $0.countOfBytesClientExpectsToReceive } == [4])
        mayAnswer.fire()
        _ = try await second.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(
            try await end(session, second) == [
                .wrote(1, 4, 4), .downloaded(1, 4), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // BG-6, BG-12, S-80: in their order, then the last callback
    @Test("what happened without a program is delivered to the next") func missedEventsAreDelivered() async throws {
        let server = try ScriptedServer.answering { .text(String($0.target.dropFirst())) }
        defer { server.stop() }
        let first = BackgroundDelegate()
        let leaving = session(first)
        for name in ["a", "bb", "ccc"] {
            let task = leaving.downloadTask(with: server.url("/" + name))
            task.taskDescription = name
            task.resume()
        }
        leaving.finishTasksAndInvalidate()
        _ = try await first.calls.waitUntil("the session's end") { $0.last == .invalid }
        try await service.waitForEnds()
        let second = BackgroundDelegate()
        let session = session(second)
        _ = try await second.calls.waitUntil("all events") { $0.last == .finishedEvents }
        let next = session.downloadTask(with: server.url("/dddd"))
        #expect(next.taskIdentifier == 4)
        next.cancel()
        _ = try await second.calls.waitUntil("the last end") { $0.filter { $0.isCompletion }.count == 4 }
        let calls = try await end(session, second)
        let missed = calls.prefix { $0 != .finishedEvents }
        #expect(Set(missed.filter { $0.isCompletion }) == [.completed(1, nil), .completed(2, nil), .completed(3, nil)])
        #expect(
            Set(missed.filter { $0.kind == "downloaded" }) == [.downloaded(1, 1), .downloaded(2, 2), .downloaded(3, 3)])
        #expect(calls.last == .invalid)
        #expect(service.files(in: "files") == [])
    }

    // BG-7, ERR-12: −996
    @Test("a second session with the identifier") func aSecondSession() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        let (first, second) = (BackgroundDelegate(), BackgroundDelegate())
        let owner = session(first)
        #expect(await owner.allTasks.isEmpty)
        let other = session(second)
        other.downloadTask(with: server.url()).resume()
        _ = try await second.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect(second.errors.events.map { $0?.code } == [.backgroundSessionInUseByAnotherProcess])
        other.finishTasksAndInvalidate()
        _ = try await second.calls.waitUntil("the session's end") { $0.last == .invalid }
        // The first one still works.
        owner.downloadTask(with: server.url()).resume()
        _ = try await first.calls.waitUntil("the task's end") { $0.contains(.completed(1, nil)) }
        _ = try await end(owner, first)
    }

    // BG-7, C-2, ERR-12: the service cannot be reached, −997
    @Test("without a service") func withoutAService() async throws {
        service.refuseConnections(.backgroundServiceLost("cannot start /usr/libexec/urlsessiond"))
        let delegate = BackgroundDelegate()
        let configuration = service.configuration()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") {
            $0.contains { $0.isCompletion }
        }
        let error = try #require(delegate.errors.events.first ?? nil)
        #expect(error.code == .backgroundSessionWasDisconnected)
        #expect(
            (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription
                == "cannot start /usr/libexec/urlsessiond")
        #expect(await session.allTasks.isEmpty)
        _ = try await end(session, delegate)
    }

    // S-24, BG-20: without their callbacks nothing would be known of them
    @Test("a session that cancels its tasks") func aSessionThatCancelsItsTasks() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.nextRequest()
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = session(delegate)
        let suspended = session.downloadTask(with: server.url())
        session.downloadTask(with: server.url()).resume()
        session.invalidateAndCancel()
        let calls = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        #expect(Set(calls.filter { $0.isCompletion }) == [.completed(1, .cancelled), .completed(2, .cancelled)])
        #expect(suspended.state == .completed)
        service.stop()
        #expect(service.files(in: "files") == [])
    }
}

/// A service that is replaced by another one. Not checked for leaks: the first one leaves its loads as they are,
/// because its process ends then.
struct BackgroundReplacementTests {
    private let service: BackgroundServiceInProcess

    init() throws { service = try BackgroundServiceInProcess() }

    // BG-5, BG-6: commands that were not carried out are sent again
    @Test("the service is replaced") func theServiceIsReplaced() async throws {
        let permits = Permits()
        let body = [UInt8].pattern(count: 40_000)
        let server = try ScriptedServer.answering { _ in .paced(body, portion: 10_000, by: permits) }
        defer { server.stop() }
        let delegate = BackgroundDelegate()
        let session = URLSession(configuration: service.configuration(), delegate: delegate, delegateQueue: nil)
        let task = session.downloadTask(with: server.url())
        task.resume()
        permits.release(1)
        _ = try await delegate.calls.waitUntil("the beginning") { $0.contains { $0.kind == "wrote" } }
        service.restart()
        permits.release(100)
        let other = session.downloadTask(with: server.url("/other"))
        other.resume()
        _ = try await delegate.calls.waitUntil("the ends") { $0.filter { $0.isCompletion }.count == 2 }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }.joined
        service.stop()
        #expect(Set(calls.filter { $0.isCompletion }) == [.completed(1, nil), .completed(2, nil)])
        #expect(delegate.contents.events == [Data(body), Data(body)])
        #expect(!calls.contains(.finishedEvents))
    }
}
