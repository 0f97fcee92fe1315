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

    /// The client's answer to what it was asked.
    package func answerChallenge(_ answer: AuthenticationAnswer) {
        guard case .challenge = outstanding, !hasEnded else { return }
        lastActivity = environment.loop.now
        switch authentication.step(after: answer, to: request) {
        case .deliver, .accepted:
            outstanding = .nothing
            deliverResponseOrRest()
        case .ask(let question): ask(question)
        case .sendAgain: sendAgain()
        }
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
