import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Completion handlers as they were written before there was `@Sendable`.
private final class PlainDelegate: NSObject, URLSessionDataDelegate {
    let seen = Locked<[String]>([])
    let ended = Signal("the end")

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        seen.change { $0.append("response") }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        seen.change { $0.append(String(decoding: data, as: UTF8.self)) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        seen.change { $0.append("redirect") }
        completionHandler(request)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        seen.change { $0.append("metrics of \(metrics.transactionMetrics.count)") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        seen.change { $0.append(error.map { "\($0)" } ?? "done") }
        ended.fire()
    }
}

/// The questions answered by `async` methods, in a class of no actor.
private final class AwaitingDelegate: NSObject, URLSessionDataDelegate {
    let seen = Locked<[String]>([])
    let ended = Signal("the end")

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        await Task.yield()
        seen.change { $0.append("response") }
        return .allow
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        await Task.yield()
        seen.change { $0.append("redirect") }
        return request
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard challenge.previousFailureCount == 0 else { return (.cancelAuthenticationChallenge, nil) }
        return (.useCredential, URLCredential(user: "user", password: "password", persistence: .forSession))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        seen.change { $0.append(String(decoding: data, as: UTF8.self)) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        seen.change { $0.append(error.map { "\($0)" } ?? "done") }
        ended.fire()
    }
}

/// A controller of the main actor that is its session's delegate: `async` methods there, the others outside.
@MainActor private final class Controller: NSObject, URLSessionDataDelegate {
    private(set) var seen: [String] = []
    let ended = Signal("the end")
    private lazy var session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)

    func start(_ url: URL) {
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        MainActor.assertIsolated()
        seen.append("response")
        return .allow
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        seen.append("redirect")
        return request
    }

    nonisolated func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        Task { @MainActor in seen.append(String(decoding: data, as: UTF8.self)) }
    }

    nonisolated func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        Task { @MainActor in
            seen.append(error.map { "\($0)" } ?? "done")
            ended.fire()
        }
    }
}

/// All on the main queue: the methods need no `nonisolated` then, only `@preconcurrency`.
@MainActor private final class MainQueueController: NSObject, @preconcurrency URLSessionDataDelegate {
    private(set) var seen: [String] = []
    private var received = Data()
    let ended = Signal("the end")

    func start(_ url: URL) {
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: .main)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        seen.append("redirect")
        completionHandler(request)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        received.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        seen += [String(decoding: received, as: UTF8.self), error.map { "\($0)" } ?? "done"]
        ended.fire()
    }
}

/// A class that becomes a delegate by and by, and one that changes what it has inherited.
private class Progressing: NSObject, @unchecked Sendable {
    // Sendable because the delegate queue is serial.
    var seen: [String] = []
    let ended = Signal("the end")

    func finish() { seen.append("done") }
}

extension Progressing: URLSessionDelegate {
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        seen.append("invalid")
        ended.fire()
    }
}

extension Progressing: URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        finish()
    }
}

private final class Refined: Progressing, @unchecked Sendable {
    // Sendable like its superclass.
    override func finish() { seen.append("done, refined") }
}

@Suite struct DelegateTests {
    private func makeServer() throws -> ScriptedServer {
        try .answering { request in request.path == "/" ? .redirect(to: "/there") : .text("body") }
    }

    @Test("completion handlers") func completionHandlers() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let delegate = PlainDelegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: OperationQueue())
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.seen.current == ["redirect", "response", "body", "metrics of 2", "done"])
    }

    @Test("async methods") func asyncMethods() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let delegate = AwaitingDelegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.seen.current == ["redirect", "response", "body", "done"])
    }

    @Test("async methods of a task's delegate") func asyncMethodsOfATasksDelegate() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let delegate = AwaitingDelegate()
        let session = URLSession(configuration: .ephemeral)
        let (data, response) = try await session.data(from: server.url(), delegate: delegate)
        #expect(data == Data("body".utf8))
        #expect(response.url == server.url("/there"))
        #expect(delegate.seen.current == ["redirect"])
        session.invalidateAndCancel()
    }

    @MainActor @Test("a controller of the main actor") func aControllerOfTheMainActor() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let controller = Controller()
        controller.start(server.url())
        try await controller.ended.wait()
        #expect(controller.seen == ["redirect", "response", "body", "done"])
    }

    @MainActor @Test("a controller on the main queue") func aControllerOnTheMainQueue() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let controller = MainQueueController()
        controller.start(server.url())
        try await controller.ended.wait()
        #expect(controller.seen == ["redirect", "body", "done"])
    }

    @Test("conformances in extensions, and overridden methods") func conformancesInExtensionsAndOverriddenMethods()
        async throws
    {
        let server = try makeServer()
        defer { server.stop() }
        for (delegate, last) in [(Progressing(), "done"), (Refined(), "done, refined")] {
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            session.dataTask(with: server.url()).resume()
            session.finishTasksAndInvalidate()
            try await delegate.ended.wait()
            #expect(delegate.seen == [last, "invalid"])
        }
    }
}
