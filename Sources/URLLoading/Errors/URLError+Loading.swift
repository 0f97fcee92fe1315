package import Foundation
package import LoadingSemantics

extension URLError {
    /// An error as a task delivers it, with all that Apple's loader tells in `userInfo`.
    ///
    /// - Parameters:
    ///   - code: one of the `NSURLError…` numbers; one without a name of its own is kept as it is.
    ///   - url: the address that failed: after redirects, the last one.
    ///   - underlying: the cause one level down, such as an error number of the system.
    ///   - taskDescription: names the task, for those who log errors.
    ///   - userInfo: further entries, such as resume data.
    package static func make(
        code: Int, url: URL?, underlying: (any Error)? = nil, taskDescription: String? = nil,
        userInfo: [String: Any] = [:]
    ) -> URLError {
        var info = userInfo
        info[NSLocalizedDescriptionKey] = description(ofCode: code)
        if let url {
            info[NSURLErrorFailingURLErrorKey] = url
            info["NSErrorFailingURLStringKey"] = url.absoluteString
        }
        if let taskDescription {
            info["_NSURLErrorFailingURLSessionTaskErrorKey"] = taskDescription
            info["_NSURLErrorRelatedURLSessionTaskErrorKey"] = [taskDescription]
        }
        info[NSUnderlyingErrorKey] = underlying
        return URLError(Code(rawValue: code) ?? .unknown, userInfo: info)
    }

    /// What the engine found, as a task delivers it (ERR-2, ERR-3).
    package static func make(_ error: LoadError, url: URL?, taskDescription: String?) -> URLError {
        var info: [String: Any] = [:]
        info[NSURLErrorNetworkUnavailableReasonKey] = error.networkUnavailableReason
        let underlying: (any Error)? =
            switch error.cause {
            case .posix(let number): posix(number)
            case .tls(let code, let text): cause("URLLoadingTLSErrorDomain", code, text)
            case .resolution(let code, let text): cause("URLLoadingResolutionErrorDomain", Int(code), text)
            case .message(let text): cause("URLLoadingErrorDomain", error.code, text)
            case nil: nil
            }
        return make(
            code: error.code, url: url, underlying: underlying, taskDescription: taskDescription, userInfo: info)
    }

    private static func cause(_ domain: String, _ code: Int, _ text: String) -> NSError {
        NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: text])
    }

    /// An error number of the system as the cause of a `URLError`.
    package static func posix(_ number: Int32) -> NSError {
        NSError(
            domain: NSPOSIXErrorDomain, code: Int(number),
            userInfo: [NSLocalizedDescriptionKey: String(cString: strerror(number))])
    }

    /// What to tell the user: Apple's words, in English. The TLS codes are numbers because Foundation's constants of
    /// that range are off by one on Linux.
    private static func description(ofCode code: Int) -> String {
        switch code {
        case NSURLErrorCancelled: "cancelled"
        case NSURLErrorBadURL: "bad URL"
        case NSURLErrorTimedOut: "The request timed out."
        case NSURLErrorUnsupportedURL: "unsupported URL"
        case NSURLErrorCannotFindHost: "A server with the specified hostname could not be found."
        case NSURLErrorCannotConnectToHost: "Could not connect to the server."
        case NSURLErrorNetworkConnectionLost: "The network connection was lost."
        case NSURLErrorDNSLookupFailed: "DNS lookup error"
        case NSURLErrorHTTPTooManyRedirects: "too many HTTP redirects"
        case NSURLErrorResourceUnavailable: "resource unavailable"
        case NSURLErrorNotConnectedToInternet: "The Internet connection appears to be offline."
        case NSURLErrorRedirectToNonExistentLocation: "redirection to non-existent location"
        case NSURLErrorBadServerResponse: "There was a bad response from the server."
        case NSURLErrorUserCancelledAuthentication: "user cancelled authentication"
        case NSURLErrorUserAuthenticationRequired: "user authentication required"
        case NSURLErrorZeroByteResource: "zero byte resource"
        case NSURLErrorCannotDecodeRawData: "cannot decode raw data"
        case NSURLErrorCannotDecodeContentData: "cannot decode content data"
        case NSURLErrorCannotParseResponse: "cannot parse response"
        case NSURLErrorInternationalRoamingOff: "International roaming is currently off."
        case NSURLErrorCallIsActive: "A data connection cannot be established since a call is currently active."
        case NSURLErrorDataNotAllowed: "A data connection is not currently allowed."
        case NSURLErrorRequestBodyStreamExhausted: "request body stream exhausted"
        case NSURLErrorAppTransportSecurityRequiresSecureConnection:
            "App Transport Security requires the use of a secure connection."
        case NSURLErrorFileDoesNotExist: "The requested URL was not found on this server."
        case NSURLErrorFileIsDirectory: "file is directory"
        case NSURLErrorNoPermissionsToReadFile: "You do not have permission to access the requested resource."
        case NSURLErrorDataLengthExceedsMaximum: "resource exceeds maximum size"
        case -1200:
            "An SSL error has occurred and a secure connection to the server cannot be made."
        case -1201: "The certificate for this server has expired."
        case -1202, -1203:
            "The certificate for this server is invalid."
        case -1204: "The certificate for this server is not yet valid."
        case -1205: "The server did not accept the certificate."
        case -1206: "The server requires a client certificate."
        case -2000: "can't load from network"
        case NSURLErrorCannotCreateFile: "Cannot create file"
        case NSURLErrorCannotOpenFile: "Cannot open file"
        case NSURLErrorCannotCloseFile: "Failure occurred while closing file"
        case NSURLErrorCannotWriteToFile: "Cannot write file"
        case NSURLErrorCannotRemoveFile: "Cannot remove file"
        case NSURLErrorCannotMoveFile: "Cannot move file"
        case NSURLErrorDownloadDecodingFailedMidStream: "Download decoding failed"
        case NSURLErrorDownloadDecodingFailedToComplete: "Download decoding failed"
        case NSURLErrorBackgroundSessionRequiresSharedContainer:
            "The background session has no shared container to put its files in."
        case NSURLErrorBackgroundSessionInUseByAnotherProcess: "Another process uses the background session."
        case NSURLErrorBackgroundSessionWasDisconnected: "Lost connection to background transfer service"
        default: "unknown error"
        }
    }
}
