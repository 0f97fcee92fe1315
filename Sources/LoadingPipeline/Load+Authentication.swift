internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// What happens to a response that asks who the user is.
extension Load {
    /// How much of such a response is read while the client is asked. Nearly all are smaller, so that their connection is
    /// free when the answer comes.
    static let mostChallengeBody = 64 * 1024

    /// Whether the response is not the client's, or not yet.
    func isChallenge(_ response: LoadResponse) throws(LoadError) -> Bool {
        switch try authentication.step(after: response.head, to: request) {
        case .deliver: return false
        case .accepted(let credential, let space):
            client?.load(self, hasUsed: credential, for: space)
            return false
        case .ask(let question): ask(question)
        case .speak(let conversation, let token): speak(conversation, token)
        case .sendAgain:
            outstanding = .challenge
            // Not before the rest of the response is read that has come with its head.
            let sending = LoopBox({ self.sendAgain() })
            environment.loop.post { sending.value() }
        }
        return true
    }

    private func ask(_ question: AuthenticationQuestion) {
        guard let response else { return }
        outstanding = .challenge
        client?.load(self, isAsked: question, by: response)
    }

    private func speak(_ conversation: SecurityConversation, _ token: [UInt8]) {
        outstanding = .challenge
        if conversation.steps > 0 { heldConnection = exchange?.hold() }
        conversation.next(token) { [self] outcome in
            guard case .challenge = outstanding, !hasEnded else { return }
            perform(authentication.step(after: outcome, to: request))
        }
    }

    /// The client's answer to what it was asked.
    package func answerChallenge(_ answer: AuthenticationAnswer) {
        guard case .challenge = outstanding, !hasEnded else { return }
        perform(authentication.step(after: answer, to: request))
    }

    private func perform(_ step: AuthenticationStage.Step) {
        lastActivity = environment.loop.now
        if case .sendAgain = step { return sendAgain() }
        heldConnection?.letGo()
        heldConnection = nil
        switch step {
        case .deliver, .accepted, .sendAgain: deliverChallenge()
        case .ask(let question): ask(question)
        case .speak(let conversation, let token): speak(conversation, token)
        }
    }

    /// The response that asked is the result.
    private func deliverChallenge() {
        outstanding = .nothing
        deliverResponseOrRest()
    }

    /// Sends the request once more, over the same connection if what is left of the response passes soon.
    private func sendAgain() {
        guard case .challenge = outstanding, !hasEnded, let response else { return }
        guard let exchange else { return fetchAgain(response) }
        self.exchange = nil
        let next = LoopBox({ self.fetchAgain(response) })
        exchange.drain { next.value() }
    }

    private func fetchAgain(_ response: LoadResponse) {
        guard case .challenge = outstanding, !hasEnded else { return }
        // A server that closes between two steps of a conversation does not want it.
        if heldConnection?.isClosed == true { return end(.networkConnectionLost) }
        outstanding = .nothing
        client?.load(self, willSendAgainAfter: response)
        beginFetch(.authentication)
    }

    /// The same request as it goes out, with what proves it to be the user's.
    func authenticated(_ exchange: ExchangeRequest) -> ExchangeRequest {
        let value = authentication.fieldValue(for: request) { credential, space in
            client?.load(self, stillHas: credential, for: space) == true
        }
        guard let value else { return exchange }
        var exchange = exchange
        exchange.fields = exchange.fields.without(names: [authentication.fieldName])
        exchange.fields.append(authentication.fieldName, value)
        return exchange
    }
}
