internal import Glibc

/// The engine's error type. The public module converts it to `URLError`.
package struct LoadError: Error, Sendable, Equatable {
    /// The underlying error, one level deep (ERR-3).
    package enum Cause: Sendable, Equatable {
        /// An `errno`.
        case posix(Int32)
        /// An error number and message of the TLS library.
        case tls(code: Int, text: String)
        /// The dynamic loader's message about a missing or unusable library, with its name.
        case library(String)
        /// The protocol violation in an HTTP message.
        case http(String)
        /// The reply code of an FTP server, or 0, and the violation.
        case ftp(code: Int, text: String)
        /// A refusal of the operating system, such as the lack of a thread.
        case system(String)
        /// The reason that the background service gives, or why it cannot be reached.
        case service(String)
        /// Why the system has cancelled a background task, a value of `NSURLErrorBackgroundTaskCancelledReasonKey`
        /// (BG-13).
        case cancellation(reason: Int)
        /// An error of `getaddrinfo` (`EAI_…`).
        case dns(Int32)
        /// A code of Apple's `kCFErrorDomainCFNetwork` (PROXY-10).
        case cfNetwork(Int)
        /// An error from outside the engine. The caller receives it unchanged.
        case foreign(ForeignError)
    }

    /// The code in `NSURLErrorDomain`.
    package var code: Int
    /// Nil if there is nothing but the code. A load hands around many errors that are not there, so an error is small.
    private var details: Details?

    private final class Details: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private struct Values: Sendable, Equatable {
        var cause: Cause?
        var url: String?
        var untrustedPeer: UntrustedPeer?
        var proxy: FailedProxy?
    }

    package init(code: Int, cause: Cause? = nil) {
        self.code = code
        if let cause { details = Details(Values(cause: cause)) }
    }

    private var values: Values {
        get { details?.values ?? Values() }
        set { details = Details(newValue) }
    }

    package var cause: Cause? {
        get { details?.values.cause }
        set { values.cause = newValue }
    }

    /// The failing URL, if it is not that of the request: one that was never requested.
    package var url: String? {
        get { details?.values.url }
        set { values.url = newValue }
    }

    /// The server or proxy whose certificates were refused, if that is the failure (TLS-5).
    package var untrustedPeer: UntrustedPeer? {
        get { details?.values.untrustedPeer }
        set { values.untrustedPeer = newValue }
    }

    /// The proxy that caused the failure, if one did.
    package var proxy: FailedProxy? {
        get { details?.values.proxy }
        set { values.proxy = newValue }
    }

    package static func == (left: LoadError, right: LoadError) -> Bool {
        left.code == right.code && (left.details === right.details || left.values == right.values)
    }

    /// The failure of a load that a `URLProtocol` or another external loader performs.
    package static func foreign(_ error: any Error, code: Int) -> LoadError {
        LoadError(code: code, cause: .foreign(ForeignError(error)))
    }

    /// The same error for another URL.
    package func at(_ url: String?) -> LoadError {
        var copy = self
        copy.url = url
        return copy
    }
}

/// Failures before a request is sent.
extension LoadError {
    package static let cancelled = LoadError(code: -999)
    package static let badURL = LoadError(code: -1000)
    package static let timedOut = LoadError(code: -1001)
    package static let unsupportedURL = LoadError(code: -1002)
    package static let requestBodyStreamExhausted = LoadError(code: -1021)
    package static let appTransportSecurityRequiresSecureConnection = LoadError(code: -1022)
    /// A GET with a body (ERR-9), or a body that exceeds a limit.
    package static let resourceExceedsMaximum = LoadError(code: -1103)
    /// The policy allows only the cache, which has no response (CACHE-9).
    package static let resourceUnavailable = LoadError(code: -1008)
    /// There is not enough memory for the body.
    package static let outOfMemory = LoadError(code: -1103, cause: .posix(ENOMEM))
    /// The server requires credentials, and none are available.
    package static let userAuthenticationRequired = LoadError(code: -1013)
    /// No load is possible in this process (ERR-16).
    package static func cannotLoadFromNetwork(_ cause: Cause) -> LoadError { LoadError(code: -2000, cause: cause) }
    /// The system starts no thread, because of a limit or lack of memory.
    package static let noThread = cannotLoadFromNetwork(.system("No thread could be started to load with"))
    /// The process was forked without exec from one that had loaded, so it lacks that one's threads.
    package static let forkedProcess = cannotLoadFromNetwork(
        .system("A process that was forked off cannot load before it has executed a program"))
}

/// Failures of background sessions.
extension LoadError {
    /// Another process, or another session of this one, uses the identifier (BG-7).
    package static let backgroundSessionInUse = LoadError(code: -996)
    package static func cancelledBySystem(reason: Int) -> LoadError {
        LoadError(code: -999, cause: .cancellation(reason: reason))
    }
    /// The service cannot be reached, or has lost the task.
    package static func backgroundServiceLost(_ reason: String) -> LoadError {
        LoadError(code: -997, cause: .service(reason))
    }
}

/// Connection failures.
extension LoadError {
    /// The required version of HTTP cannot be negotiated.
    package static func versionUnavailable(_ reason: String) -> LoadError {
        LoadError(code: -1200, cause: .http(reason))
    }

