import Testing

@testable import LoadingConnections

/// How many requests a server is expected to take on a connection.
@Suite struct HTTP2RequestLimitTests {
    // CONN-4: what a GOAWAY says holds at once, and until more is answered
    @Test func announced() {
        let limit = HTTP2RequestLimit.announced(5)
        #expect(limit.count == 5 && !limit.isFirm)
        #expect(!limit.isDisproved(by: 4) && limit.isDisproved(by: 5))
    }

    // CONN-4: one loss may have had any reason; of two the larger number is nearer to the truth
    @Test func lost() {
        var limit = HTTP2RequestLimit()
        limit.lostConnection(after: 97)
        #expect(limit.count == nil)
        #expect(!limit.isDisproved(by: 204) && limit.isDisproved(by: 205))
        limit.lostConnection(after: 93)
        #expect(limit.count == 97 && limit.isFirm)
        #expect(!limit.isDisproved(by: 97))
    }

    // CONN-4: a restarted server is soon used as before, and one that takes few loses few
    @Test func growth() {
        var limit = HTTP2RequestLimit()
        for _ in 0..<2 { limit.lostConnection(after: 1) }
        var counts: [Int?] = []
        for _ in 0..<8 {
            counts.append(limit.count)
            limit.connectionEndedWell()
        }
        #expect(counts == [1, 2, 3, 4, 5, 6, 7, 8])
        limit.lostConnection(after: 6)
        #expect(limit.count == 6)
        for _ in 0..<40 { limit.connectionEndedWell() }
        #expect(limit == HTTP2RequestLimit())
    }
}
