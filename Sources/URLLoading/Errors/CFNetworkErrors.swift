// The numbers are those of CFNetwork. Errors of this library with the domain `kCFErrorDomainCFNetwork` have some of
// them, as underlying errors; the others are for programs that compare with them.

/// The domain of errors with a code of ``CFNetworkErrors``.
nonisolated(unsafe) public let kCFErrorDomainCFNetwork: CFString = "kCFErrorDomainCFNetwork"

/// The codes of errors whose domain is ``kCFErrorDomainCFNetwork``.
@frozen public enum CFNetworkErrors: Int32, Sendable {
    // Names that cannot be resolved
    /// The host was not found.
    case cfHostErrorHostNotFound = 1
    /// The lookup of the host failed.
    case cfHostErrorUnknown = 2

    // SOCKS proxies
    /// The SOCKS server rejected the client's version.
    case cfsocksErrorUnknownClientVersion = 100
    /// The SOCKS server does not support the version.
    case cfsocksErrorUnsupportedServerVersion = 101
    /// The SOCKS 4 server rejected the request.
    case cfsocks4ErrorRequestFailed = 110
    /// The SOCKS 4 server could not reach the client's identd.
    case cfsocks4ErrorIdentdFailed = 111
    /// The client's identd reported another user.
    case cfsocks4ErrorIdConflict = 112
    /// The status code of the SOCKS 4 server is unknown.
    case cfsocks4ErrorUnknownStatusCode = 113
    /// The SOCKS 5 connection is not in a state for the request.
    case cfsocks5ErrorBadState = 120
    /// The address type of the SOCKS 5 response is unknown.
    case cfsocks5ErrorBadResponseAddr = 121
    /// The SOCKS 5 server rejected the credentials.
    case cfsocks5ErrorBadCredentials = 122
    /// The SOCKS 5 server wants an unknown authentication method.
    case cfsocks5ErrorUnsupportedNegotiationMethod = 123
    /// The SOCKS 5 server accepts no offered authentication method.
    case cfsocks5ErrorNoAcceptableMethod = 124

    // FTP
    /// An FTP server sent an unexpected status code.
    case cfftpErrorUnexpectedStatusCode = 200

    // HTTP
    /// No authentication scheme of the challenge is supported.
    case cfErrorHTTPAuthenticationTypeUnsupported = 300
    /// The credentials were rejected.
    case cfErrorHTTPBadCredentials = 301
    /// The connection was lost.
    case cfErrorHTTPConnectionLost = 302
    /// The response could not be parsed.
    case cfErrorHTTPParseFailure = 303
    /// There were too many redirects.
    case cfErrorHTTPRedirectionLoopDetected = 304
    /// The URL cannot be used.
    case cfErrorHTTPBadURL = 305
    /// There is no connection to the HTTP proxy.
    case cfErrorHTTPProxyConnectionFailure = 306
    /// The proxy rejected the credentials.
    case cfErrorHTTPBadProxyCredentials = 307
    /// The proxy auto-config script has an error.
    case cfErrorPACFileError = 308
    /// The proxy auto-config script needs authentication.
    case cfErrorPACFileAuth = 309
    /// There is no connection through the HTTPS proxy.
    case cfErrorHTTPSProxyConnectionFailure = 310
    /// The response of the HTTPS proxy to CONNECT was unexpected.
    case cfStreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod = 311

