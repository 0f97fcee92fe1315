import Foundation
import URLLoading

/// Answers all authentication challenges as the command line specifies.
struct ChallengeResponder: Sendable {
    private let security: TLSChallengeResponder
    private let user: UserChallengeResponder

    init(_ command: CommandLineRequest, url: URL?) throws(UsageError) {
        security = try TLSChallengeResponder(command)
        user = try UserChallengeResponder(command, url: url)
    }

    /// The third element is set if the load must be cancelled; it is the error to report.
    func answer(
        to challenge: URLAuthenticationChallenge, verboseOutput: VerboseOutput
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?, TransferFailure?) {
        let space = challenge.protectionSpace
        if let trust = space.serverTrust {
            defer { verboseOutput.certificates(trust, of: space.host) }
            return answer(to: trust, of: space.host)
        }
        if space.authenticationMethod == NSURLAuthenticationMethodClientCertificate {
            guard let credential = security.clientCredential else { return (.performDefaultHandling, nil, nil) }
            return (.useCredential, credential, nil)
        }
        let (disposition, credential) = user.answer(to: challenge)
        return (disposition, credential, nil)
    }

    private func answer(
        to trust: SecTrust, of host: String
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?, TransferFailure?) {
        switch security.answer(to: trust) {
        case .defaultHandling: return (.performDefaultHandling, nil, nil)
        case .trust: return (.useCredential, URLCredential(trust: trust), nil)
        case .distrust(let error):
            let reason = error.map { FailureReasons.described($0) } ?? "no reason is known"
            return (
                .rejectProtectionSpace, nil,
                TransferFailure(
                    .serverCertificate,
                    "the certificate of \(TextSanitizer.clean(host)) is not trusted by --cacert: \(reason)")
            )
        case .pinMismatch:
            let reason = "the public key of \(TextSanitizer.clean(host)) matches no --pin"
            return (.cancelAuthenticationChallenge, nil, TransferFailure(.pinMismatch, reason))
        }
    }
}
