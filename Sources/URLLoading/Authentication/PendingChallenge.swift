internal import LoadingTransport
internal import Synchronization

/// A challenge on its way to a delegate, and the way of the answer back to the loop.
///
/// The first answer counts; later ones, and those to a challenge that was withdrawn, are dropped. One that cancels ends
/// the task, whatever has become of the question.
final class PendingChallenge: Sendable {
    let challenge: URLAuthenticationChallenge
    private let isAnswered = Atomic<Bool>(false)
    private let answer: LoopBox<(ChallengeAnswer) -> Void>

    /// `answer` is called on the loop, once or never.
    init(_ challenge: URLAuthenticationChallenge, answer: @escaping (ChallengeAnswer) -> Void) {
        self.challenge = challenge
        self.answer = LoopBox(answer)
    }

    /// Whether nobody waits for an answer any more. A challenge that is withdrawn in time is never asked.
    var isOver: Bool { isAnswered.load(ordering: .relaxed) }

    /// Nobody needs an answer any more.
    func withdraw() { isAnswered.store(true, ordering: .relaxed) }

    /// From any thread.
    func give(_ given: ChallengeAnswer, on loop: EventLoop) {
        if !isAnswered.exchange(true, ordering: .relaxed) { loop.post { self.answer.value(given) } }
    }
}

/// What a delegate made of a challenge.
struct ChallengeAnswer: Sendable {
    var disposition: URLSession.AuthChallengeDisposition
    /// Only with `.useCredential`.
    var credential: URLCredential?

    static let defaultHandling = ChallengeAnswer(.performDefaultHandling, nil)

    init(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        self.disposition = disposition
        self.credential = disposition == .useCredential ? credential : nil
    }
}
