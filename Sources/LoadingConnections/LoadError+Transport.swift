internal import Glibc
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

extension LoadError {
    /// The error of a load whose established connection has failed (ERR-5).
    package init(_ failure: StreamFailure) {
        switch failure {
        case .posix(let failure): self = .networkConnectionLost(failure.code)
        case .tls(let error): self = LoadError(error)
        }
    }

    /// The error of a load whose TLS handshake has failed (TLS-5).
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

    /// The same if the peer's certificates are the cause.
    init(_ error: TLSError, of peer: TLSPeer) {
        self.init(error)
        untrustedPeer = UntrustedPeer(
            host: peer.serverName, certificates: peer.chain.der, stapledResponse: peer.stapledResponse ?? [])
    }

    /// The error of an FTP load that has failed (ERR-5, ERR-7, ERR-8).
    init(_ failure: FTPFailure) {
        switch failure {
        case .malformedReply, .lineTooLong, .tooManyLines, .tooManyReplies, .unexpectedReply, .noPort, .overlong:
            self.init(code: -1017, cause: .ftp(code: 0, text: String(describing: failure)))
        case .forbiddenCharacter: self = .badURL
        case .isDirectory: self = .fileIsDirectory
        case .connectionLost, .truncated: self = .networkConnectionLost
        case .interrupted(let reply):
            self.init(code: LoadError.networkConnectionLost.code, cause: .ftp(reply))
        case .refused(let reply): self.init(code: reply.errorCode, cause: .ftp(reply))
        }
    }

    /// The server accepts none of the credentials (AUTH-29).
    package static func loginRefused(_ reply: FTPReply) -> LoadError {
        LoadError(code: LoadError.userAuthenticationRequired.code, cause: .ftp(reply))
    }

    /// The request must not be written, because a server could parse part of it as something else.
    init(_ error: HTTP1EncodingError) {
        self.init(code: LoadError.badURL.code, cause: .http(String(describing: error)))
    }

    /// The same for a stream of HTTP/2 or HTTP/3; `notAllowed` means that the connection takes no more requests.
    init(_ error: HTTPStreamRequestError) {
        self =
            switch error {
            case .notAllowed: .networkConnectionLost
            default: LoadError(code: LoadError.badURL.code, cause: .http(String(describing: error)))
            }
    }

    /// The error of a load whose stream ended early.
    ///
    /// - Parameters:
    ///   - version: The stream's version of HTTP.
    ///   - loss: Why the stream's connection was lost or closed; nil if it is still open.
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
    /// Why a QUIC connection ended. The text of a server that closes it is left out: it could repeat what is secret,
    /// and errors are logged (`LoadError.reasonForTrace`).
    init(_ error: HTTP3Error) {
        self =
            switch error {
            case .violation, .flood: .cannotParseResponse("HTTP/3: \(error)")
            case .idleTimeout: .networkConnectionLost(ETIMEDOUT)
            case .unavailable(let text): .withoutLibrary(text)
            case .closedByPeer(let code, let isApplication, reason: _):
                LoadError(
                    code: LoadError.networkConnectionLost.code,
                    cause: .http("HTTP/3: closed by the server, \(isApplication ? "HTTP/3" : "QUIC") error \(code)"))
            default: LoadError(code: LoadError.networkConnectionLost.code, cause: .http("HTTP/3: \(error)"))
            }
    }

    /// The same, if a TLS alert of the server may be about the client's certificate (TLS-5).
    init(_ error: HTTP3Error, clientCertificate state: ClientCertificateState) {
        switch (error, state) {
        case (.unusableIdentity, _):
            self.init(TLSError(code: TLSError.clientCertificateRejected, reason: "HTTP/3: \(error)"))
        case (_, .notRequested): self.init(error)
        case (.closedByPeer(let code, isApplication: false, reason: _), _) where code >> 8 == 1:
            let alert = Int32(code & 0xFF)
            let reason = "HTTP/3: closed by the server, TLS alert \(alert)"
            self.init(TLSError(code: state.errorCode(alert: alert), reason: reason))
        default: self.init(error)
        }
    }
}

extension LoadError.Cause {
    fileprivate static func ftp(_ reply: FTPReply) -> Self { .ftp(code: reply.code, text: reply.message) }
}

extension FTPReply {
    /// The error code of a load that the server refused with this reply.
    fileprivate var errorCode: Int {
        switch code {
        case 425: LoadError.cannotConnectToHost.code
        case 426: LoadError.networkConnectionLost.code
        case 450: LoadError.resourceUnavailable.code
        // Servers use one reply for a missing file and for a forbidden one; only the text distinguishes the two.
        case 550, 553: saysForbidden ? -1102 : -1100
        default: -1011
        }
    }

    private var saysForbidden: Bool {
        let text = message.lowercased()
        return text.contains("permission") || text.contains("denied") || text.contains("not allowed")
    }
}

extension LoadError {
    /// The error of a stream task whose service was not resolved (STREAM-10). The reason is the underlying error.
    package init(_ failure: DiscoveryFailure) {
        switch failure {
        case .timedOut: self = .timedOut
        case .invalidArgument, .notFound, .collision: self = .cannotFindHost
        case .libraryMissing: self.init(code: LoadError.cannotFindHost.code, cause: .library(failure.reason))
        case .busMissing, .daemonMissing, .connectionLost, .unexpectedReply, .refused, .noResources:
            self.init(code: LoadError.cannotFindHost.code, cause: .system(failure.reason))
        }
    }
}
