import Glibc
import LoadingSemantics
import Testing

@Suite struct LoadErrorTests {
    // ERR-5, CONN-12
    @Test func failedAttemptDiffersFromMissingNetwork() {
        #expect(LoadError.connectionAttemptFailed(ECONNREFUSED) == LoadError(code: -1004, cause: .posix(ECONNREFUSED)))
        #expect(LoadError.connectionAttemptFailed(EHOSTUNREACH) == LoadError(code: -1004, cause: .posix(EHOSTUNREACH)))
        #expect(LoadError.connectionAttemptFailed(ENETUNREACH) == LoadError(code: -1009, cause: .posix(ENETUNREACH)))
        #expect(LoadError.connectionAttemptFailed(ENETDOWN) == LoadError(code: -1009, cause: .posix(ENETDOWN)))
        #expect(LoadError.connectionAttemptFailed(ETIMEDOUT) == LoadError(code: -1001, cause: .posix(ETIMEDOUT)))
    }

    // ERR-8
    @Test func fileErrorsFollowErrno() {
        #expect(LoadError.cannotReadFile(ENOENT) == LoadError(code: -1100, cause: .posix(ENOENT)))
        #expect(LoadError.cannotReadFile(EISDIR) == LoadError(code: -1101, cause: .posix(EISDIR)))
        #expect(LoadError.cannotReadFile(EACCES) == LoadError(code: -1102, cause: .posix(EACCES)))
        #expect(LoadError.cannotWriteToFile(ENOSPC) == LoadError(code: -3003, cause: .posix(ENOSPC)))
    }

    // TLS-5
    @Test func tlsErrorsKeepTheLibrarysWords() {
        #expect(
            LoadError.certificateHasBadDate(10, "certificate has expired")
                == LoadError(code: -1201, cause: .tls(code: 10, text: "certificate has expired")))
        #expect(
            LoadError.clientCertificateRequired(116, "") == LoadError(code: -1206, cause: .tls(code: 116, text: "")))
    }

    // ERR-4
    @Test(arguments: [
        (-999, "cancelled"), (-1001, "The request timed out."), (-1002, "unsupported URL"),
        (-1003, "A server with the specified hostname could not be found."),
        (-1004, "Could not connect to the server."), (-1005, "The network connection was lost."),
        (-1007, "too many HTTP redirects"), (-1009, "The Internet connection appears to be offline."),
        (-1103, "resource exceeds maximum size"), (12345, "unknown error"),
    ])
    func describesCodes(code: Int, text: String) {
        #expect(LoadError.description(ofCode: code) == text)
    }

    // ERR-1: every code that the engine can produce has its own text.
    @Test func allErrorsHaveText() {
        let errors: [LoadError] = [
            .cancelled, .badURL, .timedOut, .unsupportedURL, .requestBodyStreamExhausted,
            .appTransportSecurityRequiresSecureConnection, .resourceExceedsMaximum, .resourceUnavailable,
            .noThread, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost,
            .notConnectedToInternet, .tooManyRedirects, .cannotDecodeRawData,
            .cannotDecodeContentData, .badServerResponse(""), .cannotParseResponse(""), .secureConnectionFailed(0, ""),
            .certificateHasBadDate(0, ""), .certificateUntrusted(0, ""), .certificateHasUnknownRoot(0, ""),
            .certificateNotYetValid(0, ""), .clientCertificateRejected(0, ""), .clientCertificateRequired(0, ""),
            .fileIsDirectory, .cannotReadFile(ENOENT), .cannotReadFile(EPERM), .cannotCreateFile(0),
            .cannotOpenFile(0), .cannotCloseFile(0), .cannotWriteToFile(0),
            .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete,
        ]
        let texts = errors.map { LoadError.description(ofCode: $0.code) }
        #expect(!texts.contains("unknown error"))
        #expect(Set(texts).count == errors.count)
    }
}
