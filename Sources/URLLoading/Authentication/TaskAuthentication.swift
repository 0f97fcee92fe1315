internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// What a task knows of the questions that its load was asked. Confined to the loop.
struct TaskAuthentication {
    fileprivate var pending: PendingChallenge?
    /// Counts the questions: what comes of one that nobody waits for is dropped.
    fileprivate var number = 0
    /// The credential that was given last for each space.
    fileprivate var given: [ProtectionSpace: GivenCredential] = [:]

    /// Nobody needs an answer any more.
    mutating func end() {
        number += 1
        pending?.withdraw()
        pending = nil
    }
}

/// The client's side of authentication: what is known, what the delegates say, and what is kept.
extension TaskCore {
    func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {
        authentication.number += 1
        let number = authentication.number
        let space = URLProtectionSpace(question.space)
        guard let storage = core.configuration.urlCredentialStorage, let task = heldTask else {
            return answer(question, space, response, stored: nil)
        }
        let next = LoopBox({ stored in
            if number == self.authentication.number { self.answer(question, space, response, stored: stored) }
        })
        core.loop.callOut(
            CredentialLookup(space.spellings(of: question.space), in: storage, for: task) { [core] stored in
                core.loop.post { next.value(stored) }
            })
    }

    /// Asks the delegates if one wants to be asked, else does what is done without them (AUTH-7, AUTH-11).
    private func answer(
        _ question: AuthenticationQuestion, _ space: URLProtectionSpace, _ response: LoadResponse?,
        stored: URLCredential?
    ) {
        guard !hasEnded else { return }
        let proposal = proposal(question, stored)
        let isWanted =
            question.space.scheme.authenticatesConnection ? wantsConnectionChallenges : wantsTaskChallenges
        guard isWanted, !question.isQuiet else {
            return take(.defaultHandling, question, stored, proposal)
        }
        let url = currentRequest?.url
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: proposal, previousFailureCount: question.failures,
            failureResponse: response.flatMap { response in
                url.map { HTTPURLResponse($0, response.head, expectedLength: response.expectedLength) }
            }, error: nil)
        let number = authentication.number
        authentication.pending = ask(challenge) { answer in
            guard number == self.authentication.number else { return }
            self.authentication.pending = nil
            self.take(answer, question, stored, proposal)
        }
    }

    /// The credential to try: the storage's, else the address's (AUTH-11). One that was refused already is shown only to
    /// say which that was.
    private func proposal(_ question: AuthenticationQuestion, _ stored: URLCredential?) -> URLCredential? {
        let fromURL = question.fromURL.map { user, password in
            password.map { URLCredential(user: user, password: $0, persistence: .forSession) }
                ?? URLCredential(user: user)
        }
        let fresh = [stored, fromURL].lazy.compactMap { $0 }.first { credential in
            question.refused.map { !$0.isSame(as: credential) } ?? true
        }
        return fresh ?? (question.failures > 0 ? authentication.given[question.space]?.credential : nil)
    }

    private func take(
        _ answer: ChallengeAnswer, _ question: AuthenticationQuestion, _ stored: URLCredential?,
        _ proposal: URLCredential?
    ) {
        switch answer.disposition {
        case .useCredential: use(answer.credential, question, stored, otherwise: .nothing)
        case .performDefaultHandling:
            // What failed once would fail again (AUTH-10).
            use(question.failures == 0 ? proposal : nil, question, stored, otherwise: .defaultHandling)
        case .rejectProtectionSpace: load?.answerChallenge(.nextSpace)
        // The task has been cancelled.
        case .cancelAuthenticationChallenge: break
        }
    }

    private func use(
        _ credential: URLCredential?, _ question: AuthenticationQuestion, _ stored: URLCredential?,
        otherwise answer: AuthenticationAnswer
    ) {
        let storage = core.configuration.urlCredentialStorage
        guard let credential, let known = LoadCredential(credential, isKept: storage != nil) else {
            load?.answerChallenge(answer)
            return
        }
        authentication.given[question.space] = GivenCredential(
            credential: credential, isStored: credential == stored, removalsBefore: storage?.removalCount ?? 0)
        load?.answerChallenge(.credential(known))
    }

    func loadAsksNoMore(_ load: any Load) { authentication.end() }

    func load(_ load: any Load, transactionEnded response: LoadResponse?) {
        guard let request = currentRequest, let url = request.url else { return }
        if let response { note(HTTPURLResponse(url, response.head, expectedLength: response.expectedLength)) }
        follow(request)
    }

    // MARK: What was accepted

    func load(_ load: any Load, hasUsed credential: LoadCredential, for space: ProtectionSpace) {
        guard let given = authentication.given[space], credential.isSame(as: given.credential) else { return }
        // It is there already, or the caller has taken it out meanwhile.
        if given.isStored { return }
        let space = URLProtectionSpace(space)
        if result.usesQueue || !delegates.areNone {
            // Before the response, so that who hears of that finds the credential in the storage.
            enqueue(.credential(given, space))
        } else if let task = heldTask {
            core.loop.callOut(CalledOut { self.keep(given, for: space, task) })
        }
    }

    /// Puts a credential into the storage (AUTH-22): as the default one, unless the caller has made another user's that. Not
    /// after it was removed since it was given: who logs out while a server answers stays logged out.
    func keep(_ given: GivenCredential, for space: URLProtectionSpace, _ task: URLSessionTask) {
        guard let storage = core.configuration.urlCredentialStorage else { return }
        let credential = given.credential
        if type(of: storage) == URLCredentialStorage.self {
            return storage.keepAccepted(credential, for: space, unlessRemovedAfter: given.removalsBefore)
        }
        storage.getDefaultCredential(for: space, task: task) { known in
            if storage.hasRemoved(credential, for: space, after: given.removalsBefore) { return }
            if known == nil || known?.user == credential.user {
                storage.setDefaultCredential(credential, for: space, task: task)
            } else {
                storage.set(credential, for: space, task: task)
            }
        }
    }

    /// Not what the caller has taken out of the storage meanwhile. A storage of the caller's own is not asked here, since
    /// it may take its time.
    func load(_ load: any Load, stillHas credential: LoadCredential, for space: ProtectionSpace) -> Bool {
        guard let storage = core.configuration.urlCredentialStorage else { return false }
        guard type(of: storage) == URLCredentialStorage.self else { return true }
        return URLProtectionSpace(space).spellings(of: space).contains { space in
            storage.credentials(for: space)?.values.contains { credential.isSame(as: $0) } == true
        }
    }
}

extension LoadCredential {
    /// Nil for one without a name or a password, which is a hint at most.
    fileprivate init?(_ credential: URLCredential, isKept: Bool) {
        guard let user = credential.user, let password = credential.password else { return nil }
        self.init(
            user: user.precomposedStringWithCanonicalMapping,
            password: password.precomposedStringWithCanonicalMapping,
            isKept: isKept && (credential.persistence == .forSession || credential.persistence == .permanent))
    }

    /// Swift compares texts in whatever form they are.
    fileprivate func isSame(as credential: URLCredential) -> Bool {
        credential.user == user && credential.password == password
    }
}
