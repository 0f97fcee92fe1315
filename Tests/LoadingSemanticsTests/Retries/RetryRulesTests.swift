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
                attempts: attempts, lossesWhileServing: 0, refusals: 1, unprocessed: 1, isServing: false)) == .retry
    }

    // CONN-10
    @Test func onlyIdempotentRequestsAreRetried() {
        #expect(isRetried("GET", .sent))
        #expect(isRetried("PUT", .sent))
        #expect(!isRetried("POST", .sent))
        #expect(!isRetried("PUT", .sent, replayable: false))
    }

    // CONN-10: closing a new connection without a response is the server's answer.
    @Test func lossOfNewConnectionIsNotRetried() {
        #expect(!isRetried("GET", .sent, reused: false))
        #expect(isRetried("GET", .unsent, reused: false))
    }

    // CONN-10: provably unsent
    @Test func unsentRequestsAreAlwaysRetried() {
        #expect(isRetried("POST", .unsent))
        #expect(isRetried("POST", .unsent, replayable: false))
    }

    // CONN-4
    @Test func refusedRequestsAreRetried() {
        #expect(isRetried("POST", .refused, reused: false))
        #expect(!isRetried("POST", .refused, replayable: false))
    }

    // CONN-10
    @Test func incompleteResponseIsNotRetried() {
        #expect(!isRetried("GET", .answered))
    }

    // CONN-10
    @Test func retriesAreLimited() {
        let tried = (1...5).map { isRetried("GET", .unsent, attempts: $0) }
        #expect(tried == [true, true, false, false, false])
    }

    // CONN-10: a server that has too much to do is not asked again at once
    @Test(
        arguments: [(1, 0, 100), (2, 0, 200), (1, 3, 400), (1, 9, 1_000), (3, 0, nil), (1, 10, nil)]
            as [(Int, Int, Int64?)])
    func overload(attempts: Int, losses: Int, pause: Int64?) {
        let decision = RetryRules.decide(
            LostExchange(
                method: "GET", progress: .sent, isReusedConnection: true, isBodyReplayable: true, attempts: attempts,
                lossesWhileServing: losses, refusals: 1, unprocessed: 1, isServing: losses > 0, isOverload: true))
        #expect(milliseconds(decision) == pause)
    }

    private func refused(_ progress: LostExchange.Progress, refusals: Int, isServing: Bool) -> RetryDecision {
        RetryRules.decide(
            LostExchange(
                method: "POST", progress: progress, isReusedConnection: false, isBodyReplayable: true, attempts: 1,
                lossesWhileServing: 0, refusals: refusals, unprocessed: refusals, isServing: isServing))
    }

    private func milliseconds(_ decision: RetryDecision) -> Int64? {
        switch decision {
        case .retry: 0
        case .retryAfter(let pause): pause / 1_000_000
        case .fail: nil
        }
    }

    // CONN-4: no limit while the server processes others, but it may never process this request
    @Test(arguments: [.unsent, .refused] as [LostExchange.Progress])
    func refusalsOfServingServerArePaced(progress: LostExchange.Progress) {
        let pauses = (1...14).map { milliseconds(refused(progress, refusals: $0, isServing: true)) }
        #expect(pauses == [0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000])
        #expect(milliseconds(refused(progress, refusals: 1_000_000, isServing: true)) == 1000)
    }

    // CONN-4: a server that refuses everything gets retries at increasing intervals, up to a limit
    @Test func retriesAfterRefusalsAreLimited() {
        let pauses = (1...11).map { milliseconds(refused(.refused, refusals: $0, isServing: false)) }
        #expect(pauses == [0, 0, 100, 200, 400, 800, 1000, 1000, 1000, nil, nil])
    }

    private func isRetried(attempts: Int, lossesWhileServing: Int, isServing: Bool) -> Bool {
        RetryRules.decide(
            LostExchange(
                method: "GET", progress: .sent, isReusedConnection: true, isBodyReplayable: true, attempts: attempts,
                lossesWhileServing: lossesWhileServing, refusals: 1, unprocessed: 1, isServing: isServing)) == .retry
    }

    // CONN-10: a close between other requests may be unrelated; a request that is lost repeatedly may be the cause
    @Test func lostAmongOthers() {
        let tried = (1...12).filter { isRetried(attempts: 1, lossesWhileServing: $0, isServing: true) }
        #expect(tried == Array(1..<10))
    }

    // CONN-10: each kind of loss has its own limit
    @Test func lossesWhileServingAreNotCounted() {
        #expect(isRetried(attempts: 1, lossesWhileServing: 4, isServing: false))
        #expect(isRetried(attempts: 2, lossesWhileServing: 9, isServing: false))
        #expect(!isRetried(attempts: 3, lossesWhileServing: 0, isServing: false))
        #expect(isRetried(attempts: 3, lossesWhileServing: 9, isServing: true))
    }

    // CONN-10, ERR-5
    @Test func failureKeepsItsError() {
        let lost = LostExchange(
            method: "POST", progress: .sent, isReusedConnection: true, isBodyReplayable: true, attempts: 1,
            lossesWhileServing: 0, refusals: 1, unprocessed: 1, isServing: false)
        #expect(RetryRules.decide(lost) == .fail(.networkConnectionLost))
        #expect(RetryRules.decide(lost, error: .networkConnectionLost(104)) == .fail(.networkConnectionLost(104)))
    }
}
