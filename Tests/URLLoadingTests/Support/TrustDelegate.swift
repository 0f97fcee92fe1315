import Foundation
import URLLoading

/// Answers each challenge with one disposition, and with a credential for the server's trust.
final class TrustDelegate: NSObject, URLSessionDelegate, Sendable {
    let disposition: URLSession.AuthChallengeDisposition

    init(_ disposition: URLSession.AuthChallengeDisposition) { self.disposition = disposition }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(disposition, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    }
}