    // The codes of URLError
    /// Another process uses the background session.
    case cfurlErrorBackgroundSessionInUseByAnotherProcess = -996
    /// The background service disconnected.
    case cfurlErrorBackgroundSessionWasDisconnected = -997
    /// The cause is unknown.
    case cfurlErrorUnknown = -998
    /// The load was cancelled.
    case cfurlErrorCancelled = -999
    /// The URL is malformed.
    case cfurlErrorBadURL = -1000
    /// The load timed out.
    case cfurlErrorTimedOut = -1001
    /// The scheme is not supported.
    case cfurlErrorUnsupportedURL = -1002
    /// The host was not found.
    case cfurlErrorCannotFindHost = -1003
    /// There is no connection to the host.
    case cfurlErrorCannotConnectToHost = -1004
    /// The connection was lost.
    case cfurlErrorNetworkConnectionLost = -1005
    /// The DNS lookup failed.
    case cfurlErrorDNSLookupFailed = -1006
    /// There were too many redirects.
    case cfurlErrorHTTPTooManyRedirects = -1007
    /// The resource is not available.
    case cfurlErrorResourceUnavailable = -1008
    /// There is no network.
    case cfurlErrorNotConnectedToInternet = -1009
    /// A redirect has no usable target.
    case cfurlErrorRedirectToNonExistentLocation = -1010
    /// The response is bad.
    case cfurlErrorBadServerResponse = -1011
    /// The authentication was cancelled.
    case cfurlErrorUserCancelledAuthentication = -1012
    /// Authentication is required.
    case cfurlErrorUserAuthenticationRequired = -1013
    /// The resource is empty.
    case cfurlErrorZeroByteResource = -1014
    /// The content could not be decoded.
    case cfurlErrorCannotDecodeRawData = -1015
    /// The content has an unknown coding.
    case cfurlErrorCannotDecodeContentData = -1016
    /// The response could not be parsed.
    case cfurlErrorCannotParseResponse = -1017
    /// Roaming is disabled.
    case cfurlErrorInternationalRoamingOff = -1018
    /// A call is active.
    case cfurlErrorCallIsActive = -1019
    /// The network may not be used.
    case cfurlErrorDataNotAllowed = -1020
    /// The body stream is needed again.
    case cfurlErrorRequestBodyStreamExhausted = -1021
    /// App Transport Security requires a secure connection.
    case cfurlErrorAppTransportSecurityRequiresSecureConnection = -1022
    /// The file does not exist.
    case cfurlErrorFileDoesNotExist = -1100
    /// The file is a directory.
    case cfurlErrorFileIsDirectory = -1101
    /// The file may not be read.
    case cfurlErrorNoPermissionsToReadFile = -1102
    /// The content is too long.
    case cfurlErrorDataLengthExceedsMaximum = -1103
    /// The file is outside the allowed area.
    case cfurlErrorFileOutsideSafeArea = -1104
    /// There is no secure connection.
    case cfurlErrorSecureConnectionFailed = -1200
    /// The server's certificate has expired.
    case cfurlErrorServerCertificateHasBadDate = -1201
    /// The server's certificate is not trusted.
    case cfurlErrorServerCertificateUntrusted = -1202
    /// The root of the server's certificate is unknown.
    case cfurlErrorServerCertificateHasUnknownRoot = -1203
    /// The server's certificate is not valid yet.
    case cfurlErrorServerCertificateNotYetValid = -1204
    /// The client's certificate was rejected.
    case cfurlErrorClientCertificateRejected = -1205
    /// A client certificate is required.
    case cfurlErrorClientCertificateRequired = -1206
    /// The resource may only be loaded from the cache.
    case cfurlErrorCannotLoadFromNetwork = -2000
    /// The file could not be created.
    case cfurlErrorCannotCreateFile = -3000
    /// The file could not be opened.
    case cfurlErrorCannotOpenFile = -3001
    /// The file could not be closed.
    case cfurlErrorCannotCloseFile = -3002
    /// The file could not be written.
    case cfurlErrorCannotWriteToFile = -3003
    /// The file could not be removed.
    case cfurlErrorCannotRemoveFile = -3004
    /// The file could not be moved.
    case cfurlErrorCannotMoveFile = -3005
    /// The download could not be decoded.
    case cfurlErrorDownloadDecodingFailedMidStream = -3006
    /// The end of the download could not be decoded.
    case cfurlErrorDownloadDecodingFailedToComplete = -3007

    // Others
    /// The file of cookies could not be parsed.
    case cfhttpCookieCannotParseCookieFile = -4000
    /// A service of the local network failed.
    case cfNetServiceErrorUnknown = -72000
    /// The service's name is taken.
    case cfNetServiceErrorCollision = -72001
    /// The service was not found.
    case cfNetServiceErrorNotFound = -72002
    /// The service is busy.
    case cfNetServiceErrorInProgress = -72003
    /// An argument is bad.
    case cfNetServiceErrorBadArgument = -72004
    /// The operation was cancelled.
    case cfNetServiceErrorCancel = -72005
    /// The service is invalid.
    case cfNetServiceErrorInvalid = -72006
    /// The operation timed out.
    case cfNetServiceErrorTimeout = -72007
    /// The DNS service failed.
    case cfNetServiceErrorDNSServiceFailure = -73000
}
