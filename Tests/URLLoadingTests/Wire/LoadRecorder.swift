import Foundation
import TestSupport
import URLLoading

/// Runs one load in its own session, and records all callbacks until the session is invalid, so that callbacks after
/// the end are detected.
final class LoadRecorder: NSObject, URLSessionDataDelegate {
    /// A call of `didSendBodyData`.
    struct SentBody: Sendable, Equatable {
        let count: Int64
        let total: Int64
        let expected: Int64
    }

    let recorded = EventRecorder<RecordedEvent>()
    let sent = EventRecorder<SentBody>()
    let responses = EventRecorder<HTTPURLResponse>()
    private let onData: @Sendable (Int) -> Void

    /// - Parameter onData: Called with the length of each piece of the body, instead of recording it.
    init(onData: (@Sendable (Int) -> Void)? = nil) {
        keepsData = onData == nil
        self.onData = onData ?? { _ in }
    }

    private let keepsData: Bool

    /// All callbacks of a load, with the pieces of its body joined.
    static func load(
        _ request: URLRequest, within deadline: Duration = .seconds(30),
        configuring configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [RecordedEvent] {
        try await LoadRecorder().run(request, within: deadline, configuring: configure)
    }

    static func load(_ url: URL, within deadline: Duration = .seconds(30)) async throws -> [RecordedEvent] {
        try await load(URLRequest(url: url), within: deadline)
    }

    func run(
        _ request: URLRequest, within deadline: Duration = .seconds(30),
        configuring configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [RecordedEvent] {
        start(request, configuring: configure)
        return try await finish(within: deadline)
    }

    @discardableResult
    func start(
        _ request: URLRequest, configuring configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSessionDataTask {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        let task = session.dataTask(with: request)
        task.resume()
        session.finishTasksAndInvalidate()
        return task
    }

    func finish(within deadline: Duration = .seconds(30)) async throws -> [RecordedEvent] {
        try await recorded.wait(for: .invalid, within: deadline).joined
    }

    // MARK: Delegate

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        recorded.record(.invalid)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        recorded.record(.informational(response.statusCode))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let response = response as? HTTPURLResponse else { return completionHandler(.allow) }
        responses.record(response)
        recorded.record(.response(response.statusCode))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        onData(data.count)
        if keepsData { recorded.record(.data(Array(data))) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        sent.record(SentBody(count: bytesSent, total: totalBytesSent, expected: totalBytesExpectedToSend))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        // No error contains the user.
        let text = task.currentRequest?.url?.absoluteString
        let shown = text.map { $0.replacing(/\/\/[^\/]*@/, with: "//") }
        if let error = error as? URLError, error.failingURL?.absoluteString != shown {
            recorded.record(.wrongFailingURL(error.failingURL?.absoluteString ?? "nil"))
        }
        recorded.record(.completed(error.map { ($0 as NSError).code }))
    }
}

extension URLSession {
    /// Runs `body` with an ephemeral session, and then invalidates it.
    static func using<Result>(
        _ configure: (URLSessionConfiguration) -> Void = { _ in }, _ body: (URLSession) async throws -> Result
    ) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        return try await body(session)
    }

    /// The body of a GET as text.
    func text(_ url: URL) async throws -> String {
        String(decoding: try await data(from: url).0, as: UTF8.self)
    }
}

extension URLRequest {
    /// A changed copy.
    func with(_ change: (inout URLRequest) -> Void) -> URLRequest {
        var copy = self
        change(&copy)
        return copy
    }
}

/// The code of the `URLError` that `body` throws, or nil.
func failure(of body: () async throws -> Void) async -> URLError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? URLError)?.code
    }
}
