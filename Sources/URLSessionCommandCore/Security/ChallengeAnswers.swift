import Foundation
import URLLoading

/// What the command line says to every challenge, that of a connection or that of a server.
struct ChallengeAnswers: Sendable {
    private let security: SecurityAnswers
    private let user: UserAnswers

    init(_ command: CommandLineRequest, url: URL?) throws(UsageError) {
        security = try SecurityAnswers(command)
        user = try UserAnswers(command, url: url)
    }

    /// With the reason to end the load, if there is one.
    func answer(
        to challenge: URLAuthenticationChallenge, narrator: Narrator
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?, TransferFailure?) {
        let space = challenge.protectionSpace
        if let trust = space.serverTrust {
            defer { narrator.certificates(trust, of: space.host) }
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
        case .otherKey:
            let reason = "the key of \(TextSanitizer.clean(host)) is none of those that --pin allows"
            return (.cancelAuthenticationChallenge, nil, TransferFailure(.otherKey, reason))
        }
    }
}
