import Foundation
import TestSupport
import Testing
import URLLoading

/// All methods that create sessions and tasks.
@Suite(.leavesNothing) struct TaskCreationTests {
    // S-35
    @Test("sessions") func sessions() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 7
        let plain = URLSession(configuration: configuration)
        #expect(plain.delegate == nil)
        #expect(plain.configuration.timeoutIntervalForRequest == 7)
        #expect(plain.delegateQueue.maxConcurrentOperationCount == 1)
        let delegate = EndDelegate()
        let queue = OperationQueue()
        let full = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        #expect(full.delegate === delegate)
        #expect(full.delegateQueue === queue)
        #expect(URLSession.shared === URLSession.shared)
        plain.invalidateAndCancel()
        full.invalidateAndCancel()
    }

    // S-35: the session is made when it is first used
    @Test("a session without arguments is the same for all threads") func withoutArguments() {
        let session = URLSession()
        let queues = Watched<Set<ObjectIdentifier>>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            let queue = ObjectIdentifier(session.delegateQueue)
            queues.withValue { _ = $0.insert(queue) }
        }
        #expect(queues.current == [ObjectIdentifier(session.delegateQueue)])
        #expect(session.delegate == nil)
        session.invalidateAndCancel()
    }

    #if compiler(>=6.2)
        // S-35
        @Test("init() of a subclass cannot use a session that gets a configuration") func usedInInit() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                final class Early: URLSession, @unchecked Sendable {
                    override init() {
                        super.init()
                        sessionDescription = "early"
                    }
                }
                _ = Early(configuration: .ephemeral)
            }
        }
    #endif

    // S-37: a subclass that counts or changes tasks sees each once
    @Test("the methods with a URL do not call those with a request") func methodsWithAURL() throws {
        final class Counting: URLSession, @unchecked Sendable {
            let count = Watched(0)
            override func dataTask(with request: URLRequest) -> URLSessionDataTask {
                count.withValue { $0 += 1 }
                return super.dataTask(with: request.url ?? URL(fileURLWithPath: "/"))
            }
            override func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
                count.withValue { $0 += 1 }
                return super.downloadTask(with: request.url ?? URL(fileURLWithPath: "/"))
            }
            override func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
                count.withValue { $0 += 1 }
                return super.webSocketTask(with: request.url ?? URL(fileURLWithPath: "/"))
            }
        }
        let session = Counting(configuration: .ephemeral)
        let url = try #require(URL(string: "http://localhost/"))
        _ = (session.dataTask(with: url), session.downloadTask(with: url), session.webSocketTask(with: url))
        #expect(session.count.current == 0)
        let request = URLRequest(url: url)
        #expect(session.dataTask(with: request).originalRequest?.url == url)
        #expect(session.downloadTask(with: request).originalRequest?.url == url)
        #expect(session.webSocketTask(with: request).originalRequest?.url == url)
        #expect(session.count.current == 3)
        session.invalidateAndCancel()
    }

    // S-35, S-37: each does what its kind does, and calls the delegate or the handler
    @Test("tasks") func tasks() async throws {
        let server = try ScriptedServer.answering { .text("\($0.method) \($0.body.count)") }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write("file", to: "body")
        let delegate = RecordingDownloadDelegate()
        delegate.stream = { $1(InputStream(data: Data("stream".utf8))) }
        let session = URLSession(delegate)
        let url = server.url()
        let get = URLRequest(url: url)
        let put = get.with { $0.httpMethod = "PUT" }
        let handled = EventRecorder<String>()
        func handler(_ name: String) -> @Sendable (Data?, URLResponse?, (any Error)?) -> Void {
            { data, _, error in
                let text = data.map { String(decoding: $0, as: UTF8.self) }
                handled.record("\(name): \(text ?? "\(error?.urlErrorCode?.rawValue ?? 0)")")
            }
        }
        func fileHandler(_ name: String) -> @Sendable (URL?, URLResponse?, (any Error)?) -> Void {
            { file, _, error in
                let text = file.flatMap { try? String(contentsOf: $0, encoding: .utf8) }
                handled.record("\(name): \(text ?? "\(error?.urlErrorCode?.rawValue ?? 0)")")
            }
        }
        // No download can go on with nothing, and each says so.
        let tasks: [URLSessionTask] = [
            session.dataTask(with: url), session.dataTask(with: get), session.downloadTask(with: url),
            session.downloadTask(with: get), session.downloadTask(withResumeData: Data()),
            session.uploadTask(with: put, from: Data("data!".utf8)), session.uploadTask(with: put, fromFile: file),
            session.uploadTask(withStreamedRequest: put),
            session.dataTask(with: url, completionHandler: handler("data of a URL")),
            session.dataTask(with: get, completionHandler: handler("data")),
            session.downloadTask(with: url, completionHandler: fileHandler("download of a URL")),
            session.downloadTask(with: get, completionHandler: fileHandler("download")),
            session.downloadTask(withResumeData: Data(), completionHandler: fileHandler("rest of a download")),
            session.uploadTask(with: put, from: Data("data!".utf8), completionHandler: handler("upload of data")),
            session.uploadTask(with: put, fromFile: file, completionHandler: handler("upload of a file")),
        ]
        #expect(
            tasks.map { "\(type(of: $0))" }
                == ["Data", "Data", "Download", "Download", "Download", "Upload", "Upload", "Upload", "Data", "Data"]
                .map { "URLSession\($0)Task" }
                + ["Download", "Download", "Download", "Upload", "Upload"].map { "URLSession\($0)Task" })
        #expect(tasks.map(\.taskIdentifier) == Array(1...tasks.count))
        #expect(tasks.allSatisfy { $0.state == .suspended })
        for task in tasks { task.resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            handled.events.sorted() == [
                "data of a URL: GET 0", "data: GET 0", "download of a URL: GET 0", "download: GET 0",
                "rest of a download: -1002", "upload of a file: PUT 4", "upload of data: PUT 5",
            ])
        let bodies: [String?] = (1...8).map { number in
            for case .data(number, let text) in calls { return text }
            return nil
        }
        #expect(bodies == ["GET 0", "GET 0", nil, nil, nil, "PUT 5", "PUT 4", "PUT 6"])
        #expect(delegate.contents.events == [Data("GET 0".utf8), Data("GET 0".utf8)])
        let ends: [Call] = calls.filter(\.isCompletion).sorted { $0.task ?? 0 < $1.task ?? 0 }
        #expect(ends == (1...8).map { .completed($0, $0 == 5 ? .unsupportedURL : nil) })
    }

    // S-35, S-34: a stream to a host. Foundation has no `NetService` on Linux.
    @Test("a stream task") func streamTask() async throws {
        let server = try ScriptedServer {
            try $0.send("hello")
            try $0.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(withHostName: "localhost", port: server.port)
        #expect("\(type(of: task))" == "URLSessionStreamTask" && task.state == .suspended)
        task.resume()
        delegate.read(task, 5, 5)
        task.closeWrite()
        task.closeRead()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.contains(.read("hello", false, nil)) && calls.contains(.completed(1, nil)))
    }
}
