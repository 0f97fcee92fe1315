import Dispatch
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

public let revisionOfTransports = 1

/// What can be turned into a URL.
public protocol URLConvertible {
    func asURL() throws -> URL
}

extension URL: URLConvertible {
    public func asURL() throws -> URL { self }
}

extension String: URLConvertible {
    public func asURL() throws -> URL {
        guard let url = URL(string: self) else { throw URLError(.badURL) }
        return url
    }
}

extension URLSessionConfiguration {
    /// The additional fields as a dictionary of strings.
    public var headers: [String: String] {
        get { httpAdditionalHeaders as? [String: String] ?? [:] }
        set { httpAdditionalHeaders = newValue }
    }
}

extension HTTPURLResponse {
    public var headers: [String: String] { allHeaderFields as? [String: String] ?? [:] }
}

/// Changes requests before they are sent, and decides whether a failed one is sent again.
public protocol RequestInterceptor {
    func adapt(_ request: URLRequest, for session: URLSession) -> URLRequest
    func shouldRetry(_ task: URLSessionTask, after attempts: Int, because error: Error?) -> Bool
}

/// A client with one session for all requests, whose tasks are found by a dictionary.
open class SessionClient: NSObject {
    public final class Operation {
        public let original: URLRequest
        public internal(set) var tasks: [URLSessionTask] = []
        public internal(set) var body = Data()
        public internal(set) var file: URL?
        public internal(set) var metrics: [URLSessionTaskMetrics] = []
        public internal(set) var error: Error?
        public let sent = Progress(totalUnitCount: 0)
        var completion: ((Operation) -> Void)?
        var makeTask: (URLSession, URLRequest) -> URLSessionTask

        init(
            _ original: URLRequest, _ makeTask: @escaping (URLSession, URLRequest) -> URLSessionTask
        ) {
            self.original = original
            self.makeTask = makeTask
        }

        public var response: HTTPURLResponse? { tasks.last?.response as? HTTPURLResponse }
    }

    public let session: URLSession
    public let rootQueue: DispatchQueue
    private let interceptor: RequestInterceptor
    private let hub: Hub

    public init(
        configuration: URLSessionConfiguration = .default, interceptor: RequestInterceptor,
        rootQueue: DispatchQueue = DispatchQueue(label: "session.root")
    ) {
        self.interceptor = interceptor
        self.rootQueue = rootQueue
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.underlyingQueue = rootQueue
        queue.name = "session.delegate"
        hub = Hub()
        session = URLSession(configuration: configuration, delegate: hub, delegateQueue: queue)
        super.init()
        hub.client = self
    }

    deinit { session.invalidateAndCancel() }

    @discardableResult
    open func request(_ url: URLConvertible, method: String = "GET", completion: @escaping (Operation) -> Void)
        throws -> Operation
    {
        var request = URLRequest(url: try url.asURL())
        request.httpMethod = method
        return begin(Operation(request) { $0.dataTask(with: $1) }, completion)
    }

    @discardableResult
    open func upload(_ data: Data, to url: URLConvertible, completion: @escaping (Operation) -> Void) throws
        -> Operation
    {
        var request = URLRequest(url: try url.asURL())
        request.httpMethod = "POST"
        return begin(Operation(request) { $0.uploadTask(with: $1, from: data) }, completion)
    }

    @discardableResult
    open func download(_ url: URLConvertible, completion: @escaping (Operation) -> Void) throws -> Operation {
        begin(Operation(URLRequest(url: try url.asURL())) { $0.downloadTask(with: $1) }, completion)
    }

    private func begin(_ operation: Operation, _ completion: @escaping (Operation) -> Void) -> Operation {
        operation.completion = completion
        rootQueue.async { self.start(operation) }
        return operation
    }

    private func start(_ operation: Operation) {
        let task = operation.makeTask(session, interceptor.adapt(operation.original, for: session))
        operation.tasks.append(task)
        hub.operations[task] = operation
        task.resume()
    }

    fileprivate func ended(_ task: URLSessionTask, _ operation: Operation, _ error: Error?) {
        if interceptor.shouldRetry(task, after: operation.tasks.count, because: error) {
            operation.body = Data()
            return start(operation)
        }
        operation.error = error
        operation.completion?(operation)
    }

    /// The delegate, which the session retains. All of it runs on the root queue.
    private final class Hub: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
        weak var client: SessionClient?
        var operations: [URLSessionTask: Operation] = [:]

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
        ) {
            completionHandler(request)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            operations[task]?.sent.totalUnitCount = totalBytesExpectedToSend
            operations[task]?.sent.completedUnitCount = totalBytesSent
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            operations[dataTask]?.body.append(data)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            let kept = location.deletingLastPathComponent().appendingPathComponent(UUID().uuidString)
            do {
                try FileManager.default.moveItem(at: location, to: kept)
                operations[downloadTask]?.file = kept
            } catch {
                operations[downloadTask]?.error = error
            }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            operations[task]?.metrics.append(metrics)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
            guard let operation = operations.removeValue(forKey: task) else { return }
            client?.ended(task, operation, error)
        }
    }
}