    package static let cannotFindHost = LoadError(code: -1003)
    package static let cannotConnectToHost = LoadError(code: -1004)
    package static let networkConnectionLost = LoadError(code: -1005)
    /// An operation on a closed direction of a stream.
    package static let streamIsClosed = LoadError(code: -1005, cause: .posix(ENOTCONN))
    package static let notConnectedToInternet = LoadError(code: -1009)
    /// An operation on a WebSocket that has closed (WS-12).
    package static let webSocketIsClosed = LoadError(code: -1005, cause: .posix(ENOTCONN))
    /// A message exceeds the limit (WS-8).
    package static let webSocketMessageTooBig = LoadError(code: -1103, cause: .posix(EMSGSIZE))
    /// The server has violated the WebSocket protocol (WS-14).
    package static let webSocketProtocolError = LoadError(code: -1011, cause: .posix(EPROTO))

    package static func cannotFindHost(_ error: Int32) -> LoadError { LoadError(code: -1003, cause: .dns(error)) }

    package static func cannotConnectToHost(_ error: Int32) -> LoadError {
        LoadError(code: -1004, cause: .posix(error))
    }

    package static func networkConnectionLost(_ error: Int32) -> LoadError {
        LoadError(code: -1005, cause: .posix(error))
    }

    package static func notConnectedToInternet(_ error: Int32) -> LoadError {
        LoadError(code: -1009, cause: .posix(error))
    }

    /// Whether an established connection was lost.
    package var isConnectionLoss: Bool { code == -1005 }

    /// Whether the process or the system has no free file descriptor.
    package var isDescriptorShortage: Bool { cause == .posix(EMFILE) || cause == .posix(ENFILE) }

    /// Whether the local machine has no route. The server is not the cause.
    package var isNoRoute: Bool {
        [.posix(ENETUNREACH), .posix(ENETDOWN), .posix(EADDRNOTAVAIL)].contains(cause)
    }

    /// The error for the `errno` of a connection attempt (ERR-5, CONN-12). A missing network is distinguished from a
    /// host that refuses.
    package static func connectionAttemptFailed(_ error: Int32) -> LoadError {
        switch error {
        case ENETUNREACH, ENETDOWN: .notConnectedToInternet(error)
        case ETIMEDOUT: LoadError(code: -1001, cause: .posix(error))
        // The server accepted the connection and reset it before the first use.
        case ECONNRESET, EPIPE: .networkConnectionLost(error)
        default: .cannotConnectToHost(error)
        }
    }
}

/// Failures reported by responses.
extension LoadError {
    package static let tooManyRedirects = LoadError(code: -1007)
    package static let cannotDecodeRawData = LoadError(code: -1015)
    package static let cannotDecodeContentData = LoadError(code: -1016)

    /// A body that violates its content coding (ENC-10).
    package static func cannotDecodeRawData(_ reason: String) -> LoadError {
        LoadError(code: -1015, cause: .http(reason))
    }

    /// A well-formed response that is invalid for the request (WS-4).
    package static func badServerResponse(_ reason: String) -> LoadError {
        LoadError(code: -1011, cause: .http(reason))
    }

    /// A malformed response (ERR-7).
    package static func cannotParseResponse(_ reason: String) -> LoadError {
        LoadError(code: -1017, cause: .http(reason))
    }
}

/// TLS (TLS-5).
extension LoadError {
    package static func secureConnectionFailed(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1200, cause: .tls(code: code, text: text))
    }

    /// The TLS library is missing.
    package static func withoutLibrary(_ text: String) -> LoadError { LoadError(code: -1200, cause: .library(text)) }

    package static func certificateHasBadDate(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1201, cause: .tls(code: code, text: text))
    }

    package static func certificateUntrusted(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1202, cause: .tls(code: code, text: text))
    }

    package static func certificateHasUnknownRoot(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1203, cause: .tls(code: code, text: text))
    }

    package static func certificateNotYetValid(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1204, cause: .tls(code: code, text: text))
    }

    package static func clientCertificateRejected(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1205, cause: .tls(code: code, text: text))
    }

    package static func clientCertificateRequired(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1206, cause: .tls(code: code, text: text))
    }
}

/// Files (ERR-8).
extension LoadError {
    package static let fileIsDirectory = LoadError(code: -1101)

    /// The error for the `errno` of opening a file to load it.
    package static func cannotReadFile(_ error: Int32) -> LoadError {
        switch error {
        case EISDIR: LoadError(code: -1101, cause: .posix(error))
        case EACCES, EPERM: LoadError(code: -1102, cause: .posix(error))
        default: LoadError(code: -1100, cause: .posix(error))
        }
    }

    package static func cannotCreateFile(_ error: Int32) -> LoadError { LoadError(code: -3000, cause: .posix(error)) }
    package static func cannotOpenFile(_ error: Int32) -> LoadError { LoadError(code: -3001, cause: .posix(error)) }
    package static func cannotCloseFile(_ error: Int32) -> LoadError { LoadError(code: -3002, cause: .posix(error)) }
    package static func cannotWriteToFile(_ error: Int32) -> LoadError { LoadError(code: -3003, cause: .posix(error)) }
    package static let downloadDecodingFailedMidStream = LoadError(code: -3006)
    package static let downloadDecodingFailedToComplete = LoadError(code: -3007)
}

/// An error from outside the engine, passed through unchanged. Equal only to itself, because errors are not comparable
/// in general.
package final class ForeignError: Sendable, Equatable {
    package let error: any Error

    package init(_ error: any Error) { self.error = error }

    package static func == (left: ForeignError, right: ForeignError) -> Bool { left === right }
}
