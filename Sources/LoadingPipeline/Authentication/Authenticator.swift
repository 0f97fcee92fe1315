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

    let source: ChallengeSource
    private weak var owner: (any AuthenticatorOwner)?
    private let environment: LoadingEnvironment
    var stage: AuthenticationStage
    /// The request whose challenge is being answered; nil without one.
    private var subject: AuthenticationSubject?
    /// Counts the challenges: results for an earlier one are dropped.
    private var number = 0

    init(_ source: ChallengeSource, for owner: any AuthenticatorOwner, in environment: LoadingEnvironment) {
        self.source = source
        self.owner = owner
        self.environment = environment
        stage = AuthenticationStage(source, environment.authentication, environment.loop)
    }

    // MARK: Requests

    /// The identity of the connection that the request needs; 0 for a shared connection.
    func identity(for subject: AuthenticationSubject) -> UInt64 {
        stage.prepare(subject, isAllowed: isAllowed)
        return stage.identity
    }

    /// The field's value for a request sent now; nil to leave the field unchanged.
    func fieldValue(for subject: AuthenticationSubject) -> String? {
        stage.fieldValue(for: subject, isAllowed: isAllowed)
    }

    /// The body whose hash the field's next value needs, if that takes too long on the loop.
    func bodyToHash(for subject: AuthenticationSubject) -> (body: Data, hash: DigestHash)? {
        stage.bodyToHash(for: subject, isAllowed: isAllowed)
    }

    private func isAllowed(_ credential: LoadCredential, _ space: ProtectionSpace) -> Bool {
        environment.credentials?.mayUse(credential, for: space) == true
    }

    // MARK: Responses

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
            if let client = owner?.loadClient { environment.credentials?.store(credential, for: space, of: client) }
            return false
        case .ask, .advance, .sendAgain:
            self.subject = subject
            number += 1
        }
        if case .sendAgain = step {
            // The rest of the response that arrived with its head is read first.
            let number = number
            environment.loop.runLater { self.end(.sendAgain, number) }
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
    /// The client that answers challenges.
    var loadClient: (any LoadClient)? { get }
    /// The client has to be asked. `Authenticator.take` receives the answer.
    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion)
    /// A step of a connection-based authentication begins. `isBound`: its result is valid only on the same connection.
    /// `identity`: the identity of the connections that it authenticates.
    func authenticator(_ authenticator: Authenticator, goesOn isBound: Bool, as identity: UInt64)
    /// The outcome for the challenge. It may be reported before `handle` returns.
    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict)
}
