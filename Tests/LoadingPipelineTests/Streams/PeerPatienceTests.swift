import Testing

@testable import LoadingPipeline

@Suite struct PeerPatienceTests {
    // STREAM-7
    @Test("a peer that takes nothing is given up after the limit") func aPeerThatTakesNothing() {
        var patience = PeerPatience(60, taken: 5, at: 1_000)
        #expect(patience.nextLook(taken: 5, at: 1_059) == 1_060)
        #expect(patience.nextLook(taken: 5, at: 1_060) == nil)
    }

    // STREAM-7
    @Test("each byte that is taken gives it the limit anew") func eachByteGivesItTheLimitAnew() {
        var patience = PeerPatience(60, taken: 5, at: 1_000)
        #expect(patience.nextLook(taken: 6, at: 1_060) == 1_120)
        #expect(patience.nextLook(taken: 7, at: 1_120) == 1_180)
        #expect(patience.nextLook(taken: 7, at: 1_180) == nil)
    }
}
