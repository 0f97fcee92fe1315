internal import FoundationEssentials
internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Answers the challenges of servers or of proxies: the state of one task's attempts (AUTH-4 to AUTH-11, AUTH-28).
///
/// Uses the strongest supported scheme, goes on to the next when the client rejects one, and counts refused
/// credentials. Later requests send accepted credentials preemptively (`AuthenticationMemory`). Negotiate and NTLM take
/// several steps, which the `Authenticator` carries out.
struct AuthenticationStage {
    private let source: ChallengeSource
    private let memory: AuthenticationMemory
    private let loop: EventLoop
    /// The credentials of the current or next request.
    private var attempt: Attempt?
    /// The peer of the last request, which may have sent a challenge.
    private var peer: AuthenticationPeer?
    /// The challenge that the client is asked about, or for which a connection-based authentication starts.
    private var pending: Pending?
    /// The connection-based authentication whose next step is being computed.
    private var contextStep: ContextStep?
    /// The binding to the connection of the last challenge that offers to authenticate a connection.
    private var channelBinding: ChannelBinding?
    /// Whether a conversation has begun anew because its connection was closed.
    private var hasBegunAnew = false
    /// Whether a conversation was given up because its first token was bound to another certificate.
    private var hasGivenUpBinding = false
    private var failures: [ProtectionSpace: Int] = [:]
    private var refused: [ProtectionSpace: LoadCredential] = [:]
    private var rejected: Set<ProtectionSpace> = []
    /// The protection spaces where the system's user has been tried.
    private var triedWithoutCredential: Set<ProtectionSpace> = []
    /// The schemes with which the user of the settings has been tried.
    private var triedSettings: Set<AuthenticationScheme> = []
    /// The number of challenges since a request succeeded, from any peer and for any space. Redirects and other names
    /// of the same server do not reset it.
    private var challengeCount = 0
    /// The hash of the request's body, if it was computed separately.
    private var bodyDigest: BodyDigest?
    /// The users from URLs that were sent to a server and not accepted. Each is sent once per scheme, whatever the
    /// server's realms are named.
    private var sentUsers: [SentUser] = []
    /// The state of earlier peers, which may send challenges again: a load tries its routes anew with each request.
    private var others: [AuthenticationPeer: PeerState] = [:]

    /// The steps after which a connection-based authentication is abandoned.
    private static let mostSteps = 10
    /// The challenges after which a load stops answering (AUTH-9).
    private static let mostChallenges = 64

    private struct SentUser: Equatable {
        let peer: AuthenticationPeer
        let scheme: AuthenticationScheme
        let user: String
        let password: String?
    }

    /// The authentication state of one peer.
    private struct PeerState {
        var attempt: Attempt?
        var triedSettings: Set<AuthenticationScheme> = []
    }

    private struct Attempt {
        let space: ProtectionSpace
        /// Nil for the system's user.
        var credential: LoadCredential?
        var proof: AuthenticationProof
        let source: Source
        /// The last answer of a Digest session.
        var answer: DigestCredentials?
    }

    private enum Source {
        case client
        /// Accepted before, so the client was not asked.
        case memory
        /// From the settings, without a question to the client.
        case settings
        /// From the settings, before the proxy has sent a challenge. The proxy may require another scheme.
        case settingsPreemptively
    }

    private struct Pending {
        let option: AuthenticationOption
        let space: ProtectionSpace
        /// The index among the supported challenges.
        let index: Int
        let options: ArraySlice<AuthenticationOption>
        let isQuiet: Bool

        var others: ArraySlice<AuthenticationOption> { options[(index + 1)...] }
    }

    private struct ContextStep {
        let credential: LoadCredential?
        let conversation: GSSSecurityContext
        let identity: UInt64
        let source: Source
    }

    enum Step {
        /// The response is an ordinary one.
        case deliver
        /// The response is an ordinary one, and the server has accepted this credential.
        case accepted(LoadCredential, ProtectionSpace)
        /// The credential has to be requested.
        case ask(AuthenticationQuestion)
        /// The request is sent again, with the value that `fieldValue` then returns.
        case sendAgain
        /// The security context has to process this token. The connection is kept for the result. At the first step it
        /// is kept only if it has this identity.
        case advance(GSSSecurityContext, [UInt8], identity: UInt64)
    }

