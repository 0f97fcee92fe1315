internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics

/// Answers what servers ask for before they let the user in: the state of one task's attempts (AUTH-4 to AUTH-11).
///
/// It asks for the strongest scheme that can be met, goes on to the next when the client rejects one, and counts what
/// was refused. What was accepted is sent unasked by later requests (`AuthenticationMemory`).
struct AuthenticationStage {
    private let asker: AuthenticationAsker
    private let memory: AuthenticationMemory
    /// What the request carries that is under way or next.
    private var attempt: Attempt?
    /// What the client is being asked for.
    private var pending: Pending?
    private var failures: [ProtectionSpace: Int] = [:]
    private var refused: [ProtectionSpace: LoadCredential] = [:]
    private var rejected: Set<ProtectionSpace> = []

    private struct Attempt {
        let space: ProtectionSpace
        var credential: LoadCredential
        var proof: AuthenticationProof
        /// Whether nobody was asked, since it was accepted before.
        let isFromMemory: Bool
        /// The last answer of a Digest session.
        var answer: DigestAnswer?
    }

    private struct Pending {
        let option: AuthenticationOption
        let space: ProtectionSpace
        /// Those that come after it.
        let others: ArraySlice<AuthenticationOption>
        let isQuiet: Bool
    }

    enum Step {
        /// The response is a response like any other.
        case deliver
        /// The same, and the server has let in who asked with this credential.
        case accepted(LoadCredential, ProtectionSpace)
        /// Nobody knows yet what to say.
        case ask(AuthenticationQuestion)
        /// The request goes out once more, with what `fieldValue` says then.
        case sendAgain
    }

    init(_ asker: AuthenticationAsker, _ memory: AuthenticationMemory) {
        self.asker = asker
        self.memory = memory
    }

    // MARK: Requests

    /// The field that the loader writes itself, in place of one that the caller may have set (AUTH-27).
    var fieldName: String { asker.credentialField }

    /// The value of that field for a request that is about to go out; nil to leave it as it is.
    ///
    /// - Parameter isAllowed: Whether a credential that was accepted before may still be used.
    mutating func fieldValue(
        for request: LoadRequest, isAllowed: (LoadCredential, ProtectionSpace) -> Bool
    ) -> String? {
        if attempt == nil, !request.fields.contains(fieldName), let (space, known) = memory.entry(for: request.url) {
            guard isAllowed(known.credential, space) else {
                memory.forget(space)
                return nil
            }
            attempt = Attempt(space: space, credential: known.credential, proof: known.proof, isFromMemory: true)
        }
        guard var attempt else { return nil }
        switch attempt.proof {
        case .basic(let value): return value
        case .digest(var session):
            attempt.answer = session.answer(request)
            attempt.proof = .digest(session)
            // The same nonce must not be counted twice.
            if attempt.isFromMemory { memory.update(attempt.space) { $0.proof = attempt.proof } }
            self.attempt = attempt.answer == nil ? nil : attempt
            return attempt.answer?.fieldValue
        }
    }

    /// A redirect leads to another request, for which nothing has been said yet.
    mutating func redirected() { attempt = nil }

    // MARK: Responses

    /// What a response leads to.
    mutating func step(after head: HTTP1ResponseHead, to request: LoadRequest) throws(LoadError) -> Step {
        guard AuthenticationAsker(status: head.status) == asker else { return try accept(head, request) }
        let challenges = AuthenticationChallenge.all(in: head.fields, of: asker)
        if renew(challenges) { return .sendAgain }
        let options = AuthenticationOption.options(
            for: challenges, possible: [.basic, .digest], body: request.body)
        refuse(options, request)
        return ask(options[...], request, isQuiet: false)
    }

