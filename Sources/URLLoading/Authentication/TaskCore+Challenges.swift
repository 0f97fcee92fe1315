internal import LoadingEvents

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
        let space = challenge.protectionSpace
        log?.traceOnly(
            .challenge(
                method: space.authenticationMethod, host: space.host, port: space.port, isProxy: space.isProxy(),
                failures: challenge.previousFailureCount))
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
