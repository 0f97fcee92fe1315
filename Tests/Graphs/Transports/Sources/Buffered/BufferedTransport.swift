import Sessions

@preconcurrency import struct Foundation.Data
import class Foundation.NSLock
@preconcurrency import struct Foundation.URL

#if canImport(Darwin)
    import Foundation
#else
    @preconcurrency import class FoundationNetworking.HTTPURLResponse
    @preconcurrency import struct FoundationNetworking.URLRequest
    @preconcurrency import class FoundationNetworking.URLResponse
    @preconcurrency import class FoundationNetworking.URLSession
    @preconcurrency import class FoundationNetworking.URLSessionTask
#endif

/// A request or a response, without types of Foundation.
public struct Message: Sendable {
    public var start: String
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]

    public init(_ start: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.start = start
        self.fields = fields
        self.body = body
    }
}

public protocol Transport: Sendable {
    func send(_ message: Message, to base: URL) async throws -> Message
}

/// A transport that sends and receives whole bodies.
public struct BufferedTransport: Transport {
    public struct Configuration: Sendable {
        public var session: URLSession

        public init(session: URLSession = .shared) { self.session = session }
    }

    public enum Failure: Error {
        case notHTTP(URLResponse?)
    }

    public var configuration: Configuration

    public init(configuration: Configuration = .init()) { self.configuration = configuration }

    public func send(_ message: Message, to base: URL) async throws -> Message {
        let words = message.start.split(separator: " ", maxSplits: 1).map(String.init)
        var request = URLRequest(url: base.appendingPathComponent(words.last ?? ""))
        request.httpMethod = words.first
        for (name, value) in message.fields { request.addValue(value, forHTTPHeaderField: name) }
        if !message.body.isEmpty { request.httpBody = Data(message.body) }
        let (data, response) = try await load(request)
        guard let response = response as? HTTPURLResponse else { throw Failure.notHTTP(response) }
        let fields = response.headers.map { (name: $0.key, value: $0.value) }
        return Message("\(response.statusCode)", fields: fields, body: Array(data ?? Data()))
    }

    /// Cancelled with the Swift task.
    private func load(_ request: URLRequest) async throws -> (Data?, URLResponse?) {
        let running = Running()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = configuration.session.dataTask(with: request) { data, response, error in
                    if let error { return continuation.resume(throwing: error) }
                    continuation.resume(returning: (data, response))
                }
                running.start(task)
            }
        } onCancel: {
            running.cancel()
        }
    }
}

private final class Running: @unchecked Sendable {
    private let lock = NSLock()
    private var task: URLSessionTask?
    private var isCancelled = false

    func start(_ task: URLSessionTask) {
        lock.lock()
        self.task = task
        let isCancelled = isCancelled
        lock.unlock()
        task.resume()
        if isCancelled { task.cancel() }
    }

    func cancel() {
        lock.lock()
        isCancelled = true
        let task = task
        lock.unlock()
        task?.cancel()
    }
}
