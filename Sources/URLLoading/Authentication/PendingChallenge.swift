internal import Foundation
internal import LoadingTransport
internal import Synchronization

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

/// Challenges of a task on their way to its delegates.
extension TaskCore {
    private static let sessionMethods: DelegateMethod = [
        .sessionDidReceiveChallenge, .sessionDidReceiveChallengeAsync,
    ]
    private static let taskMethods: DelegateMethod = [.taskDidReceiveChallenge, .taskDidReceiveChallengeAsync]

    /// Whether a delegate may have a method for challenges of the connection: server trust, client certificates,
    /// Negotiate and NTLM.
    var wantsConnectionChallenges: Bool {
        !delegates.lack(isStream ? Self.taskMethods : Self.sessionMethods.union(Self.taskMethods))
    }

    /// Whether a delegate may have a method for all other challenges.
    var wantsTaskChallenges: Bool { !delegates.lack(Self.taskMethods) }

    /// Has the delegates asked, after everything they have not been told yet. On the loop, and so is `answer` called:
    /// once, or never when the challenge is withdrawn, the delegate does not answer, or the task ends before it was
    /// asked. When no delegate has the method, the answer is default handling.
    func ask(
        _ challenge: URLAuthenticationChallenge, answer: @escaping (ChallengeAnswer) -> Void
    ) -> PendingChallenge {
        let pending = PendingChallenge(challenge, answer: answer)
        enqueue(.challenge(pending))
        return pending
    }

    /// Makes the call: those of a connection go to the session's method, else to the task's (S-54, S-55); all others to
    /// the task's alone (S-56).
    func call(_ pending: PendingChallenge, _ session: URLSession, _ task: URLSessionTask) {
        if pending.isOver { return }
        let loop = session.core.loop
        let reply = { @Sendable (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?) in
            // Also when the connection has found another task to ask: the delegate gave up this one.
            if disposition == .cancelAuthenticationChallenge { self.cancel(nil) }
            pending.give(ChallengeAnswer(disposition, credential), on: loop)
        }
        let challenge = pending.challenge
        var isAsked = false
        // A stream's challenges are the task's own (STREAM-6).
        if challenge.protectionSpace.concernsConnection, !isStream {
            isAsked = delegates.offer { $0.urlSession(session, didReceive: challenge, reply: reply) }
        }
        if !isAsked {
            isAsked = delegates.offer { $0.urlSession(session, task: task, didReceive: challenge, reply: reply) }
        }
        if !isAsked { pending.give(.defaultHandling, on: loop) }
    }
}
