import LoadingSemantics
import Testing

@Suite struct RetryRulesTests {
    private func isRetried(
        _ method: String, _ progress: LostExchange.Progress, reused: Bool = true, replayable: Bool = true,
        attempts: Int = 1
    ) -> Bool {
        RetryRules.decide(
            LostExchange(
                method: method, progress: progress, isReusedConnection: reused, isBodyReplayable: replayable,
                attempts: attempts)) == .retry
    }

    // CONN-10
    @Test func onlyWhatIsSafeIsSentAgain() {
        #expect(isRetried("GET", .sent))
        #expect(isRetried("PUT", .sent))
        #expect(!isRetried("POST", .sent))
        #expect(!isRetried("PUT", .sent, replayable: false))
    }

    // CONN-10: a server that answers a fresh connection with silence means it.
    @Test func aFreshConnectionIsNotTriedAgain() {
        #expect(!isRetried("GET", .sent, reused: false))
        #expect(isRetried("GET", .unsent, reused: false))
    }

    // CONN-10: provably unsent
    @Test func whatWasNeverSentMayAlwaysBeSent() {
        #expect(isRetried("POST", .unsent))
        #expect(isRetried("POST", .unsent, replayable: false))
    }

    // CONN-4
    @Test func whatTheServerRefusedMayBeSentAgain() {
        #expect(isRetried("POST", .refused, reused: false))
        #expect(!isRetried("POST", .refused, replayable: false))
    }

    // CONN-10
    @Test func anAnswerThatBreaksOffIsNeverRepeated() {
        #expect(!isRetried("GET", .answered))
    }

    // CONN-10
    @Test func thereIsAnEnd() {
        let tried = (1...5).map { isRetried("GET", .unsent, attempts: $0) }
        #expect(tried == [true, true, false, false, false])
    }

    // CONN-10, ERR-5
    @Test func failureKeepsItsError() {
        let lost = LostExchange(
            method: "POST", progress: .sent, isReusedConnection: true, isBodyReplayable: true, attempts: 1)
        #expect(RetryRules.decide(lost) == .fail(.networkConnectionLost))
        #expect(RetryRules.decide(lost, error: .networkConnectionLost(104)) == .fail(.networkConnectionLost(104)))
    }
}