    init(_ source: ChallengeSource, _ memory: AuthenticationMemory, _ loop: EventLoop) {
        self.source = source
        self.memory = memory
        self.loop = loop
    }

    // MARK: Requests

    /// The field that the loader writes itself. It replaces one that the caller may have set (AUTH-27).
    var fieldName: String { source.credentialField }

    /// Whether the connection of the request is, or will be, the user's. Its identity does not change before the value
    /// of the field is needed.
    private var authenticatesConnection: Bool {
        if case .connection? = attempt?.proof { true } else { false }
    }

    /// The identity of the connection that the request needs; 0 for a shared connection.
    var identity: UInt64 {
        if case .connection(let proof)? = attempt?.proof { proof.identity } else { 0 }
    }

    /// Whether the next request carries a step of an authentication, for one connection that is not authenticated yet.
    var isConversing: Bool {
        if case .connection(let proof)? = attempt?.proof { proof.conversation != nil } else { false }
    }

    /// Whether the field's value is good for one request only, because it has the count of a nonce.
    var isFieldForOneRequest: Bool { attempt?.answer != nil }

    /// Whether a response with this status does not concern this stage.
    func ignores(_ status: Int) -> Bool { attempt == nil && ChallengeSource(status: status) != source }

    /// Looks up the preemptive credentials of the request. After that its `identity` is known.
    ///
    /// - Parameter isAllowed: Whether a credential that was accepted before may still be used.
    mutating func prepare(_ subject: AuthenticationSubject, isAllowed: (LoadCredential, ProtectionSpace) -> Bool) {
        select(subject.peer)
        guard attempt == nil, !subject.hasCredentialField else { return }
        let settings = subject.userOfSettings
        if let (space, known) = memory.entry(for: subject) {
            if let credential = known.credential, credential != settings, !isAllowed(credential, space) {
                memory.forget(space, of: subject)
            } else {
                attempt = Attempt(space: space, credential: known.credential, proof: known.proof, source: .memory)
                return
            }
        }
        guard let settings, triedSettings.isEmpty else { return }
        // The realm is not known yet.
        let option = AuthenticationOption(scheme: .basic, challenge: AuthenticationChallenge(scheme: "basic"))
        guard let proof = AuthenticationProof(option, settings) else { return }
        attempt = Attempt(
            space: ProtectionSpace(of: option, at: subject.peer), credential: settings, proof: proof,
            source: .settingsPreemptively)
    }

    /// Switches to another peer. Credentials for one server are not sent to another, including one where an upload
    /// resumes. The settings' credentials of one proxy do not count as tried at the next.
    private mutating func select(_ peer: AuthenticationPeer) {
        if peer == self.peer { return }
        if let last = self.peer {
            // Remembered credentials are looked up again, because other requests use and update them meanwhile.
            let own = attempt?.source == .memory ? nil : attempt
            others[last] = PeerState(attempt: own, triedSettings: triedSettings)
        }
        let known = others.removeValue(forKey: peer) ?? PeerState()
        (attempt, triedSettings) = (known.attempt, known.triedSettings)
        self.peer = peer
    }

    /// The body whose hash the next value of the field needs, if it is large and its hash is not known: then it is to
    /// be computed while the loop is lent. Otherwise `fieldValue` computes it.
    mutating func bodyToHash(
        for subject: AuthenticationSubject, isAllowed: (LoadCredential, ProtectionSpace) -> Bool
    ) -> (body: Data, hash: DigestHash)? {
        guard case .bytes(let body) = subject.body, body.count > BodyDigest.mostBytesOnLoop else { return nil }
        prepare(subject, isAllowed: isAllowed)
        guard case .digest(let session)? = attempt?.proof, let hash = session.bodyHash,
            bodyDigest?.isOf(body, hash) != true
        else { return nil }
        return (body, hash)
    }

    mutating func take(_ digest: BodyDigest) { bodyDigest = digest }

