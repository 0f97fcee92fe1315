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
        to challenge: URLAuthenticationChallenge
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?, TransferFailure?) {
        let space = challenge.protectionSpace
        if let trust = space.serverTrust { return answer(to: trust, of: space.host) }
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
        case .distrust: return (.rejectProtectionSpace, nil, nil)
        case .otherKey:
            let reason = "the key of \(TextSanitizer.clean(host)) is none of those that --pin allows"
            return (.cancelAuthenticationChallenge, nil, TransferFailure(.otherKey, reason))
        }
    }
}
