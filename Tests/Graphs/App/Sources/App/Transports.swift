import Buffered
import Foundation
import Loaders
import Sessions

#if canImport(FoundationNetworking)
    @preconcurrency import FoundationNetworking
#endif

private struct TokenInterceptor: RequestInterceptor {
    func adapt(_ request: URLRequest, for session: URLSession) -> URLRequest {
        var request = request
        request.setValue("token", forHTTPHeaderField: "Authorization")
        return request
    }

    func shouldRetry(_ task: URLSessionTask, after attempts: Int, because error: Error?) -> Bool {
        attempts < 3 && (task.response as? HTTPURLResponse)?.statusCode == 503
    }
}

private final class CreationDelegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    private(set) var created: [Int] = []

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { created.append(task.taskIdentifier) }
}

/// What a request of a session client has led to.
private func outcome(
    _ start: (@escaping (SessionClient.Operation) -> Void) throws -> Void
) async throws -> String {
    nonisolated(unsafe) let start = start
    return try await withCheckedThrowingContinuation { continuation in
        do {
            try start { operation in
                let body = operation.file.flatMap { try? Data(contentsOf: $0) } ?? operation.body
                operation.file.map { try? FileManager.default.removeItem(at: $0) }
                continuation.resume(
                    returning: "\(operation.response?.statusCode ?? 0) after \(operation.tasks.count), "
                        + "\(operation.metrics.count) metrics, sent \(operation.sent.completedUnitCount): "
                        + String(decoding: body, as: UTF8.self))
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Methods that a package has for Linux, where this system has the same.
private func polyfills(_ base: URL) async throws -> String {
    let session = URLSession(configuration: .ephemeral)
    var request = URLRequest(url: base.appendingPathComponent("echo"))
    request.httpMethod = "POST"
    let (uploaded, _) = try await session.upload(for: request, from: Data("12".utf8))
    let (loaded, _) = try await session.data(from: base.appendingPathComponent("text"))
    let (file, _) = try await session.download(from: base.appendingPathComponent("text"))
    try FileManager.default.removeItem(at: file)
    let bytes: URLSession.AsyncBytes
    (bytes, _) = try await session.bytes(for: URLRequest(url: base.appendingPathComponent("text")))
    let download = session.downloadTask(with: base)
    let resumeData = await download.cancelByProducingResumeData()
    let resumed = try? await session.download(resumeFrom: resumeData ?? Data())
    let socket = session.webSocketTask(with: base)
    let messages: AsyncThrowingStream<URLSessionWebSocketTask.Message, Error> = socket.messages
    socket.cancel()
    var count = 0
    do {
        for try await _ in messages { count += 1 }
    } catch {
        count -= 1
    }
    return "\(String(decoding: uploaded, as: UTF8.self)) \(loaded.count) \(bytes.octets.count) \(resumed == nil) "
        + "\(socket.statusUpdates.count) \(count)"
}

/// Clients that are built in three other ways.
func transports(_ base: URL) async throws -> [(String, String)] {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.headers["X-Client"] = "session"
    let client = SessionClient(configuration: configuration, interceptor: TokenInterceptor())
    var lines = [
        ("request", try await outcome { try client.request("\(base)/flaky?\(UUID())", completion: $0) }),
        ("redirect", try await outcome { try client.request(base.appendingPathComponent("moved"), completion: $0) }),
        ("upload", try await outcome { try client.upload(Data("12345".utf8), to: "\(base)/echo", completion: $0) }),
        ("download", try await outcome { try client.download("\(base)/text", completion: $0) }),
    ]
    do {
        try client.request("", completion: { _ in })
    } catch {
        lines.append(("bad", "\((error as? URLError)?.code == .badURL)"))
    }

    let transport = BufferedTransport(configuration: .init(session: URLSession(configuration: .ephemeral)))
    let answer = try await transport.send(
        Message("POST echo", fields: [("Content-Type", "text/plain")], body: Array("abc".utf8)), to: base)
    lines.append(("buffered", "\(answer.start) \(String(decoding: answer.body, as: UTF8.self))"))
    let waiting = Task { try await transport.send(Message("GET silent"), to: base) }
    waiting.cancel()
    if case .failure(let error) = await waiting.result {
        lines.append(("cancelled", "\((error as? URLError)?.code == .cancelled)"))
    }

    let delegate = CreationDelegate()
    let loader = LoaderClient(delegate: delegate)
    let loaded = try await loader.send([String: String].self, from: base.appendingPathComponent("table.json"))
    let transactions = loaded.metrics?.transactionMetrics.count ?? 0
    lines.append(("loader", "\(loaded.status ?? 0) \(loaded.value) \(transactions) \(delegate.created)"))
    let text = try await loader.download(from: base.appendingPathComponent("text"))
    lines.append(("loader download", String(decoding: text, as: UTF8.self)))
    lines.append(("polyfills", try await polyfills(base)))
    return lines
}
