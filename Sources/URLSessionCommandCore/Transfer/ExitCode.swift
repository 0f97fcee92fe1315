/// The exit codes of the process. They equal curl's where curl has a code for the same failure.
package enum ExitCode: Int32, Equatable, Sendable, CaseIterable {
    case success = 0
    case unsupportedURL = 1
    case usage = 2
    case malformedURL = 3
    case unavailable = 4
    case hostNotFound = 6
    case cannotConnect = 7
    case badServerResponse = 8
    case noHTTP2 = 16
    case partialBody = 18
    case httpError = 22
    case writeError = 23
    case readError = 26
    case timedOut = 28
    case tlsHandshake = 35
    case fileUnreadable = 37
    case tooManyRedirects = 47
    case emptyReply = 52
    case connectionLost = 56
    case clientCertificate = 58
    case serverCertificate = 60
    case badContentCoding = 61
    /// The body is larger than allowed, or the method has none.
    case bodyNotAllowed = 63
    case startTLSRefused = 64
    case bodyCannotBeResent = 65
    case unexpected = 70
    case pinMismatch = 90
    case noHTTP3 = 95
    case messageTooLarge = 100
    case webSocketClosed = 110
    case interrupted = 130
    case brokenPipe = 141
    case terminated = 143
}