    /// The value of the field `fieldName` for a request about to be sent; nil to leave the field unchanged.
    mutating func fieldValue(
        for subject: AuthenticationSubject, isAllowed: (LoadCredential, ProtectionSpace) -> Bool
    ) -> String? {
        // Looked up when the request was made, or for an earlier request. Meanwhile other requests have used and
        // changed what is remembered, or it was removed.
        if attempt?.source == .memory, !authenticatesConnection { attempt = nil }
        prepare(subject, isAllowed: isAllowed)
        guard var attempt else { return nil }
        switch attempt.proof {
        case .basic(let value): return value
        case .connection(let proof):
            return proof.conversation == nil ? nil : attempt.space.scheme.fieldValue(proof.token)
        case .digest(var session):
            attempt.answer = session.answer(subject, knowing: bodyDigest)
            attempt.proof = .digest(session)
            // A nonce count must not be used twice.
            if attempt.source == .memory { memory.update(attempt.space, of: subject) { $0.proof = attempt.proof } }
            self.attempt = attempt.answer == nil ? nil : attempt
            return attempt.answer?.fieldValue
        }
    }

    /// A redirect leads to another request, which has no authentication state.
    mutating func redirected() {
        attempt = nil
        others = [:]
        bodyDigest = nil
        hasGivenUpBinding = false
    }

    // MARK: Responses

    /// The step that a response leads to.
    ///
    /// - Parameters:
    ///   - mayBeShared: Whether an authenticated connection may carry the requests of other users (AUTH-19).
    ///   - channelBinding: The binding to the TLS session with the peer (AUTH-37). Computed only if it may be needed.
    mutating func step(
        after head: ResponseHead, to subject: AuthenticationSubject, mayBeShared: Bool,
        channelBinding: @autoclosure () -> ChannelBinding? = nil
    ) throws(LoadError) -> Step {
        select(subject.peer)
        if ChallengeSource(status: head.status) != source {
            // A proxy's challenge does not show whether the server accepts the user.
            return source == .server && head.status == 407 ? .deliver : try accept(head, subject)
        }
        challengeCount += 1
        if challengeCount > Self.mostChallenges {
            attempt = nil
            return .deliver
        }
        let challenges = AuthenticationChallenge.all(in: head.fields, of: source).answerable(for: subject.body)
        if renew(challenges) { return .sendAgain }
        let options = AuthenticationOption.options(for: challenges, mayBeShared: mayBeShared)[...]
        let authenticatesConnection = options.contains { $0.scheme.authenticatesConnection }
        self.channelBinding = authenticatesConnection ? channelBinding() : nil
        if let step = continueConversation(challenges, options, subject) { return step }
        refuse(options, subject)
        return ask(options, subject, isQuiet: false)
    }

    /// Applies the client's answer.
    mutating func step(after answer: AuthenticationAnswer, to subject: AuthenticationSubject) -> Step {
        guard let pending else { return .deliver }
        switch answer {
        case .credential(let credential):
            if pending.option.scheme.authenticatesConnection {
                return begin(
                    credential, identity: memory.identity(of: credential, in: pending.space), from: .client, subject)
            }
            self.pending = nil
            guard let proof = AuthenticationProof(pending.option, credential) else { return .deliver }
            note(userOf: subject, ifItIs: credential, by: pending.option.scheme)
            attempt = Attempt(space: pending.space, credential: credential, proof: proof, source: .client)
            return .sendAgain
        case .nothing:
            self.pending = nil
            return .deliver
        case .defaultHandling: return ask(pending.others, subject, isQuiet: true)
        case .nextSpace:
            rejected.insert(pending.space)
            return ask(pending.others, subject, isQuiet: pending.isQuiet)
        }
    }

