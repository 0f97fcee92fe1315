import Foundation

#if canImport(FoundationNetworking)
    @preconcurrency import FoundationNetworking
#endif

/// A client that is an actor, over a loader that forwards its events to the program's own delegates.
public actor LoaderClient {
    public struct Response<Value: Sendable>: Sendable {
        public let value: Value
        public let response: URLResponse
        public let metrics: URLSessionTaskMetrics?
        public var status: Int? { (response as? HTTPURLResponse)?.statusCode }
    }

    public nonisolated let session: URLSession
    private let loader = DataLoader()
    private let decoder = JSONDecoder()

    public init(_ configuration: URLSessionConfiguration = .ephemeral, delegate: (any URLSessionDelegate)? = nil) {
        loader.userDelegate = delegate
        session = URLSession(configuration: configuration, delegate: loader, delegateQueue: .serial())
    }

    public func send<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from url: URL, delegate: (any URLSessionDataDelegate)? = nil
    ) async throws -> Response<Value> {
        let response = try await loader.load(session.dataTask(with: url), delegate: delegate)
        let value = try decoder.decode(type, from: response.value)
        return Response(value: value, response: response.response, metrics: response.metrics)
    }

    public func download(from url: URL) async throws -> Data {
        let (file, _) = try await session.download(from: url, delegate: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        return try Data(contentsOf: file)
    }
}

extension OperationQueue {
    static func serial() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }
}

private final class DataLoader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// One load. Its members are used on the session's queue.
    private final class Handler: @unchecked Sendable {
        let delegate: (any URLSessionDataDelegate)?
        var data = Data()
        var metrics: URLSessionTaskMetrics?
        let finish: (Result<LoaderClient.Response<Data>, Error>) -> Void

        init(
            _ delegate: (any URLSessionDataDelegate)?,
            _ finish: @escaping (Result<LoaderClient.Response<Data>, Error>) -> Void
        ) {
            self.delegate = delegate
            self.finish = finish
        }
    }

    var userDelegate: (any URLSessionDelegate)?
    private let lock = NSLock()
    private var handlers: [Int: Handler] = [:]

    func load(
        _ task: URLSessionDataTask, delegate: (any URLSessionDataDelegate)?
    ) async throws -> LoaderClient.Response<Data> {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let handler = Handler(delegate) { continuation.resume(with: $0) }
                lock.withLock { handlers[task.taskIdentifier] = handler }
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func handler(_ task: URLSessionTask) -> Handler? { lock.withLock { handlers[task.taskIdentifier] } }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        (userDelegate as? any URLSessionTaskDelegate)?.urlSession(session, didCreateTask: task)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let handler = handler(dataTask) else { return }
        handler.delegate?.urlSession(session, dataTask: dataTask, didReceive: data)
        handler.data.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        handler(task)?.metrics = metrics
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        guard let handler = lock.withLock({ handlers.removeValue(forKey: task.taskIdentifier) }) else { return }
        (userDelegate as? any URLSessionTaskDelegate)?.urlSession(session, task: task, didCompleteWithError: error)
        if let response = task.response, error == nil {
            handler.finish(
                .success(LoaderClient.Response(value: handler.data, response: response, metrics: handler.metrics)))
        } else {
            handler.finish(.failure(error ?? URLError(.unknown)))
        }
    }
}
