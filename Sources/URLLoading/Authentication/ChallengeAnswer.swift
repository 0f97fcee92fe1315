/// A delegate's answer to a challenge.
struct ChallengeAnswer: Sendable {
    var disposition: URLSession.AuthChallengeDisposition
    /// Set only with `.useCredential`.
    var credential: URLCredential?

    static let defaultHandling = ChallengeAnswer(.performDefaultHandling, nil)

    init(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        self.disposition = disposition
        self.credential = disposition == .useCredential ? credential : nil
    }
}
