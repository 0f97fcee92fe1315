import Testing

@testable import LoadingPipeline

@Suite struct StalledPeerTimeoutTests {
    // STREAM-7
    @Test("a peer that takes nothing is given up after the limit") func aPeerThatTakesNothing() {
        var timeout = StalledPeerTimeout(60, acknowledged: 5, at: 1_000)
        #expect(timeout.nextCheck(acknowledged: 5, at: 1_059) == 1_060)
        #expect(timeout.nextCheck(acknowledged: 5, at: 1_060) == nil)
    }

    // STREAM-7
    @Test("each byte that is taken restarts the timeout") func eachByteRestartsTheTimeout() {
        var timeout = StalledPeerTimeout(60, acknowledged: 5, at: 1_000)
        #expect(timeout.nextCheck(acknowledged: 6, at: 1_060) == 1_120)
        #expect(timeout.nextCheck(acknowledged: 7, at: 1_120) == 1_180)
        #expect(timeout.nextCheck(acknowledged: 7, at: 1_180) == nil)
    }
}
