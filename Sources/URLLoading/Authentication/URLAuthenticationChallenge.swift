public import Foundation

/// A request for credentials or for the evaluation of a server's trust. Immutable and thread-safe.
open class URLAuthenticationChallenge: NSObject, NSSecureCoding, @unchecked Sendable {
    // Sendable: constants that refer to immutable objects, except the sender, which must be thread-safe.
    private let space: URLProtectionSpace
    private let proposal: URLCredential?
    private let failureCount: Int
    private let response: URLResponse?
    private let failure: (any Error)?
    private let answerTaker: (any URLAuthenticationChallengeSender)?

    /// A challenge of a protection space without a host, without a sender, for tests.
    public override init() {
        space = URLProtectionSpace()
        proposal = nil
        failureCount = 0
        response = nil
        failure = nil
        answerTaker = nil
    }

    /// Creates a challenge, for custom protocols.
    public init(
        protectionSpace space: URLProtectionSpace, proposedCredential credential: URLCredential?,
        previousFailureCount: Int, failureResponse response: URLResponse?, error: (any Error)?,
        sender: any URLAuthenticationChallengeSender
    ) {
        self.space = space
        proposal = credential
        failureCount = previousFailureCount
        self.response = response
        failure = error
        answerTaker = sender
    }

    /// A copy of a challenge with another sender.
    public init(
        authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender
    ) {
        space = challenge.protectionSpace
        proposal = challenge.proposedCredential
        failureCount = challenge.previousFailureCount
        response = challenge.failureResponse
        failure = challenge.error
        answerTaker = sender
    }

    /// A challenge of a session's task. Its sender does nothing, because the answer goes to the completion handler.
    package init(
        protectionSpace: URLProtectionSpace, proposedCredential: URLCredential?, previousFailureCount: Int,
        failureResponse: URLResponse?, error: (any Error)?
    ) {
        space = protectionSpace
        proposal = proposedCredential
        failureCount = previousFailureCount
        response = failureResponse
        failure = error
        answerTaker = SessionChallengeSender.shared
    }

    private enum Key {
        static let space = "protectionSpace"
        static let proposal = "proposedCredential"
        static let failureCount = "previousFailureCount"
        static let response = "failureResponse"
        static let errorDomain = "errorDomain"
        static let errorCode = "errorCode"
        static let errorDescription = "errorDescription"
    }

    /// Decodes an archive. The sender is not archived; of the error, domain, code and description are.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding,
            let space = coder.object(URLProtectionSpace.self, forKey: Key.space)
        else { return nil }
        self.space = space
        proposal = coder.object(URLCredential.self, forKey: Key.proposal)
        failureCount = Int(truncatingIfNeeded: coder.decodeInt64(forKey: Key.failureCount))
        response = coder.response(forKey: Key.response)
        failure = coder.string(forKey: Key.errorDomain).map { domain in
            let description = coder.string(forKey: Key.errorDescription)
            return NSError(
                domain: domain, code: Int(truncatingIfNeeded: coder.decodeInt64(forKey: Key.errorCode)),
                userInfo: description.map { [NSLocalizedDescriptionKey: $0] })
        }
        answerTaker = nil
    }

    /// Always true.
    open class var supportsSecureCoding: Bool { true }

    /// Archives use Apple's name of the class.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    open func encode(with coder: NSCoder) {
        coder.encode(space, forKey: Key.space)
        coder.encode(proposal, forKey: Key.proposal)
        coder.encode(Int64(failureCount), forKey: Key.failureCount)
        coder.encode(response, forKey: Key.response)
        // Encoded as parts, because Foundation on Linux traps when it archives an NSError.
        if let error = failure.map({ $0 as NSError }) {
            coder.encode(error.domain as NSString, forKey: Key.errorDomain)
            coder.encode(Int64(error.code), forKey: Key.errorCode)
            coder.encode(error.localizedDescription as NSString, forKey: Key.errorDescription)
        }
    }

    /// The protection space that requires authentication.
    open var protectionSpace: URLProtectionSpace { space }

    /// A credential from the storage or the URL. Without a password it is a hint of the user name. After failures it is
    /// one of the rejected credentials.
    open var proposedCredential: URLCredential? { proposal }

    /// How often a credential for this space was rejected in this task.
    open var previousFailureCount: Int { failureCount }

    /// The 401 or 407 response with the challenge, or nil.
    open var failureResponse: URLResponse? { response }

    /// The error that caused the challenge, or nil.
    open var error: (any Error)? { failure }

    /// The receiver of the answer to a custom protocol's challenge; nil for challenges of a session.
    open var sender: (any URLAuthenticationChallengeSender)? { answerTaker }

    open override var description: String { "<\(type(of: self)): \(space), failures: \(failureCount)>" }
}

/// The sender of a session's challenges, for programs that answer both it and the completion handler.
private final class SessionChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    static let shared = SessionChallengeSender()

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
