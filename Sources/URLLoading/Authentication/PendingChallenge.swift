internal import LoadingTransport
internal import Synchronization

/// A challenge that a delegate has not answered yet. Passes the answer to the loop.
///
/// The first answer counts. Further answers, and those to a withdrawn challenge, are ignored, except that a
/// cancellation always ends the task.
final class PendingChallenge: Sendable {
    let challenge: URLAuthenticationChallenge
    private let isAnswered = Atomic<Bool>(false)
    private let note: LoopBox<(ChallengeAnswer) -> Void>
    private let answer: LoopBox<(ChallengeAnswer) -> Void>

    /// - Parameters:
    ///   - note: Called on the loop before `answer`, and before what the answer causes.
    ///   - answer: Called on the loop, at most once.
    init(
        _ challenge: URLAuthenticationChallenge, note: @escaping (ChallengeAnswer) -> Void,
        answer: @escaping (ChallengeAnswer) -> Void
    ) {
        self.challenge = challenge
        self.note = LoopBox(note)
        self.answer = LoopBox(answer)
    }

    /// Whether the answer is not needed any more. A challenge that is withdrawn early is not delivered.
    var isOver: Bool { isAnswered.load(ordering: .relaxed) }

    /// Withdraws the challenge.
    func withdraw() { isAnswered.store(true, ordering: .relaxed) }

    /// Answers the challenge. Thread-safe.
    ///
    /// - Parameter cancel: Cancels the task, if that is the answer. Called in any case.
    func give(_ given: ChallengeAnswer, on loop: EventLoop, cancelling cancel: (() -> Void)? = nil) {
        let isFirst = !isAnswered.exchange(true, ordering: .relaxed)
        if let cancel {
            if isFirst { loop.post { self.note.value(given) } }
            cancel()
        }
        guard isFirst else { return }
        let isNoted = cancel != nil
        loop.post {
            if !isNoted { self.note.value(given) }
            self.answer.value(given)
        }
    }
}

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

    /// For the log.
    var name: String {
        switch disposition {
        case .useCredential: "useCredential"
        case .performDefaultHandling: "performDefaultHandling"
        case .cancelAuthenticationChallenge: "cancelAuthenticationChallenge"
        case .rejectProtectionSpace: "rejectProtectionSpace"
        }
    }
}
