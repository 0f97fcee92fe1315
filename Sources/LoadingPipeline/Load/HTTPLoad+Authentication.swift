internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Responses that ask for credentials, and preemptive credentials.
extension HTTPLoad: AuthenticatorOwner {
    /// How much of such a response is read while the client is asked. Nearly all are smaller, so that their connection is
    /// free when the answer comes.
    static let mostChallengeBody = 64 * 1024

    /// Whether the response is not the client's, or not yet.
    func isChallenge(_ response: LoadResponse) throws(LoadError) -> Bool {
        let status = response.head.status
        if exchange?.withheldProof(askedBy: status) == true {
            sayWithheldProof()
            return true
        }
        if let proxy = exchange?.forwarder {
            if status == 407 { _ = authenticatorOfProxies }
            if try isAsked(by: response, forwardingAuthenticator, .forwarded(request, by: proxy)) { return true }
        }
        if status == 401 { _ = authenticatorOfServers }
        // The exchange may be over before the answer.
        challengeWay = exchange?.way
        // One that loads requests itself may send those of others over the connection that is proved to be the user's, unless it
        // says that it does not (RFC 4559 §6).
        let mayBeShared = exchange?.forwarder != nil && !response.head.fields.supportsSessionBasedAuthentication
        return try isAsked(by: response, serverAuthenticator, .request(request), mayBeShared: mayBeShared)
    }

    private var authenticatorOfServers: Authenticator {
        let made = serverAuthenticator ?? Authenticator(.server, for: self, in: environment)
        serverAuthenticator = made
        return made
    }

    private var authenticatorOfProxies: Authenticator {
        let made = forwardingAuthenticator ?? Authenticator(.proxy, for: self, in: environment)
        forwardingAuthenticator = made
        return made
    }

