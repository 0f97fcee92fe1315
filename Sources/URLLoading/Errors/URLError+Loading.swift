package import Foundation
package import LoadingSemantics
internal import LoadingTransport

extension URLError {
    /// A failure of the engine as a task delivers it, with all that Apple's loader tells in `userInfo`.
    ///
    /// - Parameters:
    ///   - url: the address that failed: after redirects, the last one.
    ///   - taskDescription: names the task, for those who log errors.
    ///   - userInfo: further entries, such as resume data.
    package static func make(
        _ error: LoadError, url: URL?, taskDescription: String? = nil, userInfo: [String: Any] = [:]
    ) -> URLError {
        var info = userInfo
        addPeer(error.peerCertificates, of: url, to: &info)
        info[FailedProxy.urlKey] = error.proxy?.url
        info[FailedProxy.statusKey] = error.proxy?.status
        return make(
            code: error.code, url: error.url.map { URL(string: $0) } ?? url, underlying: error.cause?.error,
            description: error.message, taskDescription: taskDescription, userInfo: info)
    }

    /// The certificates of a server that is not trusted, and the question that was answered with no.
    private static func addPeer(_ certificates: [[UInt8]], of url: URL?, to info: inout [String: Any]) {
        let chain = certificates.compactMap { Certificate(der: $0) }.map { SecCertificate($0) }
        guard !chain.isEmpty else { return }
        let policy = SecPolicyCreateSSL(true, url?.host.map { $0 as NSString })
        info[NSURLErrorFailingURLPeerTrustErrorKey] = SecTrust(chain, policies: [policy])
        info["NSErrorPeerCertificateChainKey"] = chain
    }

    /// Says which address failed, without the user and the password that may stand in it: errors are written to logs.
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
    ///   - code: one of the `NSURLError…` numbers.
    ///   - underlying: the cause one level down.
    ///   - description: what people read, if the code alone says too little.
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
        // Foundation has a code for each number of the engine's, and −1 says nothing (ERR-16).
        return URLError(Code(rawValue: code) ?? .cannotLoadFromNetwork, userInfo: info)
    }
}

extension FailedProxy {
    /// Where the `userInfo` of an error has it, as a `String`.
    package static let urlKey = "URLLoadingFailedProxyURLKey"
    /// The same for the status, an `Int`.
    package static let statusKey = "URLLoadingFailedProxyStatusKey"
}

extension LoadError.Cause {
    /// The cause as an `NSUnderlyingErrorKey` entry. Apple's domains where Apple has one.
    var error: NSError {
        switch self {
        case .posix(let number):
            Self.error(NSPOSIXErrorDomain, Int(number), String(cString: strerror(number)))
        case .tls(let code, let text): Self.error("URLLoadingTLSErrorDomain", code, text)
        case .library(let text): Self.error("URLLoadingLibraryErrorDomain", 0, text)
        case .system(let text): Self.error(NSPOSIXErrorDomain, Int(EAGAIN), text)
        case .http(let text): Self.error("URLLoadingHTTPErrorDomain", 0, text)
        case .ftp(let code, let text): Self.error("URLLoadingFTPErrorDomain", code, text)
        case .dns(let number):
            Self.error("URLLoadingDNSErrorDomain", Int(number), String(cString: gai_strerror(number)))
        case .cfNetwork(let number): NSError(domain: "kCFErrorDomainCFNetwork", code: number)
        case .foreign(let foreign): foreign.error as NSError
        }
    }

    private static func error(_ domain: String, _ code: Int, _ text: String) -> NSError {
        NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: text])
    }
}
