import Foundation
import Models

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client of a web service, as there are many: requests and responses cross the border of the package.
open class Client: NSObject, URLSessionDataDelegate {
    public static let revision = 1

    public enum Failure: Error, Equatable {
        case status(Int)
        case notHTTP
    }

    public let base: URL
    public var decorate: ((inout URLRequest) -> Void)?
    private let configuration: URLSessionConfiguration
    public private(set) lazy var session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)

    public init(base: URL, configuration: URLSessionConfiguration = .default) {
        self.base = base
        self.configuration = configuration
    }

    open func request(_ path: String, method: String = "GET") -> URLRequest {
        var request = URLRequest(url: base.appendingPathComponent(path), cachePolicy: .reloadIgnoringLocalCacheData)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        decorate?(&request)
        return request
    }

    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw Failure.notHTTP }
        guard 200..<300 ~= response.statusCode else { throw Failure.status(response.statusCode) }
        return (data, response)
    }

    public func items() async throws -> [Item] {
        try JSONDecoder().decode([Item].self, from: await send(request("items.json")).0)
    }

    /// The older style, with a completion.
    @discardableResult
    public func load(
        _ path: String, completion: @escaping (Result<Data, Error>) -> Void
    ) -> URLSessionDataTask {
        let task = session.dataTask(with: request(path)) { data, response, error in
            switch (data, response, error) {
            case (let data?, is HTTPURLResponse, _): completion(.success(data))
            default: completion(.failure(error ?? Failure.notHTTP))
            }
        }
        task.resume()
        return task
    }

    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }

    /// A switch over all cases, without a default.
    public static func describe(_ state: URLSessionTask.State) -> String {
        switch state {
        case .running: return "running"
        case .suspended: return "suspended"
        case .canceling: return "canceling"
        case .completed: return "completed"
        }
    }
}

public func moduleOfClient() -> String { String(reflecting: URLSession.self) }
