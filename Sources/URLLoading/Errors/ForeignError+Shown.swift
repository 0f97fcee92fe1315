internal import Foundation
internal import LoadingSemantics

extension ForeignError {
    /// The error as the caller gets it: as it is, but for one of the URL loading system's, which says what failed
    /// (ERR-2).
    func shown(at url: URL?) -> any Error {
        guard var info = urlError?.errorUserInfo, let code = urlError?.code else { return error }
        if let url, info[NSURLErrorFailingURLErrorKey] == nil { URLError.addFailingURL(url, to: &info) }
        return URLError(code, userInfo: info)
    }

    /// An error of that domain, in whichever form it was given.
    private var urlError: URLError? {
        if let error = error as? URLError { return error }
        let object = error as NSError
        guard object.domain == NSURLErrorDomain, let code = URLError.Code(rawValue: object.code) else { return nil }
        return URLError(code, userInfo: object.userInfo)
    }
}
