internal import Foundation
internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingTransport

/// Challenges of the TLS handshake: server trust and client certificates.
extension TaskCore {
    func load(_ load: any Load, asks question: ConnectionChallenge) -> Bool {
        guard wantsConnectionChallenges else { return false }
        let key = question.key
        let port = Int(key.port)
        let space: URLProtectionSpace
        switch question.subject {
        case .serverTrust(let peer):
            space = URLProtectionSpace(host: key.host, port: port, serverTrust: SecTrust(peer))
        case .clientCertificate(let request):
            space = URLProtectionSpace(
                host: key.host, port: port, distinguishedNames: request.distinguishedNames.map { Data($0) })
        // Handled by the load, which has called `load(_:isAsked:by:)`.
        case .tunnel: return false
        }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil)
        let pending = ask(challenge) { question.answer(ConnectionChallenge.Answer($0, to: space)) }
        question.onWithdrawal = { pending.withdraw() }
        return true
    }
}

extension ConnectionChallenge.Answer {
    /// Converts a delegate's answer for the handshake. A missing credential, one of another kind, or one for another
    /// certificate counts as no answer (AUTH-29).
    fileprivate init(_ answer: ChallengeAnswer, to space: URLProtectionSpace) {
        self =
            switch (answer.disposition, space.serverTrust) {
            case (.useCredential, let asked?):
                if let given = answer.credential?.serverTrust, given.isAboutCertificate(of: asked) {
                    .trust(isEvaluated: given.isTrustedByDefault(for: space.host, as: asked))
                } else {
                    .defaultHandling
                }
            case (.useCredential, nil):
                answer.credential?.tlsIdentity.map { .identity($0) } ?? .defaultHandling
            // There is no other protection space to try.
            case (.rejectProtectionSpace, _?), (.cancelAuthenticationChallenge, _?): .distrust
            case (.rejectProtectionSpace, nil), (.cancelAuthenticationChallenge, nil), (.performDefaultHandling, _):
                .defaultHandling
            }
    }
}
