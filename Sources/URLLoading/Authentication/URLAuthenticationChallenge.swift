public import Foundation

/// A question for credentials, or for a decision about a server's trust. Immutable and safe to use from any thread.
open class URLAuthenticationChallenge: NSObject, NSSecureCoding, @unchecked Sendable {
    // Sendable: constants only; what they refer to is immutable, but for the sender, which has to take calls from any
    // thread.
    private let space: URLProtectionSpace
    private let proposal: URLCredential?
    private let failureCount: Int
    private let response: URLResponse?
    private let failure: (any Error)?
    private let answerTaker: (any URLAuthenticationChallengeSender)?

    /// A challenge as a custom protocol makes it.
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

    /// The same challenge with another taker of the answer.
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

    /// A challenge of a session's task. It has no sender: the completion handler takes the answer.
    package init(
        protectionSpace: URLProtectionSpace, proposedCredential: URLCredential?, previousFailureCount: Int,
        failureResponse: URLResponse?, error: (any Error)?
    ) {
        space = protectionSpace
        proposal = proposedCredential
        failureCount = previousFailureCount
        response = failureResponse
        failure = error
        answerTaker = nil
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

    /// Reads what `encode(with:)` wrote. The sender does not survive coding; the error keeps its domain, code and text.
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

    open class var supportsSecureCoding: Bool { true }

    /// In archives the class has Apple's name.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    open func encode(with coder: NSCoder) {
        coder.encode(space, forKey: Key.space)
        coder.encode(proposal, forKey: Key.proposal)
        coder.encode(Int64(failureCount), forKey: Key.failureCount)
        coder.encode(response, forKey: Key.response)
        // Piece by piece, since Foundation on Linux traps when it is given an NSError to archive.
        if let error = failure.map({ $0 as NSError }) {
            coder.encode(error.domain as NSString, forKey: Key.errorDomain)
            coder.encode(Int64(error.code), forKey: Key.errorCode)
            coder.encode(error.localizedDescription as NSString, forKey: Key.errorDescription)
        }
    }

    /// Who asks, and how the answer is to be given.
    open var protectionSpace: URLProtectionSpace { space }

    /// A credential that was found in the storage or the address. Without a password it is a hint of the name. If
    /// there were failures, it is one of those that failed.
    open var proposedCredential: URLCredential? { proposal }

    /// How often a credential for this space was refused in this task.
    open var previousFailureCount: Int { failureCount }

    /// The response that asked, a 401 or 407, or nil if the question did not come in a response.
    open var failureResponse: URLResponse? { response }

    /// The error that led to the question, or nil.
    open var error: (any Error)? { failure }

    /// Who takes the answer, for a custom protocol's challenge; nil for a session's.
    open var sender: (any URLAuthenticationChallengeSender)? { answerTaker }

    open override var description: String { "<\(type(of: self)): \(space), failures: \(failureCount)>" }
}
