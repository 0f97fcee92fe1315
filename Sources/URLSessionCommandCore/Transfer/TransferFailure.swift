import Foundation
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

        /// Shown in messages, so without secrets.
        var shownURL: String { SecretFields.withoutUserInformation(url) }
    }

    package init(_ error: any Error, _ context: Context) {
        // Not the NSURLError constants: Foundation on Linux has those for TLS off by one.
        let number = (error as? URLError)?.errorCode ?? (error as NSError).code
        let code = URLError.Code(rawValue: number)
        let cause = Self.posixReason(error).map { " (\($0))" } ?? ""
        let place = context.place
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
            self.init(.unsupportedURL, "cannot load \(context.shownURL): only http, https, file and data URLs")
        case .badURL:
            self.init(.malformedURL, "'\(context.shownURL)' is not a URL that can be loaded: check its spelling")
        case .httpTooManyRedirects:
            self.init(
                .tooManyRedirects, "too many redirects from \(context.shownURL): use --no-follow to look at the first")
        case .badServerResponse, .cannotParseResponse:
            self.init(
                .badServerResponse,
                "\(place) did not answer with correct HTTP: is this the right port, and http or https?")
        case .zeroByteResource:
            self.init(.emptyReply, "\(place) closed the connection without an answer: try again, or ask its operator")
        case .cannotDecodeRawData, .cannotDecodeContentData:
            self.init(
                .badContentCoding,
                "the body from \(place) is not coded as its header says: try -H 'Accept-Encoding: identity'")
        case .dataLengthExceedsMaximum:
            self.init(
                .bodyNotAllowed, "URLSession does not send a body with \(context.method): use another method")
        case .requestBodyStreamExhausted:
            self.init(
                .bodyCannotBeResent,
                "\(place) wants the body again, and standard input can be read only once: send it from a file (-d @FILE)"
            )
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
            self.init(.fileUnreadable, "cannot read \(context.shownURL)\(cause): check its name and permissions")
        case .serverCertificateHasBadDate, .serverCertificateNotYetValid:
            self.init(
                .serverCertificate,
                "the certificate of \(place) is out of date: check the clock here and the server's certificate")
        case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
            self.init(
                .serverCertificate,
                "the certificate of \(place) is not trusted: check the host name, or add its authority to the system's")
        case .clientCertificateRejected, .clientCertificateRequired:
            self.init(.clientCertificate, "\(place) asks for a client certificate, and there is none to show")
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

    /// The system's word for it, from the innermost POSIX error.
    private static func posixReason(_ error: any Error) -> String? {
        var error: NSError? = error as NSError
        for _ in 0..<4 {
            guard let current = error else { return nil }
            if current.domain == NSPOSIXErrorDomain, let code = Int32(exactly: current.code) {
                return String(cString: strerror(code)).lowercased()
            }
            error = current.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return nil
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
