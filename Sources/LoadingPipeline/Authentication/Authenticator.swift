internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Finds out what to say to a server, or proxy, that asks one load who the user is: has its client asked, and takes the
/// steps of conversations. Confined to the load's loop.
final class Authenticator {
    enum Verdict {
        /// The request goes out once more, with what `fieldValue` says then.
        case sendAgain
        /// The response that asked is a response like any other.
        case deliver
    }

    private weak var owner: (any AuthenticatorOwner)?
    private let loop: EventLoop
    private var stage: AuthenticationStage
    /// What is being found out about; nil when nothing is.
    private var subject: AuthenticationSubject?
    /// Counts what is found out about: what comes of the one before is dropped.
    private var number = 0

    init(_ source: ChallengeSource, for owner: any AuthenticatorOwner, in environment: LoadingEnvironment) {
        self.owner = owner
        loop = environment.loop
        stage = AuthenticationStage(source, environment.authentication, environment.loop)
    }

    // MARK: Requests

    var fieldName: String { stage.fieldName }

    /// The identity of the connection that the request needs; 0 for a shared one.
    func identity(for subject: AuthenticationSubject) -> UInt64 {
        stage.prepare(subject, isAllowed: isAllowed)
        return stage.identity
    }

    /// What a request that goes out now says; nil to leave it as it is.
    func fieldValue(for subject: AuthenticationSubject) -> String? {
        stage.fieldValue(for: subject, isAllowed: isAllowed)
    }

    /// Whether the next request says a step of a conversation, which is for one connection that is not proved yet.
    var isConversing: Bool { stage.isConversing }

    private func isAllowed(_ credential: LoadCredential, _ space: ProtectionSpace) -> Bool {
        owner?.authenticator(self, mayUse: credential, for: space) == true
    }

    /// A redirect leads to another request, for which nothing has been said yet.
    func redirected() { stage.redirected() }

    // MARK: Responses

    /// Whether there is nothing to find out about a response with this status.
    func ignores(_ status: Int) -> Bool { stage.ignores(status) }

    /// Takes a response. True if it asks who the user is and there may be something to say to that, which the owner hears
    /// later.
    ///
    /// - Parameter mayBeShared: Whether an authenticated connection may carry the requests of other users.
    func isAsked(
        by head: ResponseHead, to subject: AuthenticationSubject, mayBeShared: Bool = false
    ) throws(LoadError) -> Bool {
        let step = try stage.step(after: head, to: subject, mayBeShared: mayBeShared)
        switch step {
        case .deliver: return false
        case .accepted(let credential, let space):
            owner?.authenticator(self, hasUsed: credential, for: space)
            return false
        case .ask, .speak, .sendAgain:
            self.subject = subject
            number += 1
        }
        if case .sendAgain = step {
            // Not before the rest of the response is read that has come with its head.
            let number = number
            let end = LoopBox({ self.end(.sendAgain, number) })
            loop.post { end.value() }
        } else {
            perform(step)
        }
        return true
    }

    var isFindingOut: Bool { subject != nil }

    /// The client's answer to what it was asked.
    func take(_ answer: AuthenticationAnswer) {
        if let subject { perform(stage.step(after: answer, to: subject)) }
    }

    /// The answer is no longer needed.
    func giveUp() { subject = nil }

    private func perform(_ step: AuthenticationStage.Step) {
        switch step {
        case .sendAgain: end(.sendAgain, number)
        case .deliver, .accepted: end(.deliver, number)
        case .ask(let question): owner?.authenticator(self, asks: question)
        case .speak(let conversation, let token, let identity): speak(conversation, token, as: identity)
        }
    }

    private func speak(_ conversation: GSSSecurityContext, _ token: [UInt8], as identity: UInt64) {
        owner?.authenticator(self, goesOn: conversation.steps > 0, as: identity)
        let number = number
        conversation.next(token) { [self] outcome in
            if let subject, number == self.number { perform(stage.step(after: outcome, to: subject)) }
        }
    }

    private func end(_ verdict: Verdict, _ number: Int) {
        guard subject != nil, number == self.number else { return }
        subject = nil
        owner?.authenticator(self, hasFound: verdict)
    }
}

/// The owner of an `Authenticator`: a load, or the authentication of its tunnels. Called on the load's loop.
protocol AuthenticatorOwner: AnyObject {
    /// Whether a credential that was accepted may be sent there again.
    func authenticator(_ authenticator: Authenticator, mayUse credential: LoadCredential, for space: ProtectionSpace)
        -> Bool
    /// The client is to be asked. `Authenticator.take` takes the answer.
    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion)
    /// A step of a conversation is made. `isBound`: what comes of it is understood on the same connection alone. `identity`:
    /// whose connection it proves.
    func authenticator(_ authenticator: Authenticator, goesOn isBound: Bool, as identity: UInt64)
    func authenticator(_ authenticator: Authenticator, hasUsed credential: LoadCredential, for space: ProtectionSpace)
    /// What becomes of the response that has asked. That may be told before `isAsked` returns.
    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict)
}
