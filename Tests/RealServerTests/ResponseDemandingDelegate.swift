import Foundation
import TestSupport
import URLLoading

/// Accepts a server only with an OCSP response that says that its certificate is not revoked.
final class ResponseDemandingDelegate: NSObject, URLSessionDelegate, Sendable {
    let trusted = EventRecorder<Bool>()

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard let trust = challenge.protectionSpace.serverTrust,
            let revocation = SecPolicyCreateRevocation(
                CFOptionFlags(kSecRevocationOCSPMethod | kSecRevocationRequirePositiveResponse))
        else { return (.performDefaultHandling, nil) }
        let policies = [SecPolicyCreateSSL(true, challenge.protectionSpace.host as CFString), revocation]
        SecTrustSetPolicies(trust, policies as CFArray)
        let isTrusted = SecTrustEvaluateWithError(trust, nil)
        trusted.record(isTrusted)
        return isTrusted ? (.useCredential, URLCredential(trust: trust)) : (.cancelAuthenticationChallenge, nil)
    }
}