    /// Takes the client's answer.
    mutating func step(after answer: AuthenticationAnswer, to request: LoadRequest) -> Step {
        guard let pending else { return .deliver }
        self.pending = nil
        switch answer {
        case .credential(let credential):
            guard let proof = AuthenticationProof(pending.option, credential) else { return .deliver }
            attempt = Attempt(space: pending.space, credential: credential, proof: proof, isFromMemory: false)
            return .sendAgain
        case .nothing: return .deliver
        case .defaultHandling: return ask(pending.others, request, isQuiet: true)
        case .nextSpace:
            rejected.insert(pending.space)
            return ask(pending.others, request, isQuiet: pending.isQuiet)
        }
    }

    private mutating func ask(
        _ options: ArraySlice<AuthenticationOption>, _ request: LoadRequest, isQuiet: Bool
    ) -> Step {
        for index in options.indices {
            let space = ProtectionSpace(of: options[index], at: request.url)
            if rejected.contains(space) { continue }
            pending = Pending(
                option: options[index], space: space, others: options[(index + 1)...], isQuiet: isQuiet)
            return .ask(
                AuthenticationQuestion(
                    space: space, fromURL: request.url.credential, refused: refused[space],
                    failures: failures[space] ?? 0, isQuiet: isQuiet))
        }
        return .deliver
    }

    /// Whether only the nonce was too old (AUTH-18).
    private mutating func renew(_ challenges: [AuthenticationChallenge]) -> Bool {
        guard var attempt, case .digest(var session) = attempt.proof else { return false }
        guard challenges.lazy.compactMap(DigestChallenge.init).contains(where: { session.renew(with: $0) }) else {
            return false
        }
        attempt.proof = .digest(session)
        self.attempt = Attempt(
            space: attempt.space, credential: attempt.credential, proof: attempt.proof, isFromMemory: false)
        return true
    }

    /// What was sent was not taken. If the server asks for another space it says nothing about that.
    private mutating func refuse(_ options: [AuthenticationOption], _ request: LoadRequest) {
        guard let attempt else { return }
        self.attempt = nil
        guard options.contains(where: { ProtectionSpace(of: $0, at: request.url) == attempt.space }) else { return }
        refused[attempt.space] = attempt.credential
        memory.forget(attempt.credential, of: attempt.space)
        if !attempt.isFromMemory { failures[attempt.space, default: 0] += 1 }
    }

    /// Any other answer than a question means that the user is known (AUTH-22).
    private mutating func accept(_ head: HTTP1ResponseHead, _ request: LoadRequest) throws(LoadError) -> Step {
        guard var attempt else { return .deliver }
        if case .digest(var session) = attempt.proof {
            let info = AuthenticationInfo(head.fields, of: asker)
            if attempt.answer?.serverProof(in: info) == .wrong {
                throw .badServerResponse("the server does not know the password")
            }
            session.accept(info)
            attempt.proof = .digest(session)
            if attempt.isFromMemory {
                memory.update(attempt.space) { entry in
                    guard case .digest(var shared) = entry.proof else { return }
                    shared.accept(info)
                    entry.proof = .digest(shared)
                }
            }
        }
        let credential = attempt.credential
        // From now on the memory counts for all, if it may know.
        self.attempt = credential.isKept ? nil : attempt
        guard !attempt.isFromMemory, credential.isKept else { return .deliver }
        memory.remember(
            AuthenticationMemory.Entry(credential: credential, proof: attempt.proof), of: attempt.space,
            area: attempt.proof.area(acceptedAt: request.url), at: request.url)
        return .accepted(credential, attempt.space)
    }
}

extension AuthenticationOption {
    /// The challenges that can be met for a request: not with the integrity of a body that can be read only once.
    fileprivate static func options(
        for challenges: [AuthenticationChallenge], possible: Set<AuthenticationScheme>, body: LoadBody
    ) -> [AuthenticationOption] {
        let all = options(for: challenges, possible: possible)
        if body.canBeHashed { return all }
        return all.filter { DigestChallenge($0.challenge)?.protection != .integrity }
    }
}
