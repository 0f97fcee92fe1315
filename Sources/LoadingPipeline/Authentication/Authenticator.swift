internal import FoundationEssentials
internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Answers the challenges of a server or proxy for one load: gets the client's answer and carries out the steps of
/// connection-based authentication. Confined to the load's loop.
final class Authenticator {
    enum Verdict {
        /// The request is sent again, with the value that `fieldValue` then returns.
        case sendAgain
        /// The challenge is an ordinary response.
        case deliver
    }

    private weak var owner: (any AuthenticatorOwner)?
    private let loop: EventLoop
    private var stage: AuthenticationStage
    /// The request whose challenge is being answered; nil without one.
    private var subject: AuthenticationSubject?
    /// Counts the challenges: results for an earlier one are dropped.
    private var number = 0

    init(_ source: ChallengeSource, for owner: any AuthenticatorOwner, in environment: LoadingEnvironment) {
        self.owner = owner
        loop = environment.loop
        stage = AuthenticationStage(source, environment.authentication, environment.loop)
    }

    // MARK: Requests

    var fieldName: String { stage.fieldName }

    /// The identity of the connection that the request needs; 0 for a shared connection.
    func identity(for subject: AuthenticationSubject) -> UInt64 {
        stage.prepare(subject, isAllowed: isAllowed)
        return stage.identity
    }

    /// The field's value for a request sent now; nil to leave the field unchanged.
    func fieldValue(for subject: AuthenticationSubject) -> String? {
        stage.fieldValue(for: subject, isAllowed: isAllowed)
    }

    /// The body whose hash the field's next value needs, if that takes too long on the loop. `take` receives it.
    func bodyToHash(for subject: AuthenticationSubject) -> (body: Data, hash: DigestHash)? {
        stage.bodyToHash(for: subject, isAllowed: isAllowed)
    }

    func take(_ digest: BodyDigest) { stage.take(digest) }

    /// Whether the field's value is good for one request only, because it has the count of a nonce.
    var isFieldForOneRequest: Bool { stage.isFieldForOneRequest }

    /// Whether the next request carries a step of an authentication, for one connection that is not authenticated yet.
    var isConversing: Bool { stage.isConversing }

    private func isAllowed(_ credential: LoadCredential, _ space: ProtectionSpace) -> Bool {
        owner?.authenticator(self, mayUse: credential, for: space) == true
    }

    /// A redirect leads to another request, which has no authentication state.
    func redirected() { stage.redirected() }

    // MARK: Responses

    /// Whether a response with this status does not concern the authenticator.
    func ignores(_ status: Int) -> Bool { stage.ignores(status) }

    /// Processes a response. True if it is a challenge that may be answered; the owner is notified of the result later.
    ///
    /// - Parameters:
    ///   - mayBeShared: Whether an authenticated connection may carry the requests of other users.
    ///   - channelBinding: The binding to the TLS session with the peer. Computed only if it may be needed.
    func handle(
        _ head: ResponseHead, to subject: AuthenticationSubject, mayBeShared: Bool = false,
        channelBinding: @autoclosure () -> ChannelBinding?
    ) throws(LoadError) -> Bool {
        let step = try stage.step(
            after: head, to: subject, mayBeShared: mayBeShared, channelBinding: channelBinding())
        switch step {
        case .deliver: return false
        case .accepted(let credential, let space):
            owner?.authenticator(self, hasUsed: credential, for: space)
            return false
        case .ask, .advance, .sendAgain:
            self.subject = subject
            number += 1
        }
        if case .sendAgain = step {
            // The rest of the response that arrived with its head is read first.
            let number = number
            loop.runLater { self.end(.sendAgain, number) }
        } else {
            perform(step)
        }
        return true
    }

    var isAnswering: Bool { subject != nil }

    /// Applies the client's answer to the challenge.
    func take(_ answer: AuthenticationAnswer) {
        if let subject { perform(stage.step(after: answer, to: subject)) }
    }

    /// The answer is no longer needed.
    func giveUp() {
        subject = nil
        stage.giveUp()
    }

    /// The connection of the conversation was closed, and not by the server. Returns false if the conversation does not
    /// begin anew.
    func beginAnew() -> Bool { stage.beginAnew() }

    /// Whether the next request omits its field, because it is bound to another certificate than that of the connection.
    /// The conversation begins anew with the challenge on this connection.
    func givesUp(unlessBoundTo channelBinding: ChannelBinding?) -> Bool {
        stage.givesUp(unlessBoundTo: channelBinding)
    }

    private func perform(_ step: AuthenticationStage.Step) {
        switch step {
        case .sendAgain: end(.sendAgain, number)
        case .deliver, .accepted: end(.deliver, number)
        case .ask(let question): owner?.authenticator(self, asks: question)
        case .advance(let conversation, let token, let identity): advance(conversation, token, as: identity)
        }
    }

    private func advance(_ conversation: GSSSecurityContext, _ token: [UInt8], as identity: UInt64) {
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
    /// Whether a credential that was accepted may be sent to the space again.
    func authenticator(_ authenticator: Authenticator, mayUse credential: LoadCredential, for space: ProtectionSpace)
        -> Bool
    /// The client has to be asked. `Authenticator.take` receives the answer.
    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion)
    /// A step of a connection-based authentication begins. `isBound`: its result is valid only on the same connection.
    /// `identity`: the identity of the connections that it authenticates.
    func authenticator(_ authenticator: Authenticator, goesOn isBound: Bool, as identity: UInt64)
    func authenticator(_ authenticator: Authenticator, hasUsed credential: LoadCredential, for space: ProtectionSpace)
    /// The outcome for the challenge. It may be reported before `handle` returns.
    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict)
}