    private mutating func ask(
        _ options: ArraySlice<AuthenticationOption>, _ subject: AuthenticationSubject, isQuiet: Bool
    ) -> Step {
        if let step = trySettings(options, subject, isQuiet: isQuiet) { return step }
        pending = nil
        for index in options.indices {
            let space = ProtectionSpace(of: options[index], at: subject.peer)
            if rejected.contains(space) { continue }
            let pending = Pending(
                option: options[index], space: space, index: index, options: options, isQuiet: isQuiet)
            self.pending = pending
            // With a Kerberos ticket the client is not asked (AUTH-20). NTLM has no tickets: it would send a password's
            // hash to any server.
            if space.scheme == .negotiate, triedWithoutCredential.insert(space).inserted {
                return begin(nil, identity: memory.identity(of: nil, in: space), from: .client, subject)
            }
            return .ask(question(pending, subject))
        }
        return .deliver
    }

    /// Sends the user of the settings, once per scheme. Nil if no scheme is left.
    private mutating func trySettings(
        _ options: ArraySlice<AuthenticationOption>, _ subject: AuthenticationSubject, isQuiet: Bool
    ) -> Step? {
        guard let credential = subject.userOfSettings else { return nil }
        for index in options.indices where triedSettings.insert(options[index].scheme).inserted {
            let option = options[index]
            let space = ProtectionSpace(of: option, at: subject.peer)
            if option.scheme.authenticatesConnection {
                pending = Pending(option: option, space: space, index: index, options: options, isQuiet: isQuiet)
                return begin(
                    credential, identity: memory.identity(of: credential, in: space), from: .settings, subject)
            }
            guard let proof = AuthenticationProof(option, credential) else { continue }
            pending = nil
            attempt = Attempt(space: space, credential: credential, proof: proof, source: .settings)
            return .sendAgain
        }
        return nil
    }

    private func question(_ pending: Pending, _ subject: AuthenticationSubject) -> AuthenticationQuestion {
        AuthenticationQuestion(
            space: pending.space, fromURL: unsentUser(of: subject, by: pending.option.scheme),
            refused: refused[pending.space], failures: failures[pending.space] ?? 0, isQuiet: pending.isQuiet)
    }

    /// The user in the URL, unless it was sent to the server already.
    private func unsentUser(
        of subject: AuthenticationSubject, by scheme: AuthenticationScheme
    ) -> (user: String, password: String?)? {
        guard let named = subject.userOfAddress else { return nil }
        let user = SentUser(peer: subject.peer, scheme: scheme, user: named.user, password: named.password)
        return sentUsers.contains(user) ? nil : named
    }

    private mutating func note(
        userOf subject: AuthenticationSubject, ifItIs credential: LoadCredential, by scheme: AuthenticationScheme
    ) {
        guard let named = unsentUser(of: subject, by: scheme), named.user == credential.user,
            named.password == credential.password
        else { return }
        sentUsers.append(SentUser(peer: subject.peer, scheme: scheme, user: named.user, password: named.password))
    }

    /// Whether the challenge only replaces a stale nonce (AUTH-18).
    private mutating func renew(_ challenges: [AuthenticationChallenge]) -> Bool {
        guard let attempt, case .digest(var session) = attempt.proof else { return false }
        guard challenges.lazy.compactMap(DigestChallenge.init).contains(where: { session.renew(with: $0) }) else {
            return false
        }
        self.attempt = Attempt(
            space: attempt.space, credential: attempt.credential, proof: .digest(session),
            source: attempt.source == .memory ? .client : attempt.source)
        return true
    }

    /// The credentials were not accepted. A challenge refuses the client's credentials whatever space it names (RFC
    /// 9110 §15.5.2), or two spaces that take turns would never count a failure. Other credentials were sent without a
    /// challenge for this request, so a challenge for another space only means that they belong elsewhere.
    private mutating func refuse(_ options: ArraySlice<AuthenticationOption>, _ subject: AuthenticationSubject) {
        guard let attempt else { return }
        self.attempt = nil
        if attempt.source == .settingsPreemptively {
            // The same password must not be tried again with Basic. The proxy may accept it with another scheme.
            for option in options where option.scheme == .basic {
                triedSettings.insert(.basic)
                refused[ProtectionSpace(of: option, at: subject.peer)] = attempt.credential
            }
            return
        }
        guard
            attempt.source == .client
                || options.contains(where: { ProtectionSpace(of: $0, at: subject.peer) == attempt.space })
        else { return }
        note(refusalOf: attempt.credential, in: attempt.space, from: attempt.source, subject)
    }

