internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics

/// Challenges of a task, and the answers of its delegates.
extension TaskCore {
    // MARK: From the load

    func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {
        guard !hasEnded else { return }
        let proposal = question.proposal.map { proposed in
            (proposed.object as? ChallengeCredential)?.credential ?? proposed.object as? URLCredential
                ?? URLCredential(proposed)
        }
        let isWanted =
            question.space.scheme.authenticatesConnection ? wantsConnectionChallenges : wantsTaskChallenges
        // AUTH-7, AUTH-11
        guard isWanted, !question.isQuiet else { return take(.defaultHandling, question, proposal) }
        let url = currentRequest?.url
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(question.space), proposedCredential: proposal,
            previousFailureCount: question.failures,
            failureResponse: response.flatMap { response in
                url.map { HTTPURLResponse($0, response.head, expectedLength: response.expectedLength) }
            }, error: nil)
        withdrawChallenge()
        pendingChallenge = ask(challenge) { answer in
            guard self.pendingChallenge?.challenge === challenge else { return }
            self.pendingChallenge = nil
            self.take(answer, question, proposal)
        }
    }

    func loadAsksNoMore(_ load: any Load) { withdrawChallenge() }

    func withdrawChallenge() {
        pendingChallenge?.withdraw()
        pendingChallenge = nil
    }

    private func take(
        _ answer: ChallengeAnswer, _ question: AuthenticationQuestion, _ proposal: URLCredential?
    ) {
        switch answer.disposition {
        case .useCredential: use(answer.credential, question, otherwise: .nothing)
        case .performDefaultHandling:
            // A rejected credential would be rejected again (AUTH-10).
            use(question.failures == 0 ? proposal : nil, question, otherwise: .defaultHandling)
        case .rejectProtectionSpace: load?.answerChallenge(.nextSpace)
        // The task has been cancelled.
        case .cancelAuthenticationChallenge: break
        }
    }

    private func use(
        _ credential: URLCredential?, _ question: AuthenticationQuestion, otherwise answer: AuthenticationAnswer
    ) {
        let storage = core.configuration.urlCredentialStorage
        guard let credential, let user = credential.user, let password = credential.password else {
            load?.answerChallenge(answer)
            return
        }
        let isKept = credential.persistence == .forSession || credential.persistence == .permanent
        load?.answerChallenge(
            .credential(
                LoadCredential(
                    user: user.precomposedStringWithCanonicalMapping,
                    password: password.precomposedStringWithCanonicalMapping, isKept: isKept && storage != nil,
                    object: ChallengeCredential(
                        credential, isStored: credential == question.stored?.object as? URLCredential,
                        removalsBefore: storage?.removalCount ?? 0))))
    }

    func load(_ load: any Load, transactionEnded response: LoadResponse?) {
        guard let request = currentRequest, let url = request.url else { return }
        if let response { note(HTTPURLResponse(url, response.head, expectedLength: response.expectedLength)) }
        follow(request)
    }

    // MARK: To the delegates

    private static let sessionMethods: DelegateMethod = [
        .sessionDidReceiveChallenge, .sessionDidReceiveChallengeAsync,
    ]
    private static let taskMethods: DelegateMethod = [.taskDidReceiveChallenge, .taskDidReceiveChallengeAsync]

    /// Whether a delegate may implement a method for connection-level challenges: server trust, client certificates,
    /// Negotiate and NTLM.
    var wantsConnectionChallenges: Bool {
        !delegates.lack(isStream ? Self.taskMethods : Self.sessionMethods.union(Self.taskMethods))
    }

    /// Whether a delegate may implement the method for task-level challenges.
    var wantsTaskChallenges: Bool { !delegates.lack(Self.taskMethods) }

    /// Passes a challenge to the delegates, after all earlier events. Called on the loop. `answer` is called on the
    /// loop at most once: not if the challenge is withdrawn, the delegate does not answer, or the task ends first.
    /// Without an implemented method the answer is default handling.
    func ask(
        _ challenge: URLAuthenticationChallenge, answer: @escaping (ChallengeAnswer) -> Void
    ) -> PendingChallenge {
        let space = challenge.protectionSpace
        log?.traceOnly(
            .challenge(
                method: space.authenticationMethod, host: space.host, port: space.port, isProxy: space.isProxy(),
                failures: challenge.previousFailureCount))
        let note = { [log] (given: ChallengeAnswer) in
            log?.traceOnly(.challengeAnswered(given.name))
            // This ends the task before the connection has the answer.
            if space.serverTrust != nil, given.disposition == .cancelAuthenticationChallenge {
                log?.traceOnly(.serverTrust(.refused(space.host, by: .delegate)))
            }
        }
        let pending = PendingChallenge(challenge, note: note, answer: answer)
        enqueue(.challenge(pending))
        return pending
    }

    /// Calls the delegates: connection-level challenges use the session's method, otherwise the task's (S-54, S-55);
    /// task-level ones only the task's (S-56).
    func call(_ pending: PendingChallenge, _ session: URLSession, _ task: URLSessionTask) {
        if pending.isOver { return }
        let loop = session.core.loop
        let reply = { @Sendable (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?) in
            let given = ChallengeAnswer(disposition, credential)
            guard disposition == .cancelAuthenticationChallenge else { return pending.give(given, on: loop) }
            // Even if the connection now uses another task's delegate: this task was cancelled.
            pending.give(given, on: loop) { self.cancel(nil) }
        }
        let challenge = pending.challenge
        var isAsked = false
        // Challenges of streams are task-level (STREAM-6).
        if challenge.protectionSpace.concernsConnection, !isStream {
            isAsked = delegates.offer { $0.urlSession(session, didReceive: challenge, reply: reply) }
        }
        if !isAsked {
            isAsked = delegates.offer { $0.urlSession(session, task: task, didReceive: challenge, reply: reply) }
        }
        if !isAsked { pending.give(.defaultHandling, on: loop) }
    }
}

extension URLCredential {
    /// A credential that is not from the storage. Without a password it is a hint for the delegate.
    fileprivate convenience init(_ proposed: ProposedCredential) {
        if let password = proposed.password {
            self.init(user: proposed.user ?? "", password: password, persistence: .forSession)
        } else {
            self.init(user: proposed.user ?? "")
        }
    }
}
