internal import Dispatch
public import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Loads URLs that are not file URLs for Foundation: `NSData(contentsOf:)`, `String(contentsOf:)` and so on. Foundation
/// finds this class by the name that `CLoadingFoundation` gives it.
@usableFromInline
final class RemoteContents: _NSNonfileURLContentLoading {
    @usableFromInline
    required init() {}

    @usableFromInline
    func contentsOf(url: URL) throws -> (result: NSData, textEncodingNameIfAvailable: String?) {
        let (data, response) = try Self.load(url)
        return (NSData(data: data), response.textEncodingName)
    }

    /// Loads a URL with the shared session, and blocks until it is loaded.
    ///
    /// May be called within any callback: it uses no delegate queue, and a thread that has lent its loop may block. An
    /// HTTP status other than success throws, because the caller does not get the response.
    static func load(_ url: URL) throws(CocoaError) -> (Data, URLResponse) {
        let (data, response): (Data, URLResponse)
        do {
            (data, response) = try wait(for: url).get()
        } catch {
            let isUnknownScheme = (error as? URLError)?.code == .unsupportedURL
            throw failure(isUnknownScheme ? .fileReadUnsupportedScheme : .fileReadUnknown, url, error)
        }
        if let response = response as? HTTPURLResponse, !(200...299).contains(response.statusCode) {
            throw failure(.fileReadUnknown, url, nil)
        }
        return (data, response)
    }

    private static func wait(for url: URL) -> Result<(Data, URLResponse), any Error> {
        // Without a loop, work is serialized, so waiting here would deadlock.
        if WorkWithoutLoop.isCallerPartOfIt { return .failure(URLError(.cannotLoadFromNetwork)) }
        let answer = Answer()
        let session = URLSession.shared
        let task = session.core.dataTask(
            session, URLRequest(url: url), .continuation { answer.give($0) }, delegate: nil)
        // The shared session cannot be invalidated.
        guard let task else { return .failure(URLSession.invalidated) }
        task.resume()
        return answer.wait()
    }

    private static func failure(_ code: CocoaError.Code, _ url: URL, _ error: (any Error)?) -> CocoaError {
        var info: [String: Any] = [:]
        // Errors are written to logs.
        info[NSURLErrorKey] = URL(string: URLReference.withoutUserinfo(url.absoluteString))
        info[NSUnderlyingErrorKey] = error
        return CocoaError(code, userInfo: info)
    }
}

private final class Answer: @unchecked Sendable {
    // Sendable because the value is guarded by `lock`.
    private let lock = Lock()
    private let isThere = DispatchSemaphore(value: 0)
    private var value: Result<(Data, URLResponse), any Error> = .failure(URLError(.cannotLoadFromNetwork))

    func give(_ value: Result<(Data, URLResponse), any Error>) {
        lock.withLock { self.value = value }
        isThere.signal()
    }

    func wait() -> Result<(Data, URLResponse), any Error> {
        isThere.wait()
        return lock.withLock { value }
    }
}
