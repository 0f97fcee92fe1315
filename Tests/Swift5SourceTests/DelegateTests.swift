import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// A delegate with plain variables, relying on its serial queue.
private class Downloader: NSObject {
    var received = Data()
    var redirects = 0
    var transactions = 0
    var onEnd: ((Error?) -> Void)?
    lazy var session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)

    func start(_ url: URL) {
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
    }
}

extension Downloader: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { return completionHandler(.cancel) }
        DispatchQueue.global().async { completionHandler(.allow) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        received.append(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        redirects += 1
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        transactions = metrics.transactionMetrics.count
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        onEnd?(error)
    }
}

private protocol DataLoading {
    func data(for request: URLRequest) async throws -> (Data, URLResponse)
}

extension URLSession: DataLoading {}

/// Its initializer calls a deprecated one, as on Apple platforms.
private class CannedTask: URLSessionDataTask, @unchecked Sendable {
    private let answer: () -> Void

    init(answer: @escaping () -> Void) {
        self.answer = answer
    }

    override func resume() { answer() }
}

private class CannedSession: URLSession, @unchecked Sendable {
    var data: Data?

    override func dataTask(
        with url: URL, completionHandler: @escaping (Data?, URLResponse?, Error?) -> Void
    ) -> URLSessionDataTask {
        let data = self.data
        return CannedTask { completionHandler(data, nil, nil) }
    }
}

/// Its initializer does not call that of its superclass itself, as in most doubles of sessions.
private class FailingSession: URLSession, @unchecked Sendable {
    private let error: Error?

    init(error: Error?) {
        self.error = error
    }

    override func dataTask(
        with request: URLRequest, completionHandler: @escaping (Data?, URLResponse?, Error?) -> Void
    ) -> URLSessionDataTask {
        let error = self.error
        return CannedTask { completionHandler(nil, nil, error) }
    }
}

private class EmptySession: URLSession, @unchecked Sendable {
    override init() {}
}

/// What programs add to the bytes of a response.
extension URLSession.AsyncBytes {
    fileprivate func collected() async throws -> Data { try await reduce(into: Data()) { $0.append($1) } }
}

@Suite struct DelegateTests {
    @Test("a delegate with variables") func aDelegateWithVariables() async throws {
        let server = try ScriptedServer.answering { $0.path == "/" ? .redirect(to: "/there") : .text("body") }
        defer { server.stop() }
        let downloader = Downloader()
        let error: Error? = await withCheckedContinuation { continuation in
            downloader.onEnd = { continuation.resume(returning: $0) }
            downloader.start(server.url())
        }
        #expect(error == nil)
        #expect(downloader.received == Data("body".utf8))
        #expect(downloader.redirects == 1)
        #expect(downloader.transactions == 2)
    }

    @Test("sessions in place of which others stand") func sessionsInPlaceOfWhichOthersStand() async throws {
        let server = try ScriptedServer.answering(.text("body"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let loading: DataLoading = session
        #expect(try await loading.data(for: URLRequest(url: server.url())).0 == Data("body".utf8))
        session.invalidateAndCancel()

        let canned = CannedSession()
        canned.data = Data("canned".utf8)
        var answer: Data?
        canned.dataTask(with: server.url()) { data, _, _ in answer = data }.resume()
        #expect(answer == Data("canned".utf8))
        canned.invalidateAndCancel()

        let failing = FailingSession(error: URLError(.timedOut))
        var failure: Error?
        failing.dataTask(with: URLRequest(url: server.url())) { _, _, error in failure = error }.resume()
        #expect((failure as? URLError)?.code == .timedOut)
        failing.invalidateAndCancel()
        let empty = EmptySession(configuration: .ephemeral)
        #expect(try await empty.data(from: server.url()).0 == Data("body".utf8))
        #expect(try await empty.bytes(from: server.url()).0.collected() == Data("body".utf8))
        empty.invalidateAndCancel()
    }
}
