package import Foundation
package import LoadingSemantics
internal import LoadingTransport

extension URLError {
    /// A failure of the engine as a task delivers it, with Apple's `userInfo` entries.
    ///
    /// - Parameters:
    ///   - url: The failing URL: after redirects, the last one.
    ///   - taskDescription: Identifies the task in logs.
    ///   - userInfo: Further entries, such as resume data.
    package static func make(
        _ error: LoadError, url: URL?, taskDescription: String? = nil, userInfo: [String: Any] = [:]
    ) -> URLError {
        var info = userInfo
        if let peer = error.untrustedPeer { add(peer, to: &info) }
        info[FailedProxy.urlKey] = error.proxy?.url
        info[FailedProxy.statusKey] = error.proxy?.status
        if case .cancellation(let reason)? = error.cause { info[NSURLErrorBackgroundTaskCancelledReasonKey] = reason }
        return make(
            code: error.code, url: error.url.map { URL(string: $0) } ?? url, underlying: error.cause?.error,
            description: error.message, taskDescription: taskDescription, userInfo: info)
    }

    /// Adds the certificates of an untrusted server or proxy, and the `SecTrust` that failed.
    private static func add(_ peer: UntrustedPeer, to info: inout [String: Any]) {
        let chain = peer.certificates.compactMap { Certificate(der: $0) }.map { SecCertificate($0) }
        guard !chain.isEmpty else { return }
        let policy = SecPolicyCreateSSL(true, peer.host as NSString)
        info[NSURLErrorFailingURLPeerTrustErrorKey] = SecTrust(
            chain, policies: [policy], response: peer.stapledResponse)
        info["NSErrorPeerCertificateChainKey"] = chain
    }

    /// Adds the failing URL without user information, because errors are written to logs.
    static func addFailingURL(_ url: URL, to info: inout [String: Any]) {
        let whole = url.absoluteString
        let text = URLReference.withoutUserinfo(whole)
        info[NSURLErrorFailingURLErrorKey] = text == whole ? url : URL(string: text)
        // The key's constant is deprecated, the entry is not.
        info["NSErrorFailingURLStringKey"] = text
    }

    /// An error as a task delivers it.
    ///
    /// - Parameters:
    ///   - code: An `NSURLError…` code.
    ///   - underlying: The direct cause.
    ///   - description: A localized description that is more specific than that of the code.
    package static func make(
        code: Int, url: URL?, underlying: (any Error)? = nil, description: String? = nil,
        taskDescription: String? = nil, userInfo: [String: Any] = [:]
    ) -> URLError {
        var info = userInfo
        info[NSLocalizedDescriptionKey] = description ?? LoadError.description(ofCode: code)
        if let url { addFailingURL(url, to: &info) }
        if let taskDescription {
            info["_NSURLErrorFailingURLSessionTaskErrorKey"] = taskDescription
            info["_NSURLErrorRelatedURLSessionTaskErrorKey"] = [taskDescription]
        }
        info[NSUnderlyingErrorKey] = underlying
        // Foundation defines all codes of the engine, so the fallback is not used (ERR-16).
        return URLError(Code(rawValue: code) ?? .cannotLoadFromNetwork, userInfo: info)
    }
}

extension LoadError {
    /// The error of `NSPOSIXErrorDomain` with which a WebSocket fails; nil for other errors (WS-8, WS-12, WS-14).
    ///
    /// Not a `POSIXError`, which Swift on Linux does not cast to `NSError`.
    func webSocketError(url: URL?) -> NSError? {
        switch self {
        case .webSocketIsClosed, .webSocketMessageTooBig, .webSocketProtocolError:
            guard let error = cause?.error else { return nil }
            var info = error.userInfo
            if let url { URLError.addFailingURL(url, to: &info) }
            return NSError(domain: error.domain, code: error.code, userInfo: info)
        default: return nil
        }
    }
}

extension FailedProxy {
    /// The `userInfo` key of the proxy's URL, a `String`.
    package static let urlKey = "URLLoadingFailedProxyURLKey"
    /// The `userInfo` key of the proxy's response status, an `Int`.
    package static let statusKey = "URLLoadingFailedProxyStatusKey"
}

extension LoadError.Cause {
    /// The cause as an `NSUnderlyingErrorKey` entry, with Apple's error domain where there is one.
    var error: NSError? {
        switch self {
        case .cancellation: nil
        case .posix(let number):
            Self.error(NSPOSIXErrorDomain, Int(number), String(cString: strerror(number)))
        case .tls(let code, let text): Self.error("URLLoadingTLSErrorDomain", code, text)
        case .library(let text): Self.error("URLLoadingLibraryErrorDomain", 0, text)
        case .service(let text): Self.error("URLLoadingBackgroundErrorDomain", 0, text)
        case .system(let text): Self.error(NSPOSIXErrorDomain, Int(EAGAIN), text)
        case .http(let text): Self.error("URLLoadingHTTPErrorDomain", 0, text)
        case .ftp(let code, let text): Self.error("URLLoadingFTPErrorDomain", code, text)
        case .dns(let number):
            Self.error("URLLoadingDNSErrorDomain", Int(number), String(cString: gai_strerror(number)))
        case .cfNetwork(let number): NSError(domain: kCFErrorDomainCFNetwork as String, code: number)
        case .foreign(let foreign): foreign.error as NSError
        }
    }

    private static func error(_ domain: String, _ code: Int, _ text: String) -> NSError {
        NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: text])
    }
}

extension ForeignError {
    /// The error as delivered to the program: unchanged, but a `URLError` gets the failing URL (ERR-2).
    func shown(at url: URL?) -> any Error {
        guard var info = urlError?.errorUserInfo, let code = urlError?.code else { return error }
        if let url, info[NSURLErrorFailingURLErrorKey] == nil { URLError.addFailingURL(url, to: &info) }
        return URLError(code, userInfo: info)
    }

    /// The error as a `URLError`, if its domain is `NSURLErrorDomain`.
    private var urlError: URLError? {
        if let error = error as? URLError { return error }
        let object = error as NSError
        guard object.domain == NSURLErrorDomain, let code = URLError.Code(rawValue: object.code) else { return nil }
        return URLError(code, userInfo: object.userInfo)
    }
}
