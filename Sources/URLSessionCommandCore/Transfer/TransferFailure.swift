import Foundation
internal import LoadingSemantics
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Why a transfer failed: the exit code and a message of one line.
package struct TransferFailure: Error, Equatable, Sendable {
    package var exitCode: ExitCode
    package var message: String

    package init(_ exitCode: ExitCode, _ message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    /// The state of the transfer when the error occurred. Times are in seconds, sizes in bytes.
    package struct Context: Equatable, Sendable {
        package var url: String
        package var method: String
        package var hasResponse = false
        package var received: Int64 = 0
        package var expected: Int64 = -1
        package var timeout: Double?
        package var idleTimeout: Double?
        package var elapsed: Double = 0
        /// The required HTTP version.
        package var version: CommandLineRequest.Version?
        /// The path of `--unix-socket`.
        package var socketPath: String?

        package init(url: String, method: String = "GET") {
            self.url = url
            self.method = method
        }

        /// `host:port`, or the URL when it has no host.
        var authority: String {
            guard let url = URL(string: url), let host = url.host, !host.isEmpty else { return url }
            let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
            return url.port.map { "\(name):\($0)" } ?? name
        }

        var isFTP: Bool { URL(string: url)?.scheme?.lowercased() == "ftp" }

        /// The URL without secrets, for messages.
        var shownURL: String { SecretText.hiding(in: url, as: .address) }
    }

    package init(_ error: any Error, _ context: Context) {
        // Not the NSURLError constants: Foundation on Linux has those for TLS off by one.
        let number = (error as? URLError)?.errorCode ?? (error as NSError).code
        let code = URLError.Code(rawValue: number)
        let cause = FailureReasons.parenthesis(error)
        let authority = Self.failedProxy(error) ?? context.authority
        if let failure = Self.version(error, code, context) ?? Self.proxy(error, number, context) {
            self = failure
            return
        }
        switch code {
        case .timedOut:
            self.init(.timedOut, Self.timeout(context))
        case .cannotFindHost, .dnsLookupFailed:
            self.init(.hostNotFound, "no address found for \(authority): check the name and your DNS")
        case .cannotConnectToHost:
            if let path = context.socketPath {
                let shown = path.hasPrefix("\0") ? "@" + path.dropFirst() : path
                self.init(.cannotConnect, "could not connect to the socket '\(shown)'\(cause): is its server running?")
                return
            }
            self.init(
                .cannotConnect,
                "could not connect to \(authority)\(cause): is the server running, and is the port right?")
        case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed:
            self.init(.cannotConnect, "no network to reach \(authority)\(cause): check your connection")
        case .networkConnectionLost:
            self = Self.lost(context, cause)
        case .unsupportedURL:
            self.init(.unsupportedURL, "cannot load \(context.shownURL): only http, https, ftp, file and data URLs")
        case .badURL:
            self.init(.malformedURL, "'\(context.shownURL)' is not a URL that can be loaded: check its spelling")
        case .httpTooManyRedirects:
            self.init(
                .tooManyRedirects, "too many redirects from \(context.shownURL): use --no-follow to look at the first")
        case .badServerResponse, .cannotParseResponse:
            self.init(
                .badServerResponse,
                context.isFTP
                    ? "\(authority) did not answer with correct FTP\(cause): is this the right port?"
                    : "\(authority) did not answer with correct HTTP: is this the right port, and http or https?")
        case .zeroByteResource:
            self.init(
                .emptyReply, "\(authority) closed the connection without an answer: try again, or ask its operator")
        case .cannotDecodeRawData, .cannotDecodeContentData, .downloadDecodingFailedMidStream,
            .downloadDecodingFailedToComplete:
            self.init(
                .badContentCoding,
                "the body from \(authority) does not have the coding that its header declares: try -H 'Accept-Encoding: identity'"
            )
        case .dataLengthExceedsMaximum:
            self.init(
                .bodyNotAllowed, "URLSession does not send a body with \(context.method): use another method")
        case .requestBodyStreamExhausted where FailureReasons.posixCode(under: error) != nil:
            let reason =
                switch FailureReasons.posixCode(under: error) {
                case StreamOfLength.tooShort: "the body is shorter than the Content-Length of -H"
                case StreamOfLength.tooLong: "the body is longer than the Content-Length of -H"
                case BodyStream.fileTooShort: "a file of the body has become shorter"
                default: "cannot read the body\(cause)"
                }
            self.init(.readError, "\(reason): \(authority) did not get the whole request")
        case .requestBodyStreamExhausted:
            self.init(
                .bodyCannotBeResent,
                "\(authority) needs the body again, and its source can be read only once: send it from a file (--data-binary @FILE)"
            )
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
            self.init(.fileUnreadable, "cannot read \(context.shownURL)\(cause): check its name and permissions")
        case .serverCertificateHasBadDate, .serverCertificateNotYetValid:
            self.init(
                .serverCertificate,
                "the certificate of \(authority) is out of date\(cause): "
                    + "check the clock here and the server's certificate")
        case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
            self.init(
                .serverCertificate,
                "the certificate of \(authority) is not trusted\(cause): "
                    + "-v shows it; --cacert FILE trusts an authority of your own")
        case .clientCertificateRejected, .clientCertificateRequired:
            self.init(.clientCertificate, "\(authority) asks for a client certificate\(cause): show one with --cert")
        case .secureConnectionFailed where FailureReasons.isAboutLibrary(error):
            self.init(.tlsHandshake, "no secure connection to \(authority)\(cause): install that library")
        case .secureConnectionFailed, .appTransportSecurityRequiresSecureConnection:
            self.init(
                .tlsHandshake, "no secure connection to \(authority)\(cause): does this port support TLS 1.2 or later?")
        case .cannotCreateFile, .cannotOpenFile, .cannotWriteToFile, .cannotCloseFile:
            self.init(
                .writeError,
                "cannot write what comes from \(authority)\(cause): is there free space, and may you write there?")
        case .cancelled:
            self.init(.unexpected, "the load of \(context.shownURL) was cancelled")
        default:
            let text = (error as? URLError)?.localizedDescription ?? error.localizedDescription
            self.init(.unexpected, "\(context.shownURL): \(TextSanitizer.clean(text)) (error \(number))")
        }
    }

    private static func timeout(_ context: Context) -> String {
        if let limit = context.timeout, context.elapsed >= limit * 0.95 {
            return "\(context.shownURL) was not loaded within \(plain(limit)) s: allow more time with -m"
        }
        let limit = context.idleTimeout ?? 60
        let what = context.hasResponse ? "sent nothing more" : "did not answer"
        return "\(context.authority) \(what) for \(plain(limit)) s: try again, or allow more time with --idle-timeout"
    }

    private static func lost(_ context: Context, _ cause: String) -> TransferFailure {
        if !context.hasResponse {
            return TransferFailure(
                .emptyReply,
                "\(context.authority) closed the connection without an answer\(cause): try again, or check http or https"
            )
        }
        if context.expected > 0, context.received < context.expected {
            return TransferFailure(
                .partialBody,
                "\(context.authority) closed the connection after \(context.received) of \(context.expected) bytes: "
                    + "the response is incomplete, try again")
        }
        return TransferFailure(
            .connectionLost,
            "the connection to \(context.authority) was lost\(cause): the response is incomplete, try again")
    }

    static func plain(_ seconds: Double) -> String {
        seconds == seconds.rounded() && seconds < 1e9 ? "\(Int(seconds))" : "\(seconds)"
    }

    /// The failure if the server does not support the required HTTP version.
    private static func version(_ error: any Error, _ code: URLError.Code?, _ context: Context) -> TransferFailure? {
        guard let version = context.version, version != .http1 else { return nil }
        let isRefused =
            FailureReasons.chain(under: error).contains { $0.domain == "URLLoadingHTTPErrorDomain" }
            || FailureReasons.texts(of: error).contains { $0.contains("no application protocol") }
        let exitCode: ExitCode = version == .http2 ? .noHTTP2 : .noHTTP3
        let cause = FailureReasons.parenthesis(error)
        let name = version.rawValue
        switch code {
        case .secureConnectionFailed? where isRefused:
            return TransferFailure(
                exitCode, "no \(name) to \(context.authority)\(cause): let the server choose the version")
        case .cannotConnectToHost?, .networkConnectionLost?, .timedOut?:
            guard version == .http3, !context.hasResponse else { return nil }
            return TransferFailure(
                exitCode, "\(context.authority) does not answer over \(name)\(cause): let the server choose the version"
            )
        default: return nil
        }
    }

    private static func failedProxy(_ error: any Error) -> String? {
        ((error as NSError).userInfo[FailedProxy.urlKey] as? String).map { "the proxy \(TextSanitizer.clean($0))" }
    }

    /// The failure if the proxy could not be reached or refused. TLS errors (below -1200) have the same message for
    /// proxies and servers.
    private static func proxy(_ error: any Error, _ number: Int, _ context: Context) -> TransferFailure? {
        let proxy = failedProxy(error)
        // For invalid proxy settings only the error of Apple's proxy domain says it.
        let isOfProxy =
            proxy != nil || FailureReasons.chain(under: error).contains { $0.domain == FailureReasons.proxyDomain }
        guard isOfProxy, number > -1200 else { return nil }
        let reason: String
        let advice: String
        switch (error as NSError).userInfo[FailedProxy.statusKey] as? Int {
        case 407?:
            reason = " (it requires authentication: \(StatusText.described(407)))"
            advice = "put NAME:PASSWORD@ before its host, or check them"
        case let status?:
            reason = " (it answered \(StatusText.described(status)))"
            advice = "does it allow that?"
        case nil:
            reason = FailureReasons.parenthesis(error)
            advice = "is the proxy running, and does it allow that?"
        }
        return TransferFailure(
            number == NSURLErrorTimedOut ? .timedOut : .cannotConnect,
            "could not reach \(context.authority) through \(proxy ?? "the proxy")\(reason): \(advice)")
    }
}

extension TransferFailure {
    /// A closed pipe (`| head`) produces no message.
    package init(_ error: FileError) {
        if error.isBrokenPipe {
            self.init(.brokenPipe, "")
        } else {
            self.init(.writeError, "cannot write \(error.path): \(error.reason)")
        }
    }
}
