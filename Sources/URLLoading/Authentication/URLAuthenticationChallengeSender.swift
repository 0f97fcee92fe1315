public import Foundation

/// Receives the answer to a challenge of a custom protocol. Challenges of a session are answered through their
/// completion handler.
public protocol URLAuthenticationChallengeSender: NSObjectProtocol {
    /// Use a credential.
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)

    /// Continue without a credential.
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)

    /// Cancel the load.
    func cancel(_ challenge: URLAuthenticationChallenge)

    /// Handle the challenge as without a delegate. Optional; by default the load continues without a credential.
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)

    /// Try the next protection space. Optional; by default the load continues without a credential.
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

extension URLAuthenticationChallengeSender {
    public func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        continueWithoutCredential(for: challenge)
    }

    public func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        continueWithoutCredential(for: challenge)
    }
}
