internal import Foundation
internal import LoadingSemantics

/// Fetches a script that picks proxies, directly, by a session of its own: nothing of the caller's session goes there.
final class ProxyScriptFetch: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable because it is used by the calls of its one task alone, which come one after the other.

    private let done: @Sendable (Result<String, ProxyFailure>) -> Void
    private var bytes = Data()
    private var isGood = false
    /// Whether somebody there wants to know who the user is. Who that is to proxies is none of theirs.
    private var asksWho = false

    /// Longer ones are none.
    private static let longest = 1 << 20

    private init(done: @escaping @Sendable (Result<String, ProxyFailure>) -> Void) { self.done = done }

    /// Tells the script, or why there is none; once, on any thread.
    static func start(_ address: String, done: @escaping @Sendable (Result<String, ProxyFailure>) -> Void) {
        guard let url = URL(string: address) else { return done(.failure(.scriptFailed)) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForRequest = 5
        configuration.timeoutIntervalForResource = 8
        let session = URLSession(
            configuration: configuration, delegate: ProxyScriptFetch(done: done), delegateQueue: nil)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode
        isGood = status == 200
        asksWho = status == 401 || status == 407
        completionHandler(isGood ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes.append(data)
        guard bytes.count > Self.longest else { return }
        isGood = false
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard isGood, error == nil, !bytes.isEmpty else {
            return done(.failure(asksWho ? .scriptNeedsCredentials : .scriptFailed))
        }
        // Scripts are ASCII, as good as always; what else there is of them is in names and comments.
        done(.success(String(decoding: bytes, as: UTF8.self)))
    }
}
