internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// Authenticates the user of one load to proxies that open tunnels (AUTH-28). Confined to the load's loop.
///
/// The load has no response at this time. The challenge belongs to the connection that is being made, which waits for
/// the answer.
final class TunnelAuthentication: ProxyAuthorizer, AuthenticatorOwner {
    private weak var user: (any TunnelClient)?
    private let environment: LoadingEnvironment
    private lazy var authenticator = Authenticator(.proxy, for: self, in: environment)
    private var pending: (question: ConnectionChallenge, challenge: TunnelChallenge)?
    /// Whether the next step is valid only on the same connection.
    private var isBound = false
    private var isTaking = false
    private var lookup: PendingLookup<ProposedCredential?>?

    init(for user: any TunnelClient, in environment: LoadingEnvironment) {
        self.user = user
        self.environment = environment
    }

    // MARK: For connections

    func authorization(for proxy: ProxyServer, to destination: ProxyDestination) -> String? {
        authenticator.fieldValue(for: .tunnel(to: destination, by: proxy))
    }

    func verify(_ head: ResponseHead, of proxy: ProxyServer, to destination: ProxyDestination) -> Bool {
        do throws(LoadError) {
            // The response is no challenge.
            _ = try authenticator.handle(head, to: .tunnel(to: destination, by: proxy), channelBinding: nil)
            return true
        } catch {
            return false
        }
    }

    /// Shared by all loads, because one observer may receive events of several.
    private static let lastRound = Atomic<UInt64>(0)

    func tunnelRequested(_ authority: String, _ fields: HTTPFields) -> UInt64 {
        guard showsHeads else { return 0 }
        let round = Self.lastRound.wrappingAdd(1, ordering: .relaxed).newValue
        show(MessageHead(connectTo: authority, fields, round: round))
        return round
    }

    func tunnelAnswered(_ head: ResponseHead, to round: UInt64) {
        guard showsHeads else { return }
        var head = MessageHead(head)
        head.tunnelRound = round
        show(head)
    }

    private var showsHeads: Bool { environment.headObserver != nil || user?.log?.tracesHeads == true }

    /// These heads are not part of the load's transactions, so its log does not keep them.
    private func show(_ head: MessageHead) {
        if let log = user?.log, log.tracesHeads { log.traceOnly(.messageHead(head)) }
        environment.headObserver?(head)
    }

    /// Whether the challenge of a proxy may be answered. The answer follows later.
    func takes(_ question: ConnectionChallenge, about challenge: TunnelChallenge) -> Bool {
        authenticator.giveUp()
        pending = (question, challenge)
        isBound = false
        isTaking = true
        question.onWithdrawal = { [weak self] in self?.withdraw() }
        let subject = AuthenticationSubject.tunnel(to: challenge.destination, by: challenge.proxy)
        let isAnswered =
            (try? authenticator.handle(challenge.head, to: subject, channelBinding: challenge.channelBinding)) ?? false
        isTaking = false
        if isAnswered, pending != nil { return true }
        // There is no answer.
        question.onWithdrawal = nil
        pending = nil
        return false
    }

    private func withdraw() {
        pending = nil
        lookup?.withdraw()
        guard authenticator.isAnswering, let user else { return }
        authenticator.giveUp()
        user.loadClient?.loadAsksNoMore(user)
    }

    // MARK: For the load

    /// Whether the client's next answer is for a tunnel.
    var isAnswering: Bool { authenticator.isAnswering }

    func take(_ answer: AuthenticationAnswer) { authenticator.take(answer) }

    // MARK: From the authenticator

    var loadClient: (any LoadClient)? { user?.loadClient }

    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion) {
        guard let client = loadClient, let head = pending?.challenge.head else { return }
        lookup?.withdraw()
        lookup = environment.lookUpCredential(for: question, of: client) { [weak self] question in
            guard let user = self?.user else { return }
            user.loadClient?.load(user, isAsked: question, by: user.response(head))
        }
    }

    func authenticator(_ authenticator: Authenticator, goesOn isBound: Bool, as identity: UInt64) {
        self.isBound = isBound
    }

    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict) {
        guard let (question, challenge) = pending else { return }
        if isTaking, case .sendAgain = verdict {
            return environment.loop.runLater { [weak self] in
                self?.authenticator(authenticator, hasFound: verdict)
            }
        }
        pending = nil
        // `takes` returns the result.
        if isTaking { return }
        guard question.isOpen else { return }
        question.onWithdrawal = nil
        switch verdict {
        case .deliver: question.answer(.defaultHandling)
        case .sendAgain:
            let value = authorization(for: challenge.proxy, to: challenge.destination)
            question.answer(value.map { .authorization($0, isBound: isBound) } ?? .defaultHandling)
        }
    }
}

/// A load whose connections may use a proxy's tunnel.
protocol TunnelClient: Load {
    /// The client that answers challenges.
    var loadClient: (any LoadClient)? { get }
    var log: EventLog? { get }
    /// A proxy's response in the client's form; nil if the client receives no responses.
    func response(_ head: ResponseHead) -> LoadResponse?
}