    private func isAsked(
        by response: LoadResponse, _ authenticator: Authenticator?, _ subject: @autoclosure () -> AuthenticationSubject,
        mayBeShared: Bool = false
    ) throws(LoadError) -> Bool {
        guard let authenticator, !authenticator.ignores(response.head.status) else { return false }
        let subject = subject()
        machine.receive(.asks(.challenge))
        if try authenticator.isAsked(by: response.head, to: subject, mayBeShared: mayBeShared) { return true }
        machine.receive(.dropsChallenge)
        return false
    }

    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion) {
        guard machine.stage == .challenge, let response else { return }
        noteActivity()
        letGoOfHeldConnection()
        guard let client else { return }
        credentialLookup?.withdraw()
        credentialLookup = environment.lookUpCredential(for: question, of: client) { [weak self] question in
            guard let self, machine.stage == .challenge else { return }
            self.client?.load(self, isAsked: question, by: response)
        }
    }

    func authenticator(_ authenticator: Authenticator, goesOn isBound: Bool, as identity: UInt64) {
        guard machine.stage == .challenge else { return }
        noteActivity()
        letGoOfHeldConnection()
        // A connection of this identity that was challenged is not authenticated yet: a conversation can begin there.
        let isOwn = exchange?.identity(of: authenticator === serverAuthenticator ? .server : .proxy) == identity
        if isBound || isOwn { heldConnection = exchange?.hold(isBeginning: !isBound) }
        if authenticator === serverAuthenticator { conversationWay = challengeWay }
    }

    func authenticator(
        _ authenticator: Authenticator, hasUsed credential: LoadCredential, for space: ProtectionSpace
    ) {
        if let client { environment.credentials?.store(credential, for: space, of: client) }
    }

    func authenticator(
        _ authenticator: Authenticator, mayUse credential: LoadCredential, for space: ProtectionSpace
    ) -> Bool {
        environment.credentials?.mayUse(credential, for: space) == true
    }

    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict) {
        guard machine.stage == .challenge else { return }
        noteActivity()
        switch verdict {
        case .sendAgain: sendAgain()
        case .deliver:
            // The response that asked is the result.
            letGoOfHeldConnection()
            deliverResponseOrRest()
        }
    }

    /// The client's answer to what it was asked.
    package func answerChallenge(_ answer: AuthenticationAnswer) {
        if machine.hasEnded { return }
        if tunnelAuthentication?.isFindingOut == true { tunnelAuthentication?.take(answer) }
        guard machine.stage == .challenge else { return }
        let isProxys = forwardingAuthenticator?.isFindingOut == true
        (isProxys ? forwardingAuthenticator : serverAuthenticator)?.take(answer)
    }

    func letGoOfHeldConnection() {
        heldConnection?.carrier.letGo()
        heldConnection = nil
    }

    /// The fields that carry steps of conversations. A request leaves them out on one of the user's connections that others
    /// have used: it may be proved to be his, and some servers refuse a second conversation.
    var fieldsOfConversations: [String] {
        var names: [String] = []
        if let serverAuthenticator, serverAuthenticator.isConversing { names.append(serverAuthenticator.fieldName) }
        if let forwardingAuthenticator, forwardingAuthenticator.isConversing {
            names.append(forwardingAuthenticator.fieldName)
        }
        return names
    }

    /// The connection was not proved to be the user's, so the request goes out on it again with what it has left out.
    private func sayWithheldProof() {
        machine.receive(.asks(.challenge))
        letGoOfHeldConnection()
        heldConnection = exchange?.hold(isBeginning: true)
        // Not before the rest of the response is read that has come with its head.
        let again = LoopBox({ [weak self] in self?.sendAgain() ?? () })
        environment.loop.post { again.value() }
    }

    /// Sends the request once more, over the same connection if what is left of the response passes soon.
    private func sendAgain() {
        guard machine.stage == .challenge, let response else { return }
        guard let exchange else { return fetchAgain(response) }
        self.exchange = nil
        let next = LoopBox({ self.fetchAgain(response) })
        exchange.drain { next.value() }
    }

    private func fetchAgain(_ response: LoadResponse) {
        guard machine.stage == .challenge else { return }
        if let heldConnection, heldConnection.carrier.isClosed {
            // A server that closes between two steps of a conversation does not want it.
            guard heldConnection.isBeginning else { return end(.networkConnectionLost) }
            letGoOfHeldConnection()
        }
        client?.load(self, transactionEnded: response)
        fetch(.authentication)
    }

    /// Gives a request what proves it to be the user's.
    func authenticate(_ exchange: inout ExchangeRequest) {
        if serverAuthenticator == nil, !environment.authentication.knowsServers { return }
        let authenticator = authenticatorOfServers
        guard let value = authenticator.fieldValue(for: .request(request)) else { return }
        exchange.fields = exchange.fields.without(names: [authenticator.fieldName])
        exchange.fields.append(authenticator.fieldName, value)
    }

    /// A redirect leads to another request, for which nothing has been said yet, but to proxies.
    func forgetAnswers() {
        serverAuthenticator?.redirected()
        conversationWay = nil
    }

    // MARK: Proxies

    /// What a request says to a proxy that loads it itself; nil for nothing (PROXY-2). What the caller has said counts
    /// until the proxy asks, and is for the first proxy that the load was to go through: he cannot have meant one that
    /// stands in for it.
    func authorization(for proxy: ProxyServer, of route: ProxyRouteList) -> String? {
        let authenticator = authenticatorOfProxies
        // TLS is part of that proxy: a value that was meant for TLS is not sent in the clear.
        let confidant = confidant ?? route.firstProxy.map { AuthenticationPeer($0, as: .http) }
        self.confidant = confidant
        if let value = authenticator.fieldValue(for: .forwarded(request, by: proxy)) { return value }
        return AuthenticationPeer(proxy, as: .http) == confidant
            ? request.fields.firstValue(authenticator.fieldName) : nil
    }

    /// The identity of the connections to such a proxy that the request needs; 0 for shared ones.
    func identity(for proxy: ProxyServer) -> UInt64 {
        authenticatorOfProxies.identity(for: .forwarded(request, by: proxy))
    }
}

extension HTTPLoad: TunnelClient {
    var loadClient: (any LoadClient)? { client }

    func response(_ head: ResponseHead) -> LoadResponse? {
        LoadResponse(url: request.url, head: head, expectedLength: -1)
    }

    /// Authenticates the user to a proxy before it makes a tunnel.
    var tunnelSpeaker: any TunnelSpeaker {
        let speaker = tunnelAuthentication ?? TunnelAuthentication(for: self, in: environment)
        tunnelAuthentication = speaker
        return speaker
    }

    func exchangeAsks(_ question: SecurityQuestion) -> Bool {
        guard case .tunnel(let challenge) = question.subject else {
            return client?.load(self, asks: question) ?? false
        }
        return tunnelAuthentication?.takes(question, about: challenge) ?? false
    }
}

/// A connection that is kept for the next step of a conversation. What is said on it is for whom it leads to, whatever way would be
/// picked by now (PROXY-11).
struct HeldConnection {
    let carrier: any ExchangeCarrier
    let way: ProxyRoute
    /// Whether nothing of the conversation has been said: another connection does as well.
    let isBeginning: Bool
}
