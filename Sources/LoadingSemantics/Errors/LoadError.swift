internal import Glibc

/// Why a load failed, in the terms of the engine. The public module makes a `URLError` of it.
package struct LoadError: Error, Sendable, Equatable {
    /// What lies under a failure, nested once (ERR-3).
    package enum Cause: Sendable, Equatable {
        /// An `errno`.
        case posix(Int32)
        /// A number and a text of the TLS library.
        case tls(code: Int, text: String)
        /// What the system's loader says of a library that is missing or unusable, which it names.
        case library(String)
        /// What was wrong with the peer's HTTP.
        case http(String)
        /// A reply of an FTP server, or 0, and what was wrong.
        case ftp(code: Int, text: String)
        /// What the system does not let the process do.
        case system(String)
        /// A result of `getaddrinfo` (`EAI_…`).
        case dns(Int32)
        /// A number of Apple's `kCFErrorDomainCFNetwork` (PROXY-10).
        case cfNetwork(Int)
        /// An error that is not of the engine's making; it is what the caller gets.
        case foreign(ForeignError)
    }

    /// The number in `NSURLErrorDomain`.
    package var code: Int
    package var cause: Cause?
    /// The address that failed, when it is another than that of the request: one that was not even asked for.
    package var url: String?
    /// The certificates, in DER, of a server that is not trusted.
    package var peerCertificates: [[UInt8]] = []
    /// The proxy on the way, where it is that which has not done its part.
    package var proxy: FailedProxy?

    package init(code: Int, cause: Cause? = nil) {
        self.code = code
        self.cause = cause
    }

    /// The failure of a load that somebody else does.
    package static func foreign(_ error: any Error, code: Int) -> LoadError {
        LoadError(code: code, cause: .foreign(ForeignError(error)))
    }

    /// The same failure of another address.
    package func at(_ url: String?) -> LoadError {
        var copy = self
        copy.url = url
        return copy
    }
}

/// The request could not be made.
extension LoadError {
    package static let cancelled = LoadError(code: -999)
    package static let badURL = LoadError(code: -1000)
    package static let timedOut = LoadError(code: -1001)
    package static let unsupportedURL = LoadError(code: -1002)
    package static let requestBodyStreamExhausted = LoadError(code: -1021)
    package static let appTransportSecurityRequiresSecureConnection = LoadError(code: -1022)
    /// A GET with a body (ERR-9), or a body beyond a limit.
    package static let resourceExceedsMaximum = LoadError(code: -1103)
    /// The cache alone was asked, and it has nothing (CACHE-9).
    package static let resourceUnavailable = LoadError(code: -1008)
    /// The machine has no memory left for the body.
    package static let outOfMemory = LoadError(code: -1103, cause: .posix(ENOMEM))
    /// The server does not let the user in, and nobody can say who he is.
    package static let userAuthenticationRequired = LoadError(code: -1013)
    /// Nothing can be loaded in this process (ERR-16: there is a code for it).
    package static func cannotLoadFromNetwork(_ cause: Cause) -> LoadError { LoadError(code: -2000, cause: cause) }
    /// The system starts no thread: too many of the user's, or no memory.
    package static let noThread = cannotLoadFromNetwork(.system("No thread could be started to load with"))
    /// The process was made by `fork` of one that had loaded, and has none of its threads.
    package static let forkedProcess = cannotLoadFromNetwork(
        .system("A process that was forked off cannot load before it has executed a program"))
}

/// No connection, or no longer one.
extension LoadError {
    /// The version of HTTP that is required cannot be spoken.
    package static func cannotSpeak(_ reason: String) -> LoadError { LoadError(code: -1200, cause: .http(reason)) }

    package static let cannotFindHost = LoadError(code: -1003)
    package static let cannotConnectToHost = LoadError(code: -1004)
    package static let networkConnectionLost = LoadError(code: -1005)
    /// What is asked of a direction of a stream that has been closed.
    package static let streamIsClosed = LoadError(code: -1005, cause: .posix(ENOTCONN))
    package static let notConnectedToInternet = LoadError(code: -1009)

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

    /// What the proxy refused or garbled (AUTH-28, PROXY-10).
    package static func proxyFailed(cfNetwork number: Int) -> LoadError {
        LoadError(code: -1004, cause: .cfNetwork(number))
    }

    /// Whether a connection that had been made was lost.
    package var isConnectionLoss: Bool { code == -1005 }

    /// Whether the process or the machine has no descriptor left, which is nobody else's fault.
    package var isDescriptorShortage: Bool { cause == .posix(EMFILE) || cause == .posix(ENFILE) }

    /// Whether there was no way out of this machine, which is no server's fault.
    package var isNoRoute: Bool {
        [.posix(ENETUNREACH), .posix(ENETDOWN), .posix(EADDRNOTAVAIL)].contains(cause)
    }

    /// For the `errno` of a connection attempt (ERR-5, CONN-12): no network at all is told from a host that refuses.
    package static func connectionAttemptFailed(_ error: Int32) -> LoadError {
        switch error {
        case ENETUNREACH, ENETDOWN: .notConnectedToInternet(error)
        case ETIMEDOUT: LoadError(code: -1001, cause: .posix(error))
        // The server took the connection and dropped it before anybody looked.
        case ECONNRESET, EPIPE: .networkConnectionLost(error)
        default: .cannotConnectToHost(error)
        }
    }
}

/// What the server said.
extension LoadError {
    package static let tooManyRedirects = LoadError(code: -1007)
    package static let redirectToNonExistentLocation = LoadError(code: -1010)
    package static let cannotDecodeRawData = LoadError(code: -1015)
    package static let cannotDecodeContentData = LoadError(code: -1016)

    /// A body that is not what its content coding allows (ENC-10).
    package static func cannotDecodeRawData(_ reason: String) -> LoadError {
        LoadError(code: -1015, cause: .http(reason))
    }

    /// Bytes that parse, but are no answer to what was asked (WS-4).
    package static func badServerResponse(_ reason: String) -> LoadError {
        LoadError(code: -1011, cause: .http(reason))
    }

    /// Bytes that break the protocol (ERR-7).
    package static func cannotParseResponse(_ reason: String) -> LoadError {
        LoadError(code: -1017, cause: .http(reason))
    }
}

/// TLS (TLS-5).
extension LoadError {
    package static func secureConnectionFailed(_ code: Int, _ text: String) -> LoadError {
        LoadError(code: -1200, cause: .tls(code: code, text: text))
    }

    /// There is nothing to speak TLS with.
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

    /// For the `errno` of opening a file to load it.
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
    package static func cannotRemoveFile(_ error: Int32) -> LoadError { LoadError(code: -3004, cause: .posix(error)) }
    package static func cannotMoveFile(_ error: Int32) -> LoadError { LoadError(code: -3005, cause: .posix(error)) }
    package static let downloadDecodingFailedMidStream = LoadError(code: -3006)
    package static let downloadDecodingFailedToComplete = LoadError(code: -3007)
}
