/// Why a load failed: the number of `NSURLErrorDomain` that the caller will see, and what was behind it.
///
/// The engine's own value, without Foundation; the public module makes a `URLError` of it.
package struct LoadError: Error, Sendable, Equatable {
    /// A code of `NSURLErrorDomain` (ERR-1).
    package var code: Int
    package var cause: Cause?
    /// With -1009: 0 cellular, 1 expensive, 2 constrained, 3 ultra constrained (ERR-13).
    package var networkUnavailableReason: Int?

    package enum Cause: Sendable, Equatable {
        case posix(Int32)
        /// A code and OpenSSL's words for it.
        case tls(Int, String)
        /// What was wrong with a message.
        case message(String)
        /// A code of `getaddrinfo`, and its words.
        case resolution(Int32, String)
    }

    package init(_ code: Int, _ cause: Cause? = nil) {
        self.code = code
        self.cause = cause
    }

    package static let cancelled = LoadError(-999)
    package static let badURL = LoadError(-1000)
    package static let timedOut = LoadError(-1001)
    package static let unsupportedURL = LoadError(-1002)
    package static let cannotFindHost = LoadError(-1003)
    package static let tooManyRedirects = LoadError(-1007)
    package static let badServerResponse = LoadError(-1011)
    package static let requestBodyStreamExhausted = LoadError(-1021)
    /// A GET with a body, which is refused before anything is sent (ERR-9).
    package static let bodyNotAllowed = LoadError(-1103)
    package static let outOfMemory = LoadError(-1103, .posix(12))

    package static func badURL(_ reason: String) -> LoadError { LoadError(-1000, .message(reason)) }
    package static func cannotFindHost(_ code: Int32, _ text: String) -> LoadError {
        LoadError(-1003, .resolution(code, text))
    }
    package static func cannotConnectToHost(_ code: Int32?) -> LoadError { LoadError(-1004, code.map { .posix($0) }) }
    package static func networkConnectionLost(_ code: Int32?) -> LoadError {
        LoadError(-1005, code.map { .posix($0) })
    }
    package static func notConnectedToInternet(_ code: Int32?) -> LoadError {
        LoadError(-1009, code.map { .posix($0) })
    }
    package static func cannotDecodeRawData(_ reason: String) -> LoadError { LoadError(-1015, .message(reason)) }
    package static func cannotParseResponse(_ reason: String) -> LoadError { LoadError(-1017, .message(reason)) }

    /// Whether a connection that had been made was lost.
    package var isConnectionLoss: Bool { code == -1005 }
}
