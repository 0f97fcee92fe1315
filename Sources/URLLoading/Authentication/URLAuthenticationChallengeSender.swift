public import Foundation

/// Who takes the answer to a challenge of a custom protocol. Challenges of a session are answered through the
/// completion handler that comes with them.
public protocol URLAuthenticationChallengeSender: NSObjectProtocol {
    /// Try that credential.
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)

    /// Go on without a credential.
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)

    /// Give the load up.
    func cancel(_ challenge: URLAuthenticationChallenge)

    /// Do what would be done without a delegate. Optional: if missing, the load goes on without a credential.
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)

    /// Try the next protection space. Optional: if missing, the load goes on without a credential.
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
