import Foundation
import FoundationNetworking

/// What the completion handler of a data task got.
struct Outcome: Sendable {
    var data: Data?
    var response: URLResponse?
    var error: NSError?

    var http: HTTPURLResponse? { response as? HTTPURLResponse }
    var status: Int? { http?.statusCode }
    var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }
    var code: Int? { error.flatMap { $0.domain == NSURLErrorDomain ? $0.code : nil } }

    /// The status and the text, or the error.
    var summary: String {
        if let error { return "\(error.domain) \(error.code)" }
        return "\(status.map(String.init) ?? "no status") \(text ?? "no data")"
    }
}

/// A session of its own for each case, so that no store is shared.
func makeSession(
    _ delegate: (any URLSessionDelegate)? = nil, queue: OperationQueue? = nil,
    _ set: (URLSessionConfiguration) -> Void = { _ in }
) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    set(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
}

/// A cache of its own for a case. (The toolchain's module has only this initializer.)
func makeCache(memory: Int = 8 << 20, disk: Int = 64 << 20) -> URLCache {
    URLCache(memoryCapacity: memory, diskCapacity: disk, diskPath: disk == 0 ? nil : NSTemporaryDirectory() + "cache")
}

extension URLSession {
    func load(_ request: URLRequest) async -> Outcome {
        let outcome = Locked<Outcome?>(nil)
        let task = dataTask(with: request) { data, response, error in
            outcome.value = Outcome(data: data, response: response, error: error as NSError?)
        }
        task.resume()
        await until { outcome.value != nil }
        return outcome.value ?? Outcome()
    }

    func load(_ url: URL) async -> Outcome { await load(URLRequest(url: url)) }
}

/// Loads the request in a data task that reports to the delegate.
@discardableResult
func run(_ request: URLRequest, _ recorder: Recorder, _ set: (URLSessionConfiguration) -> Void = { _ in }) async
    -> URLSessionTask
{
    let task = makeSession(recorder, set).dataTask(with: request)
    task.resume()
    await recorder.completion()
    return task
}

@discardableResult
func run(_ url: URL, _ recorder: Recorder) async -> URLSessionTask { await run(URLRequest(url: url), recorder) }

func request(_ url: URL, _ method: String = "GET", _ fields: [String: String] = [:], body: String? = nil) -> URLRequest
{
    var request = URLRequest(url: url)
    request.httpMethod = method
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    request.httpBody = body.map { Data($0.utf8) }
    return request
}

func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

func code(_ error: (any Error)?) -> Int? {
    guard let error = error as NSError?, error.domain == NSURLErrorDomain else { return nil }
    return error.code
}
