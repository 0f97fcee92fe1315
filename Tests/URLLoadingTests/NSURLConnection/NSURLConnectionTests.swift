import Foundation
import Glibc
import TestSupport
import Testing

@testable import URLLoading

/// Records the callbacks of connections.
private final class ConnectionRecorder: NSObject, NSURLConnectionDataDelegate, @unchecked Sendable {
    enum Call: Equatable {
        case willSend(String, Int?)
        case response(Int)
        case data(String)
        case sent(Int, Int)
        case challenge(String)
        case finished
        case failed(URLError.Code?)

        var isLast: Bool {
            switch self {
            case .finished, .failed: true
            default: false
            }
        }
    }

    let calls = EventRecorder<Call>()
    let threads = EventRecorder<pthread_t>()
    /// The thread whose run loop `run` runs.
    let runner = Watched<pthread_t>(0)
    let queues = EventRecorder<OperationQueue?>()
    // Set before the start.
    var firstRequest: ((URLRequest) -> URLRequest?)?
    var redirect: ((URLRequest) -> URLRequest?)?
    var credential: URLCredential?
    var cancelsChallenges = false
    var whenCalled: ((Call, NSURLConnection) -> Void)?
    var usesStorage = true

    private func record(_ call: Call, _ connection: NSURLConnection) {
        threads.record(pthread_self())
        queues.record(.current)
        whenCalled?(call, connection)
        calls.record(call)
    }

    func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { usesStorage }

    func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest? {
        let status = (response as? HTTPURLResponse)?.statusCode
        record(.willSend(request.url?.path ?? "", status), connection)
        return (status == nil ? firstRequest : redirect).map { $0(request) } ?? request
    }

    func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
        record(.challenge(challenge.protectionSpace.authenticationMethod), connection)
        if let credential, challenge.previousFailureCount == 0 {
            challenge.sender?.use(credential, for: challenge)
        } else if cancelsChallenges {
            challenge.sender?.cancel(challenge)
        } else {
            challenge.sender?.performDefaultHandling(for: challenge)
        }
    }

    func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {
        record(.response((response as? HTTPURLResponse)?.statusCode ?? 0), connection)
    }

    func connection(_ connection: NSURLConnection, didReceive data: Data) {
        record(.data(String(decoding: data, as: UTF8.self)), connection)
    }

    func connection(
        _ connection: NSURLConnection, didSendBodyData bytesWritten: Int, totalBytesWritten: Int,
        totalBytesExpectedToWrite: Int
    ) {
        record(.sent(totalBytesWritten, totalBytesExpectedToWrite), connection)
    }

    func connection(_ connection: NSURLConnection, needNewBodyStream request: URLRequest) -> InputStream? {
        InputStream(data: Data("again".utf8))
    }

    func connectionDidFinishLoading(_ connection: NSURLConnection) { record(.finished, connection) }

    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {
        record(.failed((error as? URLError)?.code), connection)
    }

    /// Runs the run loop of a thread of its own, in which the connection is started, until it has ended.
    func run(_ start: @escaping @Sendable () -> Void) async throws -> [Call] {
        let done = Signal("the end of the run loop")
        let thread = Thread { [calls, runner] in
            runner.withValue { $0 = pthread_self() }
            start()
            while !calls.events.contains(where: \.isLast) {
                if !RunLoop.current.run(mode: .default, before: .distantFuture) { break }
            }
            done.fire()
        }
        thread.start()
        try await done.wait()
        return calls.events
    }
}

/// Answers challenges as programs did before `willSendRequestFor`.
private final class EarlyDelegate: NSObject, NSURLConnectionDataDelegate, @unchecked Sendable {
    // Sendable: immutable.
    let answers: Bool
    let calls = EventRecorder<String>()

    init(answers: Bool) { self.answers = answers }

