import Foundation
internal import LoadingSemantics
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Why a transfer did not do what was asked: the exit code and the one line for people.
package struct TransferFailure: Error, Equatable, Sendable {
    package var exitCode: ExitCode
    package var message: String

    package init(_ exitCode: ExitCode, _ message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    /// What was known when the error came.
    package struct Context: Equatable, Sendable {
        package var url: String
        package var method: String
        package var hasResponse = false
        package var received: Int64 = 0
        package var expected: Int64 = -1
        package var timeout: Double?
        package var idleTimeout: Double?
        package var elapsed: Double = 0
        /// The only version that may be spoken.
        package var version: CommandLineRequest.Version?

        package init(url: String, method: String = "GET") {
            self.url = url
            self.method = method
        }

        /// `host:port`, or the URL when it has no host.
        var place: String {
            guard let url = URL(string: url), let host = url.host, !host.isEmpty else { return url }
            let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
            return url.port.map { "\(name):\($0)" } ?? name
        }

        var isFTP: Bool { URL(string: url)?.scheme?.lowercased() == "ftp" }

        /// Shown in messages, so without secrets.
        var shownURL: String { SecretText.hiding(in: url, as: .address) }
    }

    package init(_ error: any Error, _ context: Context) {
        // Not the NSURLError constants: Foundation on Linux has those for TLS off by one.
        let number = (error as? URLError)?.errorCode ?? (error as NSError).code
        let code = URLError.Code(rawValue: number)
        let cause = FailureReasons.parenthesis(error)
        let place = Self.failedProxy(error) ?? context.place
        if let failure = Self.version(error, code, context) ?? Self.proxy(error, number, context) {
            self = failure
            return
        }
        switch code {
        case .timedOut:
            self.init(.timedOut, Self.timeout(context))
        case .cannotFindHost, .dnsLookupFailed:
            self.init(.hostNotFound, "no address found for \(place): check the name and your DNS")
        case .cannotConnectToHost:
            self.init(
                .cannotConnect, "could not connect to \(place)\(cause): is the server running, and is it that port?")
        case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed:
            self.init(.cannotConnect, "no network to reach \(place)\(cause): check your connection")
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
                    ? "\(place) did not answer with correct FTP\(cause): is this the right port?"
                    : "\(place) did not answer with correct HTTP: is this the right port, and http or https?")
        case .zeroByteResource:
            self.init(.emptyReply, "\(place) closed the connection without an answer: try again, or ask its operator")
        case .cannotDecodeRawData, .cannotDecodeContentData, .downloadDecodingFailedMidStream,
            .downloadDecodingFailedToComplete:
            self.init(
                .badContentCoding,
                "the body from \(place) is not coded as its header says: try -H 'Accept-Encoding: identity'")
        case .dataLengthExceedsMaximum:
            self.init(
                .bodyNotAllowed, "URLSession does not send a body with \(context.method): use another method")
        case .requestBodyStreamExhausted:
            self.init(
                .bodyCannotBeResent,
                "\(place) wants the body again, and what it comes from can be read only once: send it from a file (-d @FILE)"
            )
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
            self.init(.fileUnreadable, "cannot read \(context.shownURL)\(cause): check its name and permissions")
        case .serverCertificateHasBadDate, .serverCertificateNotYetValid:
            self.init(
                .serverCertificate,
                "the certificate of \(place) is out of date\(cause): "
                    + "check the clock here and the server's certificate")
        case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
            self.init(
                .serverCertificate,
                "the certificate of \(place) is not trusted\(cause): "
                    + "-v shows it; --cacert FILE trusts an authority of your own")
        case .clientCertificateRejected, .clientCertificateRequired:
            self.init(.clientCertificate, "\(place) asks for a client certificate\(cause): show one with --cert")
        case .secureConnectionFailed where FailureReasons.isAboutLibrary(error):
            self.init(.tlsHandshake, "no secure connection to \(place)\(cause): install that library")
        case .secureConnectionFailed, .appTransportSecurityRequiresSecureConnection:
            self.init(.tlsHandshake, "no secure connection to \(place)\(cause): does this port speak TLS 1.2 or later?")
        case .cannotCreateFile, .cannotOpenFile, .cannotWriteToFile, .cannotCloseFile:
            self.init(
                .writeError, "cannot write what comes from \(place)\(cause): is there room, and may you write there?")
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
        return "\(context.place) \(what) for \(plain(limit)) s: try again, or allow more time with --idle-timeout"
    }

    private static func lost(_ context: Context, _ cause: String) -> TransferFailure {
        if !context.hasResponse {
            return TransferFailure(
                .emptyReply,
                "\(context.place) closed the connection without an answer\(cause): try again, or check http or https")
        }
        if context.expected > 0, context.received < context.expected {
            return TransferFailure(
                .partialBody,
                "\(context.place) closed the connection after \(context.received) of \(context.expected) bytes: "
                    + "what came is incomplete, try again")
        }
        return TransferFailure(
            .connectionLost, "the connection to \(context.place) was lost\(cause): what came is incomplete, try again")
    }

    private static func plain(_ seconds: Double) -> String {
        seconds == seconds.rounded() && seconds < 1e9 ? "\(Int(seconds))" : "\(seconds)"
    }

    /// The one version that may be spoken is not to be had.
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
            return TransferFailure(exitCode, "no \(name) to \(context.place)\(cause): leave the version to the server")
        case .cannotConnectToHost?, .networkConnectionLost?, .timedOut?:
            guard version == .http3, !context.hasResponse else { return nil }
            return TransferFailure(
                exitCode, "\(context.place) does not answer over \(name)\(cause): leave the version to the server")
        default: return nil
        }
    }

    private static func failedProxy(_ error: any Error) -> String? {
        ((error as NSError).userInfo[FailedProxy.urlKey] as? String).map { "the proxy \(TextSanitizer.clean($0))" }
    }

    /// It is the proxy that was not reached, or does not do its part. What is wrong with TLS is told of it as of a server.
    private static func proxy(_ error: any Error, _ number: Int, _ context: Context) -> TransferFailure? {
        let proxy = failedProxy(error)
        // Where the settings name no proxy that there can be, Apple's number alone says so.
        let isOfProxy =
            proxy != nil || FailureReasons.chain(under: error).contains { $0.domain == FailureReasons.proxyDomain }
        guard isOfProxy, number > -1200 else { return nil }
        let reason: String
        let advice: String
        switch (error as NSError).userInfo[FailedProxy.statusKey] as? Int {
        case 407?:
            reason = " (it wants to know who the user is: \(StatusText.described(407)))"
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
            "could not reach \(context.place) through \(proxy ?? "the proxy")\(reason): \(advice)")
    }
}

extension TransferFailure {
    /// A reader that went away (`| head`) has seen enough: no word about it.
    package init(_ error: WriteError) {
        if error.isBrokenPipe {
            self.init(.brokenPipe, "")
        } else {
            self.init(.writeError, "cannot write \(error.path): \(error.reason)")
        }
    }
}
