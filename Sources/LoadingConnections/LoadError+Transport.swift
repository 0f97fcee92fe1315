internal import Glibc
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

extension LoadError {
    /// What the failure of an established connection means to a load (ERR-5).
    package init(_ failure: StreamFailure) {
        switch failure {
        case .posix(let failure): self = .networkConnectionLost(failure.code)
        case .tls(let error): self = LoadError(error)
        }
    }

    /// What the failure of a handshake means to a load (TLS-5).
    init(_ error: TLSError) {
        let cause: Cause =
            if error.isOfLibrary {
                .library(error.reason)
            } else if error.posix != 0 {
                .posix(error.posix)
            } else {
                .tls(code: Int(error.verifyCode), text: error.reason)
            }
        self.init(code: error.code, cause: cause)
    }

    /// What the failure of an FTP load means (ERR-5, ERR-7, ERR-8).
    init(_ failure: FTPFailure) {
        switch failure {
        case .malformedReply, .lineTooLong, .tooManyLines, .tooManyReplies, .unexpectedReply, .noPort:
            self.init(code: -1017, cause: .ftp(code: 0, text: String(describing: failure)))
        case .forbiddenCharacter: self = .badURL
        case .isDirectory: self = .fileIsDirectory
        case .connectionLost, .truncated: self = .networkConnectionLost
        case .interrupted(let reply):
            self.init(code: LoadError.networkConnectionLost.code, cause: .ftp(reply))
        case .refused(let reply): self.init(code: reply.errorCode, cause: .ftp(reply))
        }
    }

    /// Nobody whom this server lets in is known (AUTH-29).
    package static func loginRefused(_ reply: FTPReply) -> LoadError {
        LoadError(code: LoadError.userAuthenticationRequired.code, cause: .ftp(reply))
    }

    /// A request that must not be written: part of it would be read as something else.
    init(_ error: HTTP1EncodingError) {
        self.init(code: LoadError.badURL.code, cause: .http(String(describing: error)))
    }

    /// The same over HTTP/2, or a connection that takes no more.
    init(_ error: HTTPStreamRequestError) {
        self =
            switch error {
            case .notAllowed: .networkConnectionLost
            default: LoadError(code: LoadError.badURL.code, cause: .http(String(describing: error)))
            }
    }

    /// What the early end of a stream means to a load.
    ///
    /// - Parameters:
    ///   - version: What the stream spoke.
    ///   - loss: Why its connection was given up, if it was.
    init(_ failure: HTTPStreamFailure, over version: HTTPVersion, loss: LoadError?) {
        self =
            switch failure {
            case .malformed(let text): .cannotParseResponse(text)
            case .connectionLost: loss ?? .networkConnectionLost
            case .refused, .http11Required, .reset, .truncated, .cancelled:
                LoadError(code: LoadError.networkConnectionLost.code, cause: .http("\(version): \(failure)"))
            }
    }
}

extension LoadError {
    /// Why a connection over QUIC is no more.
    init(_ error: HTTP3Error) {
        self =
            switch error {
            case .violation, .flood: .cannotParseResponse("HTTP/3: \(error)")
            case .idleTimeout: .networkConnectionLost(ETIMEDOUT)
            case .unavailable(let text): .withoutLibrary(text)
            default: LoadError(code: LoadError.networkConnectionLost.code, cause: .http("HTTP/3: \(error)"))
            }
    }
}

extension LoadError.Cause {
    fileprivate static func ftp(_ reply: FTPReply) -> Self { .ftp(code: reply.code, text: reply.message) }
}

extension FTPReply {
    /// The code of a load that was refused with this.
    fileprivate var errorCode: Int {
        switch code {
        case 425: LoadError.cannotConnectToHost.code
        case 426: LoadError.networkConnectionLost.code
        case 450: LoadError.resourceUnavailable.code
        // One reply for a file that is not there and for one that may not be read; the text tells, if anything does.
        case 550, 553: saysForbidden ? -1102 : -1100
        default: -1011
        }
    }

    private var saysForbidden: Bool {
        let text = message.lowercased()
        return text.contains("permission") || text.contains("denied") || text.contains("not allowed")
    }
}
