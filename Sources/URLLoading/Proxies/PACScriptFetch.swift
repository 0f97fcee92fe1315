internal import Foundation
internal import LoadingSemantics

/// Fetches a PAC script without a proxy, in its own session, so that no cookies or credentials of the caller's session
/// are sent.
final class PACScriptFetch: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable because only the serial callbacks of its one task use it.

    private let done: @Sendable (Result<String, ProxyFailure>) -> Void
    private var bytes = Data()
    private var isGood = false
    /// Whether the server or a proxy requires authentication. No credentials are sent.
    private var needsCredentials = false

    /// In bytes.
    private static let maximumLength = 1 << 20

    private init(done: @escaping @Sendable (Result<String, ProxyFailure>) -> Void) { self.done = done }

    /// Calls `done` once, on any thread.
    static func start(_ address: String, done: @escaping @Sendable (Result<String, ProxyFailure>) -> Void) {
        guard let url = URL(string: address) else { return done(.failure(.scriptFailed)) }
        var values = SessionValues.ephemeral()
        // A program's class that loads requests with a session of its own may need the script for it.
        values.usesRegisteredProtocols = false
        let configuration = URLSessionConfiguration(values)
        configuration.connectionProxyDictionary = [:]
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForRequest = 5
        configuration.timeoutIntervalForResource = 8
        let session = URLSession(
            configuration: configuration, delegate: PACScriptFetch(done: done), delegateQueue: nil)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode
        isGood = status == 200
        needsCredentials = status == 401 || status == 407
        completionHandler(isGood ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes.append(data)
        guard bytes.count > Self.maximumLength else { return }
        isGood = false
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard isGood, error == nil, !bytes.isEmpty else {
            return done(.failure(needsCredentials ? .scriptNeedsCredentials : .scriptFailed))
        }
        // PAC scripts are practically always ASCII, except in comments.
        done(.success(String(decoding: bytes, as: UTF8.self)))
    }
}