    func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        calls.record("space \(protectionSpace.realm ?? "-")")
        return answers
    }

    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        calls.record("challenge")
        challenge.sender?.use(URLCredential(user: "me", password: "pass", persistence: .none), for: challenge)
    }

    func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {
        calls.record("\((response as? HTTPURLResponse)?.statusCode ?? 0)")
    }

    func connectionDidFinishLoading(_ connection: NSURLConnection) { calls.record("finished") }
}

/// Counts how often it is suspended. Something happens just before.
private final class CountingTask: URLSessionDataTask, @unchecked Sendable {
    // Sendable: the count is guarded.
    let suspensions = Watched(0)
    private let willSuspend: @Sendable () -> Void

    init(_ core: TaskCore, _ willSuspend: @escaping @Sendable () -> Void) {
        self.willSuspend = willSuspend
        super.init(core: core)
    }

    override func suspend() {
        willSuspend()
        suspensions.withValue { $0 += 1 }
    }

    override func resume() { suspensions.withValue { $0 = max(0, $0 - 1) } }
}

/// Waits until a queue has run what was enqueued. Not asynchronous, as the method is not for tasks.
private func drain(_ queue: OperationQueue) { queue.waitUntilAllOperationsAreFinished() }

private final class Weak<Object: AnyObject>: @unchecked Sendable {
    // Sendable: written once.
    weak var object: Object?
    init(_ object: Object?) { self.object = object }
}