    private mutating func note(
        refusalOf credential: LoadCredential?, in space: ProtectionSpace, from source: Source,
        _ subject: AuthenticationSubject
    ) {
        memory.forget(credential, in: space, of: subject)
        guard let credential else { return }
        refused[space] = credential
        if source == .client { failures[space, default: 0] += 1 }
    }

    /// A response other than a challenge means that the credentials are accepted (AUTH-22), unless it says that the
    /// request was not processed: then the credentials stay those of this load, for its next request.
    private mutating func accept(_ head: ResponseHead, _ subject: AuthenticationSubject) throws(LoadError) -> Step {
        // A redirect may lead to another challenge.
        if head.status / 100 == 2 { challengeCount = 0 }
        let isAccepted = source.hasAccepted(head.status)
        if isAccepted { triedSettings = [] }
        guard var attempt else { return .deliver }
        // In another space of the server, the user from the URL may be sent once more.
        if isAccepted, let credential = attempt.credential {
            sentUsers.removeAll {
                $0.peer == subject.peer && $0.user == credential.user && $0.password == credential.password
            }
        }
        switch attempt.proof {
        case .basic: break
        case .digest(var session):
            let info = AuthenticationInfo(head.fields, of: source)
            if attempt.answer?.serverProof(in: info) == .wrong { throw .impostor }
            session.accept(info)
            attempt.proof = .digest(session)
            if attempt.source == .memory {
                memory.update(attempt.space, of: subject) { entry in
                    guard case .digest(var shared) = entry.proof else { return }
                    shared.accept(info)
                    entry.proof = .digest(shared)
                }
            }
        case .connection(var proof):
            let token = AuthenticationChallenge.all(in: head.fields, of: source).token(attempt.space.scheme)
            if let conversation = proof.conversation, !conversation.isComplete, let token,
                !conversation.verifies(token)
            {
                throw .impostor
            }
            proof.conversation = nil
            attempt.proof = .connection(proof)
        }
        let isKept = (attempt.credential?.isKept ?? true) && (isAccepted || attempt.source == .memory)
        // From now on the shared memory applies, if the credential is or may be kept there.
        self.attempt = isKept ? nil : attempt
        guard attempt.source == .client || attempt.source == .settings, isKept else { return .deliver }
        memory.remember(
            AuthenticationMemory.Entry(credential: attempt.credential, proof: attempt.proof), in: attempt.space,
            of: subject)
        return attempt.credential.map { .accepted($0, attempt.space) } ?? .deliver
    }

    // MARK: Connection-based authentication

    /// Begins to authenticate a connection, in the pending space.
    private mutating func begin(
        _ credential: LoadCredential?, identity: UInt64, from source: Source, _ subject: AuthenticationSubject
    ) -> Step {
        guard let pending, let mechanism = pending.option.scheme.mechanism else { return .deliver }
        let conversation = GSSSecurityContext(
            mechanism, with: pending.space.host, as: credential.map { ($0.user, $0.password) }, boundTo: channelBinding,
            on: loop)
        contextStep = ContextStep(
            credential: credential, conversation: conversation, identity: identity, source: source)
        return .advance(conversation, [], identity: identity)
    }

    /// The step for a new challenge during a connection-based authentication, or after one on another connection.
    private mutating func continueConversation(
        _ challenges: [AuthenticationChallenge], _ options: ArraySlice<AuthenticationOption>,
        _ subject: AuthenticationSubject
    ) -> Step? {
        guard let attempt, case .connection(let proof) = attempt.proof,
            let index = options.firstIndex(where: { ProtectionSpace(of: $0, at: subject.peer) == attempt.space })
        else { return nil }
        pending = Pending(
            option: options[index], space: attempt.space, index: index, options: options, isQuiet: false)
        guard let conversation = proof.conversation else {
            // A new connection, or a server that authenticates each request.
            triedWithoutCredential.insert(attempt.space)
            return begin(attempt.credential, identity: proof.identity, from: attempt.source, subject)
        }
        guard !conversation.isComplete, conversation.steps < Self.mostSteps,
            let token = challenges.token(attempt.space.scheme)
        else { return nil }
        contextStep = ContextStep(
            credential: attempt.credential, conversation: conversation, identity: proof.identity,
            source: attempt.source)
        return .advance(conversation, token, identity: proof.identity)
    }

