internal import Foundation
internal import LoadingSemantics

extension URLError {
    /// The error as the caller sees it (ERR-2 to ERR-4).
    static func make(_ error: LoadError, url: URL?, task: String) -> URLError {
        var info: [String: Any] = [:]
        if let url {
            info[NSURLErrorFailingURLErrorKey] = url
            info[NSURLErrorFailingURLStringErrorKey] = url.absoluteString
        }
        return URLError(_nsError: NSError(domain: NSURLErrorDomain, code: error.code, userInfo: info))
    }
}
