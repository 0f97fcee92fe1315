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

// The last two are optional on Apple's platforms, and programs call them so:
// `challenge.sender?.performDefaultHandling?(for: challenge)`.
// Such a call finds the properties, and a plain call the methods.
extension URLAuthenticationChallengeSender {
    /// The method of this name, for calls with a question mark.
    @_disfavoredOverload
    public var performDefaultHandling: OptionalChallengeAnswer? {
        OptionalChallengeAnswer { self.performDefaultHandling(for: $0) }
    }

    /// The method of this name, for calls with a question mark.
    @_disfavoredOverload
    public var rejectProtectionSpaceAndContinue: OptionalChallengeAnswer? {
        OptionalChallengeAnswer { self.rejectProtectionSpaceAndContinue(with: $0) }
    }
}

/// An optional method of a challenge's sender, for a call with a question mark.
public struct OptionalChallengeAnswer {
    private let answer: (URLAuthenticationChallenge) -> Void

    init(_ answer: @escaping (URLAuthenticationChallenge) -> Void) { self.answer = answer }

    /// Calls `performDefaultHandling(for:)`.
    public func callAsFunction(for challenge: URLAuthenticationChallenge) { answer(challenge) }

    /// Calls `rejectProtectionSpaceAndContinue(with:)`.
    public func callAsFunction(with challenge: URLAuthenticationChallenge) { answer(challenge) }
}