    /// The connection that waited for a step of the security context is gone. The step counts as not tried: on the next
    /// connection the conversation begins anew.
    mutating func giveUp() {
        guard let contextStep, let pending else { return }
        (self.contextStep, self.pending) = (nil, nil)
        if contextStep.credential == nil { triedWithoutCredential.remove(pending.space) }
        if contextStep.source == .settings { triedSettings.remove(pending.option.scheme) }
        dropConversation()
    }

    /// The connection of the conversation was closed, and not by the server. On the next connection the conversation
    /// begins anew, without a question to the client, if it has not done so before. Returns false if not.
    mutating func beginAnew() -> Bool {
        guard isConversing, !hasBegunAnew else { return false }
        hasBegunAnew = true
        dropConversation()
        return true
    }

    /// Gives up a conversation whose first token is bound to another certificate than that of the connection that would
    /// carry it: the server that sent the challenge may have several. Without a token, the challenge on this connection
    /// begins the conversation anew. That happens once; after that the token is sent. Returns false if it is to be
    /// sent.
    mutating func givesUp(unlessBoundTo channelBinding: ChannelBinding?) -> Bool {
        guard case .connection(let proof)? = attempt?.proof, let conversation = proof.conversation,
            conversation.channelBinding != channelBinding, !hasGivenUpBinding
        else { return false }
        hasGivenUpBinding = true
        dropConversation()
        return true
    }

    private mutating func dropConversation() {
        guard let attempt, case .connection(var proof) = attempt.proof else { return }
        proof.conversation = nil
        self.attempt?.proof = .connection(proof)
    }

    /// Applies the outcome of a step of the security context.
    mutating func step(after outcome: GSSSecurityContext.Outcome, to subject: AuthenticationSubject) -> Step {
        guard let contextStep, let pending else { return .deliver }
        self.contextStep = nil
        switch outcome {
        case .token(let token, _):
            if let credential = contextStep.credential {
                note(userOf: subject, ifItIs: credential, by: pending.option.scheme)
            }
            self.pending = nil
            attempt = Attempt(
                space: pending.space, credential: contextStep.credential,
                proof: .connection(
                    ConnectionProof(
                        identity: contextStep.identity, conversation: contextStep.conversation, token: token)),
                source: contextStep.source == .memory ? .client : contextStep.source)
            return .sendAgain
        case .unsupported:
            attempt = nil
            rejected.insert(pending.space)
            let left = contextStep.source == .settings ? pending.options : pending.others
            return ask(left, subject, isQuiet: pending.isQuiet)
        case .complete, .failed:
            attempt = nil
            note(refusalOf: contextStep.credential, in: pending.space, from: contextStep.source, subject)
            if contextStep.source == .settings { return ask(pending.options, subject, isQuiet: pending.isQuiet) }
            return .ask(question(pending, subject))
        }
    }
}

extension [AuthenticationChallenge] {
    /// Without integrity protection of a body that can be read only once. The server may also offer Digest without it.
    fileprivate func answerable(for body: LoadBody) -> [AuthenticationChallenge] {
        body.canBeHashed ? self : filter { DigestChallenge($0)?.protection != .integrity }
    }
}

extension AuthenticationOption {
    /// The challenges that can be answered for a request. Excluded are connection-based schemes on a connection that
    /// other users may share.
    fileprivate static func options(
        for challenges: [AuthenticationChallenge], mayBeShared: Bool
    ) -> [AuthenticationOption] {
        let possible = AuthenticationScheme.allCases.filter { !mayBeShared || !$0.authenticatesConnection }
        return options(for: challenges, possible: Set(possible), hashes: MessageDigest.available)
    }
}

extension LoadError {
    /// The peer does not know the secret that the server should know (AUTH-18).
    fileprivate static let impostor = LoadError.badServerResponse("the server's own proof is wrong")
}
