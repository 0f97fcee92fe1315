import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// The seams at which programs put something else in the place of a session.
private protocol HTTPClient: Sendable {
    func data(for request: URLRequest) async throws -> (Data, URLResponse)
    func data(from url: URL) async throws -> (Data, URLResponse)
}

extension URLSession: HTTPClient {}

private protocol HTTPClientWithDelegate {
    func data(for request: URLRequest, delegate: (any URLSessionTaskDelegate)?) async throws -> (Data, URLResponse)
    func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)?
    ) async throws -> (URLSession.AsyncBytes, URLResponse)
}

extension URLSession: HTTPClientWithDelegate {}

private protocol TaskMaker: AnyObject {
    func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask
    func invalidateAndCancel()
}

extension URLSession: TaskMaker {}

private struct CannedClient: HTTPClient {
    var body: String

    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["ETag": "x"])
        else { throw URLError(.badURL) }
        return (Data(body.utf8), response)
    }

    func data(from url: URL) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url))
    }
}

/// A task that never goes near a network. Its initializer calls a deprecated one, as on Apple platforms.
private final class CannedTask: URLSessionDataTask, @unchecked Sendable {
    // Sendable because what varies is behind a lock.
    private let answer: @Sendable () -> Void
    private let isCancelled = Locked(false)

    init(answer: @escaping @Sendable () -> Void) {
        self.answer = answer
    }

    override func resume() { answer() }
    override func cancel() { isCancelled.change { $0 = true } }
    override var state: URLSessionTask.State { isCancelled.current ? .canceling : .running }
    override var taskIdentifier: Int { 7 }
}

private final class CannedSession: URLSession, @unchecked Sendable {
    // Sendable because what varies is behind a lock.
    let asked = Locked<[URL]>([])

    override init() { super.init() }

    override func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        asked.change { $0.append(url) }
        return CannedTask { completionHandler(Data("canned".utf8), nil, nil) }
    }
}

/// One that has all its values from the beginning inherits the initializers.
private final class SilentSession: URLSession, @unchecked Sendable {
    override func dataTask(with request: URLRequest) -> URLSessionDataTask { CannedTask {} }
}

@Suite struct MockTests {
    private func text(of client: some HTTPClient, _ url: URL) async throws -> String {
        let (data, _) = try await client.data(for: URLRequest(url: url))
        let (again, _) = try await client.data(from: url)
        #expect(data == again)
        return String(decoding: data, as: UTF8.self)
    }

    @Test("a session behind a protocol of the program's") func aSessionBehindAProtocolOfThePrograms() async throws {
        let server = try ScriptedServer.answering(.text("real"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        #expect(try await text(of: session, server.url()) == "real")
        #expect(try await text(of: CannedClient(body: "canned"), server.url()) == "canned")
        let client: any HTTPClientWithDelegate = session
        let (bytes, _) = try await client.bytes(for: URLRequest(url: server.url()), delegate: nil)
        #expect(try await bytes.reduce(into: 0) { count, _ in count += 1 } == 4)
        let maker: any TaskMaker = session
        let answer = try await withCheckedThrowingContinuation { continuation in
            maker.dataTask(with: server.url()) { data, _, error in
                continuation.resume(with: Result { if let error { throw error } else { data } })
            }.resume()
        }
        #expect(answer == Data("real".utf8))
        maker.invalidateAndCancel()
    }

    @Test("subclasses of session and task") func subclassesOfSessionAndTask() async throws {
        let session = CannedSession()
        let url = try #require(URL(string: "https://example.org/"))
        let answer = Locked<Data?>(nil)
        let task = session.dataTask(with: url) { data, _, _ in answer.change { $0 = data } }
        #expect(task.state == .running)
        task.resume()
        task.cancel()
        #expect(task.state == .canceling)
        #expect(task.taskIdentifier == 7)
        #expect(answer.current == Data("canned".utf8))
        #expect(session.asked.current == [url])
        let silent = SilentSession(configuration: .ephemeral, delegate: nil, delegateQueue: nil)
        #expect(silent.dataTask(with: URLRequest(url: url)) is CannedTask)
        #expect(SilentSession(configuration: .ephemeral).delegate == nil)
        #expect(SilentSession().configuration.identifier == nil)
        session.invalidateAndCancel()
        silent.invalidateAndCancel()
    }
}