/// The interface before `URLSession`, on a run loop and on a queue.
@Suite(.leavesNothing) struct NSURLConnectionTests {
    // S-1, S-101
    @Test("callbacks come in their order, on the run loop of the thread that started") func order() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let calls = try await recorder.run {
            _ = NSURLConnection(request: URLRequest(url: server.url("/a")), delegate: recorder)
        }
        #expect(calls == [.willSend("/a", nil), .response(200), .data("content"), .finished])
        #expect(Set(recorder.threads.events) == [recorder.runner.withValue { $0 }])
    }

    // R-18
    @Test("a redirect is shown, changed or refused", arguments: ["follow", "change", "refuse"])
    func redirects(how: String) async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/from" ? .redirect(to: "/to") : .text(request["X-Own"] ?? request.path)
        }
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        recorder.redirect = { request in
            var request = request
            request.setValue("own", forHTTPHeaderField: "X-Own")
            return how == "refuse" ? nil : how == "change" ? request : URLRequest(url: server.url("/to"))
        }
        let connection = Watched<NSURLConnection?>(nil)
        let calls = try await recorder.run {
            let new = NSURLConnection(request: URLRequest(url: server.url("/from")), delegate: recorder)
            connection.withValue { $0 = new }
        }
        let first: [ConnectionRecorder.Call] = [.willSend("/from", nil), .willSend("/to", 302)]
        switch how {
        case "follow": #expect(calls == first + [.response(200), .data("/to"), .finished])
        case "change": #expect(calls == first + [.response(200), .data("own"), .finished])
        default: #expect(calls == first + [.response(302), .finished])
        }
        let current = connection.withValue { $0 }?.currentRequest.url?.path
        #expect(current == (how == "refuse" ? "/from" : "/to"))
        #expect(connection.withValue { $0 }?.originalRequest.url?.path == "/from")
    }

    private static func protectedServer() throws -> ScriptedServer {
        try .answering { request in
            request["Authorization"] == "Basic bWU6cGFzcw=="
                ? .text("in") : .status(401).with(field: "WWW-Authenticate", "Basic realm=\"here\"")
        }
    }

    /// A connection with callbacks on the queue, as its program would start it.
    @discardableResult
    private func start(
        _ request: URLRequest, _ delegate: any NSURLConnectionDelegate, on queue: OperationQueue
    ) -> NSURLConnection? {
        let connection = NSURLConnection(request: request, delegate: delegate, startImmediately: false)
        connection?.setDelegateQueue(queue)
        connection?.start()
        return connection
    }

    // AUTH-1
    @Test("the challenge's sender takes the credential", arguments: [true, false])
    func challenge(usesStorage: Bool) async throws {
        let server = try Self.protectedServer()
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        recorder.credential = URLCredential(user: "me", password: "pass", persistence: .none)
        recorder.usesStorage = usesStorage
        let calls = try await recorder.run {
            _ = NSURLConnection(request: URLRequest(url: server.url()), delegate: recorder)
        }
        #expect(
            calls == [
                .willSend("/", nil), .challenge(NSURLAuthenticationMethodHTTPBasic), .response(200), .data("in"),
                .finished,
            ])
    }

    // AUTH-4: its code is not that of a cancelled task
    @Test("a challenge that the sender cancels") func cancelledChallenge() async throws {
        let server = try ScriptedServer.answering(
            .status(401).with(field: "WWW-Authenticate", "Basic realm=\"here\""))
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        recorder.cancelsChallenges = true
        let calls = try await recorder.run {
            _ = NSURLConnection(request: URLRequest(url: server.url()), delegate: recorder)
        }
        #expect(
            calls == [
                .willSend("/", nil), .challenge(NSURLAuthenticationMethodHTTPBasic),
                .failed(.userCancelledAuthentication),
            ])
    }

    // AUTH-1
    @Test("the callbacks before willSendRequestFor answer challenges", arguments: [true, false])
    func earlyChallenge(answers: Bool) async throws {
        let server = try Self.protectedServer()
        defer { server.stop() }
        let delegate = EarlyDelegate(answers: answers)
        let queue = OperationQueue()
        start(URLRequest(url: server.url()), delegate, on: queue)
        let calls = try await delegate.calls.waitUntil("the end") { $0.last == "finished" }
        #expect(calls == ["space here"] + (answers ? ["challenge", "200"] : ["401"]) + ["finished"])
        drain(queue)
    }

    // ERR-1
    @Test("a failure is the last callback") func failure() async throws {
        let recorder = ConnectionRecorder()
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let calls = try await recorder.run { _ = NSURLConnection(request: URLRequest(url: url), delegate: recorder) }
        #expect(calls == [.willSend("/", nil), .failed(.cannotConnectToHost)])
    }

    // S-101: no thread has to run a run loop
    @Test("callbacks on a queue; the body's progress is reported while it is sent") func queue() async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/from" ? .redirect(to: "/to", status: 307) : .text(request.bodyText)
        }
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        var request = URLRequest(url: server.url("/from"))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("first".utf8))
        start(request, recorder, on: queue)?.start()
        let calls = try await recorder.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
        #expect(calls.suffix(3) == [.response(200), .data("again"), .finished])
        #expect(calls.contains(.sent(5, -1)))
        #expect(recorder.queues.events.allSatisfy { $0 === queue })
        drain(queue)
    }

    // S-101: most programs give a queue as it is created
    @Test("callbacks have their order on a concurrent queue") func concurrentQueue() async throws {
        let text = (0..<500).map { "\($0) " }.joined()
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n")
            for word in text.split(separator: " ") { try connection.send("\(word) ") }
        }
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let running = Watched(0)
        let mostRunning = Watched(0)
        recorder.whenCalled = { _, _ in
            let now = running.withValue { running in
                running += 1
                return running
            }
            mostRunning.withValue { $0 = max($0, now) }
            sched_yield()
            running.withValue { $0 -= 1 }
        }
        let queue = OperationQueue()
        start(URLRequest(url: server.url()), recorder, on: queue)
        _ = try await recorder.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
        drain(queue)
        let calls = recorder.calls.events
        let body = calls.map { if case .data(let piece) = $0 { piece } else { "" } }.joined()
        #expect(mostRunning.withValue { $0 } == 1)
        #expect(Array(calls.prefix(2)) == [.willSend("/", nil), .response(200)])
        #expect(body == text)
        #expect(calls.last == .finished)
    }

    // T-5
    @Test(
        "no callback comes after a cancellation",
        arguments: ["at the first request", "at the response", "before the start"])
    func cancellation(when: String) async throws {
        let goesOn = Signal("the rest")
        let server = try ScriptedServer.answering(.text("content").bodyHeld(until: goesOn))
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let queue = OperationQueue()
        let cancelled = Signal("the cancellation")
        recorder.whenCalled = { call, connection in
            if case .response = call {
                connection.cancel()
                cancelled.fire()
            }
        }
        if when == "at the first request" {
            recorder.firstRequest = { _ in
                cancelled.fire()
                return nil
            }
        }
        let connection = NSURLConnection(
            request: URLRequest(url: server.url()), delegate: recorder, startImmediately: false)
        connection?.setDelegateQueue(queue)
        if when == "before the start" {
            connection?.cancel()
            cancelled.fire()
        }
        connection?.start()
        try await cancelled.wait()
        goesOn.fire()
        // Another connection ends after what was still to come of this one.
        let other = ConnectionRecorder()
        start(URLRequest(url: server.url()), other, on: queue)
        _ = try await other.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
        drain(queue)
        switch when {
        case "before the start": #expect(recorder.calls.events == [])
        case "at the response": #expect(recorder.calls.events == [.willSend("/", nil), .response(200)])
        default: #expect(recorder.calls.events == [.willSend("/", nil)])
        }
    }

    // S-71: `cancelAllOperations` affects only the program's operations
    @Test("a program that cancels the operations of its queue") func cancelledOperations() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let queue = OperationQueue()
        queue.isSuspended = true
        start(URLRequest(url: server.url()), recorder, on: queue)
        queue.cancelAllOperations()
        queue.isSuspended = false
        let calls = try await recorder.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
        #expect(calls == [.willSend("/", nil), .response(200), .data("content"), .finished])
        drain(queue)
    }

    // S-71
    @Test("the handler of one call, whose operation the program cancels") func cancelledHandler() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let queue = OperationQueue()
        queue.isSuspended = true
        let results = EventRecorder<String>()
        NSURLConnection.sendAsynchronousRequest(URLRequest(url: server.url()), queue: queue) { _, data, _ in
            results.record(data.map { String(decoding: $0, as: UTF8.self) } ?? "nil")
        }
        try await eventually { queue.operationCount == 1 }
        queue.cancelAllOperations()
        queue.isSuspended = false
        drain(queue)
        #expect(results.events == ["content"])
    }

    // S-101
    @Test("a queue that is set after the start, for a thread whose run loop does not run") func lateQueue() async throws
    {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let connection = NSURLConnection(
            request: URLRequest(url: server.url()), delegate: recorder, startImmediately: false)
        let started = Signal("the start")
        Thread {
            connection?.start()
            started.fire()
        }.start()
        try await started.wait()
        let queue = OperationQueue()
        connection?.setDelegateQueue(queue)
        let calls = try await recorder.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
        #expect(calls == [.willSend("/", nil), .response(200), .data("content"), .finished])
        #expect(recorder.queues.events.allSatisfy { $0 === queue })
        drain(queue)
    }

    // S-42: connection and delegate are kept until the end, and no longer
    @Test("both are released at the end") func release() async throws {
        let server = try ScriptedServer.answering(.text("content"))
        defer { server.stop() }
        func load() async throws -> (Weak<ConnectionRecorder>, Weak<NSURLConnection>) {
            let recorder = ConnectionRecorder()
            let queue = OperationQueue()
            let new = start(URLRequest(url: server.url()), recorder, on: queue)
            _ = try await recorder.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
            drain(queue)
            return (Weak(recorder), Weak(new))
        }
        let (delegate, connection) = try await load()
        try await eventually { delegate.object == nil && connection.object == nil }
    }

    // CONN-22: a delegate that does not take its data holds up the server, and not the program's memory
    @Test("a queue that does not run") func backPressure() async throws {
        let sent = Watched(0)
        let piece = [UInt8](repeating: 65, count: 64 * 1024)
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(piece.count * 1000)\r\n\r\n")
            for _ in 0..<1000 {
                try connection.send(piece)
                sent.withValue { $0 += piece.count }
            }
        }
        defer { server.stop() }
        let recorder = ConnectionRecorder()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let goesOn = Signal("the delegate")
        let total = Watched(0)
        recorder.whenCalled = { call, _ in
            if case .data(let text) = call {
                total.withValue { $0 += text.utf8.count }
                try? goesOn.wait()
            }
        }
        start(URLRequest(url: server.url()), recorder, on: queue)
        // The server does not answer.
        let last = Watched(-1)
        try await eventually {
            usleep(200_000)
            let now = sent.withValue { $0 }
            return last.withValue { last in
                defer { last = now }
                return now > 0 && now == last
            }
        }
        #expect(last.withValue { $0 } < 30 << 20)
        goesOn.fire()
        let calls = try await recorder.calls.waitUntil("the end") { $0.contains(where: \.isLast) }
        #expect(calls.last == .finished)
        #expect(total.withValue { $0 } == piece.count * 1000)
        drain(queue)
    }

    // CONN-22
    @Test("a delegate that catches up while its task is being suspended") func catchingUp() throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let request = URLRequest(url: URL(fileURLWithPath: "/"))
        let queue = OperationQueue()
        queue.isSuspended = true
        let plain = session.dataTask(with: request)
        let task = CountingTask(try #require(plain.core)) {
            queue.isSuspended = false
            drain(queue)
        }
        let recorder = ConnectionRecorder()
        let connection = try #require(
            NSURLConnection(request: request, delegate: recorder, startImmediately: false))
        connection.setDelegateQueue(queue)
        let delegate = ConnectionTaskDelegate(connection)
        for size in [1 << 20, 1] { delegate.urlSession(session, dataTask: task, didReceive: Data(count: size)) }
        drain(queue)
        #expect(task.suspensions.withValue { $0 } == 0)
    }

    // C-35
    @Test("responses are stored in the shared cache of the moment") func sharedCache() async throws {
        let before = URLCache.shared
        defer { URLCache.shared = before }
        let server = try ScriptedServer.answering(.text("x").with(field: "Cache-Control", "max-age=100"))
        defer { server.stop() }
        for path in ["/a", "/b"] {
            let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
            URLCache.shared = cache
            let request = URLRequest(url: server.url(path))
            _ = try NSURLConnection.sendSynchronousRequest(request, returning: nil)
            try await eventually { cache.cachedResponse(for: request)?.data == Data("x".utf8) }
        }
    }

    // S-1
    @Test("one call, in both ways") func wholeLoads() async throws {
        let server = try ScriptedServer.answering { .text($0.path, status: $0.path == "/no" ? 404 : 200) }
        defer { server.stop() }
        var response: URLResponse?
        #expect(
            try NSURLConnection.sendSynchronousRequest(URLRequest(url: server.url("/a")), returning: &response)
                == Data("/a".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(
            try NSURLConnection.sendSynchronousRequest(URLRequest(url: server.url("/no")), returning: nil)
                == Data("/no".utf8))
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let error = #expect(throws: URLError.self) {
            try NSURLConnection.sendSynchronousRequest(URLRequest(url: url), returning: nil)
        }
        #expect(error?.code == .cannotConnectToHost)
        let queue = OperationQueue()
        let results = EventRecorder<String>()
        for url in [server.url("/b"), url] {
            NSURLConnection.sendAsynchronousRequest(URLRequest(url: url), queue: queue) { response, data, error in
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                let text = data.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
                results.record("\(status) \(text) \((error as? URLError)?.code == .cannotConnectToHost)")
            }
        }
        #expect(try await results.waitFor(count: 2).sorted() == ["0 nil true", "200 /b false"])
        drain(queue)
    }

    // MISC-15
    @Test(
        "what can be loaded",
        arguments: [
            ("http://a/", true), ("HTTPS://a/", true), ("file:///a", true), ("data:,a", true), ("ftp://a/", true),
            ("mailto:a", false), ("/a", false),
        ])
    func canHandle(url: String, isLoadable: Bool) throws {
        #expect(NSURLConnection.canHandle(URLRequest(url: try #require(URL(string: url)))) == isLoadable)
    }
}
