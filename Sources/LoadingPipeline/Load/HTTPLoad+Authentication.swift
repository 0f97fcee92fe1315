internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Challenges of servers and proxies, and preemptive credentials.
extension HTTPLoad: AuthenticatorOwner {
    /// How much of the body of a challenge is read while the client is asked. Nearly all such bodies are smaller, so
    /// the connection is free when the answer arrives.
    static let mostChallengeBody = 64 * 1024

    /// True if the response is a challenge that is being answered: it is not delivered, or not yet.
    func handleChallenge(_ response: LoadResponse) throws(LoadError) -> Bool {
        let status = response.head.status
        // Without an authenticator, only these statuses are challenges.
        if status != 401, status != 407, serverAuthenticator == nil, forwardingAuthenticator == nil { return false }
        if exchange?.isChallengeForWithheldField(status: status) == true {
            sendWithheldField()
            return true
        }
        if let proxy = exchange?.forwarder {
            if status == 407 { _ = authenticatorOfProxies }
            if try handleChallenge(response, forwardingAuthenticator, .forwarded(request, by: proxy)) { return true }
        }
        if status == 401 { _ = authenticatorOfServers }
        // The exchange may end before the client answers.
        challengeRoute = exchange?.route
        // A proxy that loads requests itself may send other users' requests on a connection that is authenticated for
        // this user, unless it announces that it does not (RFC 4559 §6).
        let mayBeShared = exchange?.forwarder != nil && !response.head.fields.supportsSessionBasedAuthentication
        return try handleChallenge(response, serverAuthenticator, .request(request), mayBeShared: mayBeShared)
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

    private func handleChallenge(
        _ response: LoadResponse, _ authenticator: Authenticator?, _ subject: @autoclosure () -> AuthenticationSubject,
        mayBeShared: Bool = false
    ) throws(LoadError) -> Bool {
        guard let authenticator, !authenticator.stage.ignores(response.head.status) else { return false }
        let subject = subject()
        machine.apply(.asks(.challenge))
        let isAnswered = try authenticator.handle(
            response.head, to: subject, mayBeShared: mayBeShared,
            channelBinding: exchange?.channelBinding(of: authenticator.source))
        if isAnswered {
            if machine.stage == .challenge { exchange?.holdRequestBody(true) }
            return true
        }
        machine.apply(.dropsChallenge)
        return false
    }

    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion) {
        guard machine.stage == .challenge, let response else { return }
        noteActivity()
        releaseHeldConnection()
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
        releaseHeldConnection()
        // A challenged connection of this identity is not authenticated yet, so the authentication can start on it.
        let isOwn = exchange?.identity(of: authenticator.source) == identity
        if isBound || isOwn { heldConnection = exchange?.hold(isBeginning: !isBound) }
        if authenticator === serverAuthenticator { authenticationRoute = challengeRoute }
    }

    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict) {
        guard machine.stage == .challenge else { return }
        noteActivity()
        switch verdict {
        case .sendAgain: sendAgain()
        case .deliver:
            // The challenge itself is the result.
            releaseHeldConnection()
            exchange?.holdRequestBody(false)
            deliverResponseOrRest()
        }
    }

    /// The client's answer to the challenge.
    package func answerChallenge(_ answer: AuthenticationAnswer) {
        environment.loop.checkConfinement(of: "A load")
        if machine.hasEnded { return }
        if tunnelAuthentication?.isAnswering == true { tunnelAuthentication?.take(answer) }
        guard machine.stage == .challenge else { return }
        let isProxys = forwardingAuthenticator?.isAnswering == true
        (isProxys ? forwardingAuthenticator : serverAuthenticator)?.take(answer)
    }

    func releaseHeldConnection() {
        heldConnection?.stream.endHold()
        heldConnection = nil
    }

    /// Whether the request can be sent as it is. It cannot if the connection that was held for it was closed while the
    /// load waited, for example for a store. It is then prepared anew, if its authentication begins anew on another
    /// connection, or the load ends.
    func keepsHeldConnection() -> Bool {
        guard let held = heldConnection else { return true }
        if held.stream.isShared ? !held.stream.isClosed : held.stream.confirm() { return true }
        releaseHeldConnection()
        if held.isBeginning { return true }
        // A fallback proxy might send other users' requests over its connections.
        if serverAuthenticator?.stage.isConversing == true { authenticationRoute = held.route }
        if beginsAnew() { giveUpExchange() } else { end(.networkConnectionLost) }
        return false
    }

    /// The fields that carry steps of a connection-based authentication. A request omits them on a connection of this
    /// user that other requests have used. That connection may already be authenticated, and some servers refuse a
    /// second authentication.
    var fieldsOfConversations: [String] { conversing().map(\.stage.fieldName) }

    /// The fields that carry the first step of an authentication bound to another certificate than that of the
    /// connection (AUTH-37). The request omits them, and the authentications begin anew.
    func fieldsBoundElsewhere(than channelBinding: (ChallengeSource) -> ChannelBinding?) -> [String] {
        conversing {
            guard $0.source == .server || exchange?.forwarder != nil else { return false }
            return $0.stage.givesUp(unlessBoundTo: channelBinding($0.source))
        }.map(\.stage.fieldName)
    }

    /// The authentications that are under way on a connection: usually one, and both if that of the server as well as
    /// that of the proxy belongs to the connection.
    private func conversing(where condition: (Authenticator) -> Bool = { _ in true }) -> [Authenticator] {
        var conversing: [Authenticator] = []
        if let serverAuthenticator, serverAuthenticator.stage.isConversing, condition(serverAuthenticator) {
            conversing.append(serverAuthenticator)
        }
        if let forwardingAuthenticator, forwardingAuthenticator.stage.isConversing, condition(forwardingAuthenticator) {
            conversing.append(forwardingAuthenticator)
        }
        return conversing
    }

    /// The connection was not authenticated. The request is sent on it again, with the field that it omitted before.
    private func sendWithheldField() {
        machine.apply(.asks(.challenge))
        releaseHeldConnection()
        heldConnection = exchange?.hold(isBeginning: true)
        // The rest of the response that arrived with its head is read first.
        environment.loop.runLater { [weak self] in self?.sendAgain() }
    }

    /// Sends the request again, over the same connection if the rest of the response can be drained soon.
    private func sendAgain() {
        guard machine.stage == .challenge, let response else { return }
        guard let exchange else { return fetchAgain(response) }
        self.exchange = nil
        let next = LoopBox({ self.fetchAgain(response) })
        exchange.drain { next.value() }
    }

    private func fetchAgain(_ response: LoadResponse) {
        guard machine.stage == .challenge else { return }
        if let heldConnection, heldConnection.stream.isClosed {
            // A server that closes the connection between two steps of an authentication refuses it.
            guard heldConnection.isBeginning || heldConnection.stream.hasGivenUpDraining && beginsAnew() else {
                return end(.networkConnectionLost)
            }
            releaseHeldConnection()
        }
        client?.load(self, transactionEnded: response)
        fetch(.authentication)
    }

    /// Whether the authentications whose connection was given up begin anew on another one.
    private func beginsAnew() -> Bool {
        let conversing = conversing()
        return !conversing.isEmpty && conversing.allSatisfy { $0.stage.beginAnew() }
    }

    /// Whether the request's credentials need the hash of a large body, which is computed while the loop is lent. Then
    /// the stage goes on with it.
    func hashesBody() -> Bool {
        if serverAuthenticator == nil, !environment.authentication.knowsServers { return false }
        let authenticator = authenticatorOfServers
        guard let (body, hash) = authenticator.bodyToHash(for: .request(request)) else { return false }
        let loop = environment.loop
        let proceed = LoopBox({ [weak self] (digest: BodyDigest?) in self?.bodyWasHashed(digest) ?? () })
        loop.callOut(
            CalledOut {
                let digest = BodyDigest(body, hash)
                loop.post { proceed.value(digest) }
            })
        return true
    }

    private func bodyWasHashed(_ digest: BodyDigest?) {
        guard machine.stage == .cacheDecision else { return }
        noteActivity()
        if let digest { serverAuthenticator?.stage.take(digest) }
        passCacheDecision()
        advanceAfterWait()
    }

    /// Adds the user's credentials to a request.
    func authenticate(_ exchange: inout ExchangeRequest) {
        if serverAuthenticator == nil, !environment.authentication.knowsServers { return }
        let authenticator = authenticatorOfServers
        guard let value = authenticator.fieldValue(for: .request(request)) else { return }
        exchange.fields = exchange.fields.without(names: [authenticator.stage.fieldName])
        exchange.fields.append(authenticator.stage.fieldName, value)
    }

    /// Renews what is good for one request only, before the request is sent again: the server may have seen it
    /// (AUTH-18).
    func authenticateAgain(_ exchange: inout ExchangeRequest) {
        guard let serverAuthenticator, serverAuthenticator.stage.isFieldForOneRequest else { return }
        exchange.fields = exchange.fields.without(names: [serverAuthenticator.stage.fieldName])
        authenticate(&exchange)
    }

    /// A redirect leads to another request, which has no authentication state except that of proxies.
    func forgetAnswers() {
        serverAuthenticator?.stage.redirected()
        authenticationRoute = nil
    }

    // MARK: Proxies

    /// The value of `Proxy-Authorization` for a proxy that loads the request itself; nil for none (PROXY-2). The
    /// caller's own field applies until the proxy sends a challenge. It applies only to the first proxy of the load's
    /// routes, because the caller cannot have meant a fallback proxy.
    func authorization(for proxy: ProxyServer, of route: ProxyRouteList) -> String? {
        let authenticator = authenticatorOfProxies
        // The use of TLS is part of the proxy's identity: a value meant for a TLS proxy is not sent in the clear.
        let callersProxy = callersProxy ?? route.firstProxy.map { AuthenticationPeer($0, as: .http) }
        self.callersProxy = callersProxy
        if let value = authenticator.fieldValue(for: .forwarded(request, by: proxy)) { return value }
        return AuthenticationPeer(proxy, as: .http) == callersProxy
            ? request.fields.firstValue(authenticator.stage.fieldName) : nil
    }

    /// The identity of the connections to such a proxy that the request needs; 0 for shared connections.
    func identity(for proxy: ProxyServer) -> UInt64 {
        authenticatorOfProxies.identity(for: .forwarded(request, by: proxy))
    }
}

extension HTTPLoad: TunnelClient {
    var loadClient: (any LoadClient)? { client }

    func response(_ head: ResponseHead) -> LoadResponse? {
        LoadResponse(url: request.url, head: head, expectedLength: -1)
    }

    /// Authenticates the user to a proxy that opens a tunnel.
    var proxyAuthorizer: any ProxyAuthorizer {
        let made = tunnelAuthentication ?? TunnelAuthentication(for: self, in: environment)
        tunnelAuthentication = made
        return made
    }

    func exchangeAsks(_ question: ConnectionChallenge) -> Bool {
        guard case .tunnel(let challenge) = question.subject else {
            return client?.load(self, asks: question) ?? false
        }
        return tunnelAuthentication?.takes(question, about: challenge) ?? false
    }
}

/// A connection that is kept for the next step of its authentication. The step belongs to the peer of this connection,
/// whichever route would be selected now (PROXY-11).
struct HeldConnection {
    let stream: any HTTPExchangeStream
    let route: ProxyRoute
    /// Whether no step of the authentication has been sent. Another connection is then as good.
    let isBeginning: Bool
}
